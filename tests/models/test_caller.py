"""Many asks at once: none lost, none paid twice, none beyond the budget."""

from __future__ import annotations

import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from medebench.errors import InputError
from medebench.models import Answer, Ask, Caller, Failure, Limits, Turn, find_client
from tests.models.conftest import PRICES, asks, reason_of, text_of
from tests.models.server import FakeServer, always, in_turn, mixture
from tests.patience import TROUBLED, wait_until

CHAOS = {"429": 0.20, "500": 0.10, "hang": 0.015, "cut": 0.03}


def test_five_hundred_asks_of_a_server_in_trouble(call):
    plan = mixture(7, **CHAOS)
    limits = {"timeout": TROUBLED, "attempts": 10}
    with FakeServer(plan, latency=0.02) as server, call(server, limits=limits) as caller:
        results = list(caller.ask_all(asks(500)))
        assert Counter(ask.parts[0] for ask, _ in results) == Counter(
            f"ask-{number}" for number in range(500)
        )
        for ask, result in results:
            assert json.loads(text_of(result)) == {"echo": ask.parts[0]}
        assert set(server.answered.values()) == {1} and len(server.answered) == 500
        assert all(server.count(name) > 5 for name in CHAOS)
        made = len(server.calls)
        # And once more: all of it is there already.
        again = list(caller.ask_all(asks(500)))
        assert all(result.cached for _, result in again)
        assert len(server.calls) == made
    assert caller.gate.in_flight == 0


def test_answers_outlive_the_process_that_asked(call):
    with FakeServer() as server:
        with call(server) as caller:
            list(caller.ask_all(asks(5)))
        with call(server) as caller:
            results = [result for _, result in caller.ask_all(asks(6))]
            assert caller.tally.cached == 5 and caller.tally.calls == 1
        assert sum(result.cached for result in results) == 5
        assert len(server.calls) == 6


def test_identical_asks_in_flight_make_one_call(call):
    with FakeServer(latency=0.2) as server, call(server) as caller:
        results = [result for _, result in caller.ask_all(asks(1) * 8)]
    assert len(server.calls) == 1
    assert sum(result.cached for result in results) == 7


def test_identical_asks_fail_together(call):
    with FakeServer(always("400"), latency=0.1) as server, call(server) as caller:
        results = [result for _, result in caller.ask_all(asks(1) * 4)]
    assert {result.kind for result in results} == {"rejected"}
    assert len(server.calls) <= 4


def test_threads_share_a_caller(call):
    with FakeServer(together=5) as server, call(server) as caller, ThreadPoolExecutor(8) as pool:
        results = list(pool.map(caller.ask_one, asks(24)))
    assert [json.loads(text_of(r))["echo"] for r in results] == [f"ask-{n}" for n in range(24)]
    assert server.peak >= 5


def test_a_caller_can_be_used_again_after_closing(call):
    with FakeServer() as server, call(server) as caller:
        text_of(caller.ask_one(asks(1)[0]))
        caller.close()
        assert len(list(caller.ask_all(asks(5)))) == 5


def test_repeats_are_asked_each(call):
    ask = asks(1)[0]
    repeats = [Ask(ask.system, ask.parts, repeat=number) for number in range(3)]
    with FakeServer() as server, call(server) as caller:
        list(caller.ask_all(repeats))
    assert len(server.calls) == 3


def test_fresh_asks_anew_but_only_once(call):
    with FakeServer() as server:
        with call(server) as caller:
            list(caller.ask_all(asks(3)))
        with call(server, fresh=True) as caller:
            assert caller.plan(asks(3)).calls == 3
            for _ in range(2):
                list(caller.ask_all(asks(3)))
        assert len(server.calls) == 6
        with call(server) as caller:
            assert caller.plan(asks(3)).calls == 0


def test_what_cannot_be_used_is_not_kept(call):
    def good(answer: Answer) -> bool:
        return answer.text.startswith("{")

    with FakeServer(in_turn("prose", "ok")) as server, call(server) as caller:
        assert text_of(caller.ask_one(asks(1)[0], good)).startswith("A fine")
        assert text_of(caller.ask_one(asks(1)[0], good)).startswith("{")
        assert caller.ask_one(asks(1)[0], good).cached
    assert len(server.calls) == 2


def test_one_answer_may_lead_to_the_next_question(call):
    async def judge(number: int) -> str:
        ask = Ask("Judge.", (f"case {number}",))
        first = await caller.ask(ask, lambda answer: answer.text.startswith("{"))
        turn = Turn(first.text, f"Is that all about {number}?")
        second = await caller.ask(Ask(ask.system, ask.parts, turns=(turn,)))
        return json.loads(second.text)["echo"]

    with FakeServer() as server, call(server) as caller:
        results = dict(caller.run(judge, range(30)))
    assert results == {n: f"Is that all about {n}?" for n in range(30)}
    assert len(server.calls) == 60


