"""One protocol for all judges: those that ask nobody, models, and users' own of either kind."""

from __future__ import annotations

import asyncio
import json
from functools import partial

import pytest

import medebench as mb
from medebench.errors import InputError
from medebench.images.picture import read_picture
from medebench.judge import Judge, Judgement, Verdict, as_judge, assess_now, find_judge
from medebench.models import Caller, encode_for_model
from tests.models.server import FakeServer

WAITING = '''
import os
from medebench.judge import Judgement, Verdict
from medebench.models import Ask, encode_for_model, find_client

class Second:
    """Asks a model in its own way."""
    name, variant, summary, stand_in = "second-1", "second-1", "asks twice", False
    scores, sees = ("ea_second",), ("reference",)

    def __init__(self):
        self.client = find_client("openai:test", os.environ["SECOND_URL"])

    def facts(self):
        return {"judge": self.name, "variant": self.variant, "stand_in": False}

    def show(self, case, output):
        return encode_for_model(output.image)

    def asks(self, shown):
        yield Ask("Look.", ("Good?", shown))

    async def assess(self, shown, caller=None):
        (ask,) = self.asks(shown)
        answer = await caller.ask(ask)
        value = float(answer.text)
        detail = self.facts() | {"said": answer.text}
        return Judgement({"ea_second": Verdict(value, None, detail)}, answer.cost or 0.0)
'''


class Bright:
    name, summary, stand_in, scores = "bright-1", "how bright", True, ("ea_bright", "vq_bright")

    def judge(self, case, output):
        return {"ea_bright": Verdict(float(output.mean()) / 255), "vq_bright": Verdict(2.0)}


def test_all_judges_have_the_same_form():
    model = find_judge("openai:x", {"base_url": "http://localhost:1/v1"})
    judges = [find_judge("offline"), as_judge(Bright()), model]
    assert all(isinstance(judge, Judge) for judge in judges)
    assert [judge.client is None for judge in judges] == [True, True, False]
    assert as_judge(model) is model
    assert all(judge.facts()["variant"] == judge.variant for judge in judges)
    with pytest.raises(InputError, match="'int': needs name"):
        as_judge(3)


def test_a_caller_drives_both_kinds_in_the_same_way(small_set, tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    case = mb.open_case(mb.load_cases(small_set)["1"])
    answer = {"differences": [], "editing_accuracy": {"score": 6}, "visual_quality": {"score": 9}}
    with FakeServer(answer=lambda call: json.dumps(answer)) as server:
        model = find_judge("openai:x", {"base_url": server.base_url("openai")})
        with Caller(model.client) as caller:
            for judge in (model, find_judge("offline"), as_judge(Bright())):
                shown = judge.show(case, case.reference)
                calls = len(list(judge.asks(shown)))
                work = partial(judge.assess, caller=caller)
                ((_, found),) = caller.run(work, [shown])
                assert isinstance(found, Judgement) and tuple(found.verdicts) == judge.scores
                assert caller.tally.calls == 1 and calls == (judge is model)
                for verdict in found.verdicts.values():
                    assert verdict.detail.items() >= judge.facts().items()


def test_a_plain_judge_does_not_wait(small_set):
    case = mb.open_case(mb.load_cases(small_set)["1"])
    found = assess_now(as_judge(Bright()), case, case.previous).verdicts
    assert found["ea_bright"].value == pytest.approx(case.previous.mean() / 255)
    assert found["vq_bright"].value is None and "outside 0 to 1" in found["vq_bright"].reason


def test_a_users_own_judge_may_wait(small_set, tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "second.py").write_text(WAITING)
    run = mb.edit(small_set, "noise", tmp_path / "run", outputs=2)
    with FakeServer(answer=lambda call: str(len(call.images[0]) % 10 / 10)) as server:
        monkeypatch.setenv("SECOND_URL", server.base_url("openai"))
        name = f"{tmp_path / 'second.py'}:Second"
        mb.score(run, [], name)
        mb.score(run, [], name)
        assert len(server.calls) == 8
    with run.ledger() as ledger:
        rows = list(ledger.scores())
    assert len(rows) == 8
    for row in rows:
        sent = encode_for_model(read_picture(run.output_path(row.case_id, row.k)))
        assert row.value == len(sent.data) % 10 / 10 == float(row.detail["said"])


def test_one_that_waits_without_a_client_is_told(small_set):
    class Impatient(Bright):
        def show(self, case, output):
            return output

        async def assess(self, shown, caller=None):
            await asyncio.sleep(0)

    with pytest.raises(TypeError, match="bright-1: waits"):
        assess_now(Impatient(), None, None)