def test_an_exception_in_one_piece_of_work_loses_no_other(call):
    async def work(number: int) -> str:
        if number == 3:
            raise KeyError("a bug")
        return (await caller.ask(asks(10)[number])).text

    with FakeServer() as server, call(server) as caller:
        results = dict(caller.run(work, range(10)))
    assert "KeyError" in reason_of(results.pop(3))
    assert len(results) == 9 and all(isinstance(text, str) for text in results.values())


def test_asks_are_taken_only_as_they_are_needed(call):
    taken = 0

    def source():
        nonlocal taken
        for ask in asks(300):
            taken += 1
            # In the calling thread: a source may read a database.
            assert threading.current_thread() is threading.main_thread()
            yield ask

    with FakeServer(latency=0.02) as server, call(server, limits={"most": 8}) as caller:
        for done, _ in enumerate(caller.ask_all(source()), 1):
            assert taken - done <= 8 * 2 + 16
    assert taken == 300 and server.peak <= 8


def test_leaving_early_cancels_the_rest(call):
    with FakeServer(in_turn("ok", "hang")) as server, call(server) as caller:
        for _ in caller.ask_all(asks(20)):
            break
        assert list(caller.ask_all([])) == []
    assert caller.gate.in_flight == 0


def test_an_error_in_the_source_reaches_the_caller(call):
    def source():
        yield from asks(3)
        raise InputError("no such case")

    with FakeServer() as server, call(server) as caller, pytest.raises(InputError, match="case"):
        list(caller.ask_all(source()))


@pytest.fixture
def priced(tmp_path, monkeypatch):
    path = tmp_path / "prices.json"
    path.write_text(PRICES)
    monkeypatch.setenv("MEDEBENCH_PRICES", str(path))
    return "openai:priced"


def test_the_budget_is_never_exceeded_and_used_well(call, priced):
    # A call costs 110 tokens x $0.001 = $0.11, and may cost a little more than $0.2.
    with FakeServer(latency=0.02) as server, call(server, priced, max_cost=5.0) as caller:
        results = [result for _, result in caller.ask_all(asks(100, max_tokens=200))]
    answers = [result for result in results if isinstance(result, Answer)]
    assert sum(answer.cost for answer in answers) == pytest.approx(caller.tally.cost)
    assert 4.5 < caller.tally.cost <= 5.0
    assert len(server.calls) == len(answers)
    stopped = [result for result in results if isinstance(result, Failure)]
    assert {failure.kind for failure in stopped} == {"budget"}
    assert "max-cost" in stopped[0].reason


def test_calls_that_may_have_been_charged_count(call, priced):
    limits = {"timeout": 0.5, "attempts": 100}
    given = {"max_cost": 1.0, "limits": limits}
    with FakeServer(always("hang")) as server, call(server, priced, **given) as caller:
        assert caller.ask_one(asks(1, max_tokens=200)[0]).kind == "budget"
        wait_until(lambda: server.calls)
    assert 1 <= len(server.calls) <= 4
    assert 0 < caller.tally.lost <= 1.0 and caller.tally.cost == 0


def test_kept_answers_cost_nothing(call, priced):
    with FakeServer() as server:
        with call(server, priced) as caller:
            list(caller.ask_all(asks(3)))
        with call(server, priced, max_cost=0.0) as caller:
            assert all(result.cached for _, result in caller.ask_all(asks(3)))
            assert caller.tally.cost == 0


def test_no_budget_without_a_price(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "test-key-value")
    client = find_client("openai:no-such-model")
    with pytest.raises(InputError, match="MEDEBENCH_PRICES"):
        Caller(client, max_cost=1.0)


def test_a_plan_makes_no_call(call, priced):
    with FakeServer() as server, call(server, priced) as caller:
        caller.ask_one(asks(1)[0])
        plan = caller.plan([*asks(3, likely_tokens=10), *asks(3)])
        assert len(server.calls) == 1
    assert (plan.calls, plan.cached) == (2, 4)
    assert plan.tokens_out == 20 and plan.cost < plan.most


def test_a_cache_that_cannot_be_written_loses_no_answer(call, tmp_path):
    (tmp_path / "cache").write_text("a file where a folder should be")
    with FakeServer() as server, call(server) as caller:
        text_of(caller.ask_one(asks(1)[0]))
    assert caller.tally.unkept == 1


def test_half_a_character_is_survived(call):
    with FakeServer(answer=lambda call: "ok \ud83d") as server, call(server) as caller:
        text = text_of(caller.ask_one(asks(1)[0]))
        assert text == "ok \ufffd" and caller.ask_one(asks(1)[0]).cached


def test_limits_have_sensible_defaults():
    limits = Limits()
    assert limits.start <= limits.most and limits.attempts > 1
