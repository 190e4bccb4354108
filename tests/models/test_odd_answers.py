"""Answers that are not quite what the protocol says, but hold what was asked for."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import medebench as mb
from medebench.models import Answer
from tests.conftest import write_set
from tests.models.conftest import PRICES, VENDORS, asks, text_of
from tests.models.server import Call, FakeServer, _success, _write
from tests.runs.test_judging import judge_at, values

Twist = Callable[[dict[str, Any]], None]


class Twisted(FakeServer):
    """Answers as it should, but for what `twist` does to it."""

    def __init__(self, twist: Twist, **given: Any) -> None:
        super().__init__(**given)
        self.twist = twist

    async def _behave(self, behaviour: str, call: Call, writer: asyncio.StreamWriter) -> bool:
        reply = _success(call, self.answer(call))
        self.twist(reply)
        return await _write(writer, 200, reply)


def content(value: Callable[[str], Any]) -> Twist:
    """The words of the message in another form."""

    def twist(reply: dict[str, Any]) -> None:
        message = reply["choices"][0]["message"]
        message["content"] = value(message["content"])

    return twist


PARTS: dict[str, Callable[[str], Any]] = {
    "one part": lambda text: [{"type": "text", "text": text}],
    "two parts": lambda t: [{"type": "text", "text": t[:5]}, {"type": "text", "text": t[5:]}],
    "a thought first": lambda text: [
        {"type": "thinking", "thinking": [{"type": "text", "text": "{"}]},
        {"type": "text", "text": text},
    ],
    "as in responses": lambda text: [{"type": "output_text", "text": text, "annotations": []}],
    "nested": lambda text: [{"type": "text", "text": {"value": text}}],
    "no type": lambda text: [{"text": text}],
    "a list of texts": lambda text: [text],
    "a part alone": lambda text: {"type": "text", "text": text},
}
USAGE: dict[str, Any] = {
    "missing": None,
    "a text": "many",
    "a list": [1, 2],
    "empty": {},
    "negative": -5,
    "not a number": "many",
    "nested": {"total": 5},
    "infinite": 1e999,
    "absurd": 10**15,
}


@pytest.mark.parametrize("form", PARTS)
def test_content_in_parts(call, form):
    with Twisted(content(PARTS[form])) as server, call(server) as caller:
        assert json.loads(text_of(caller.ask_one(asks(1)[0]))) == {"echo": "ask-0"}


@pytest.mark.parametrize("form", ["a string", "a bare block"])
def test_content_of_anthropic_in_other_forms(call, form):
    def twist(reply):
        text = reply["content"][0]["text"]
        reply["content"] = text if form == "a string" else [{"text": text}]

    with Twisted(twist) as server, call(server, "anthropic:m") as caller:
        assert json.loads(text_of(caller.ask_one(asks(1)[0]))) == {"echo": "ask-0"}


def usages(reply: dict[str, Any], odd: Any, whole: bool) -> None:
    name = "usageMetadata" if "usageMetadata" in reply else "usage"
    if whole:
        reply[name] = odd
    else:
        reply[name] = dict.fromkeys(reply[name], odd)


@pytest.mark.parametrize("whole", [True, False], ids=["all of it", "each count"])
@pytest.mark.parametrize("odd", USAGE)
@pytest.mark.parametrize("vendor", VENDORS)
def test_odd_usage_is_estimated(call, vendor, odd, whole, tmp_path, monkeypatch):
    prices = PRICES.replace("openai:priced", f"{vendor}:priced")
    (tmp_path / "prices.json").write_text(prices)
    monkeypatch.setenv("MEDEBENCH_PRICES", str(tmp_path / "prices.json"))
    twist: Twist = lambda reply: usages(reply, USAGE[odd], whole)  # noqa: E731
    with (
        Twisted(twist) as server,
        call(server, f"{vendor}:priced", max_cost=1000) as caller,
    ):
        (ask,) = asks(1)
        answer = caller.ask_one(ask)
        assert isinstance(answer, Answer) and json.loads(answer.text) == {"echo": "ask-0"}
        likely = caller.client.estimate(ask)
        assert (answer.tokens_in, answer.tokens_out) == (likely.tokens_in, likely.tokens_out)
        assert answer.cost == likely.cost and caller.budget.spent == likely.cost > 0
        assert caller.ask_one(ask).cached and len(server.calls) == 1


@pytest.mark.parametrize("count", ["100", 100.0, "100.0"])
@pytest.mark.parametrize("vendor", VENDORS)
def test_counts_that_are_written_differently_are_read(call, vendor, count):
    twist: Twist = lambda reply: usages(reply, count, False)  # noqa: E731
    with Twisted(twist) as server, call(server, f"{vendor}:m") as caller:
        answer = caller.ask_one(asks(1)[0])
    assert isinstance(answer, Answer) and answer.tokens_in == 100


@pytest.mark.parametrize("odd", [None, 7, ["a"], {"a": 1}, True])
@pytest.mark.parametrize("vendor", VENDORS)
def test_an_odd_name_of_the_model(call, vendor, odd):
    def twist(reply):
        reply["modelVersion" if "modelVersion" in reply else "model"] = odd

    with Twisted(twist) as server, call(server, f"{vendor}:m") as caller:
        answer = caller.ask_one(asks(1)[0])
        assert isinstance(answer, Answer) and isinstance(answer.model, str)
        assert caller.ask_one(asks(1)[0]).cached


def test_a_judge_in_parts_and_without_usage_scores(tmp_path):
    opinion = {
        "differences": ["a mole is gone"],
        "editing_accuracy": {"reason": "as wanted", "score": 6.5},
        "visual_quality": {"reason": "a soft seam", "score": 8},
    }

    def twist(reply):
        content(PARTS["two parts"])(reply)
        reply["usage"] = {"prompt_tokens": None, "completion_tokens": -1, "total_tokens": "12"}

    run = mb.edit(write_set(tmp_path / "set", 2), "noise", tmp_path / "run")
    with Twisted(twist, answer=lambda call: json.dumps(opinion)) as server:
        mb.score(run, [], judge_at(server))
    found = {key: row["value"] for key, row in values(run).items()}
    assert found == {
        (case, 0, name): value for case in "12" for name, value in (("ea", 0.65), ("vq", 0.8))
    }


FULL = """
import json, resource, sys
from medebench.models import Answer, Ask, Caller, find_client

# No file may grow beyond this: what a full disk does, and nothing else.
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
with Caller(find_client("openai:priced", base_url=sys.argv[1]), max_cost=1000) as caller:
    results = [result for _, result in caller.ask_all([Ask("x", (str(n),)) for n in range(5)])]
    good = [json.loads(one.text)["echo"] for one in results if isinstance(one, Answer)]
    print(json.dumps([sorted(good), caller.budget.spent, sum(one.cost for one in results)]))
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of a process")
def test_a_full_disk_loses_no_answer_and_no_count(tmp_path, monkeypatch):
    (tmp_path / "prices.json").write_text(PRICES)
    monkeypatch.setenv("MEDEBENCH_PRICES", str(tmp_path / "prices.json"))
    with FakeServer() as server:
        command = [sys.executable, "-c", FULL, server.base_url("openai")]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    good, spent, cost = json.loads(done.stdout)
    assert good == list("01234") and spent == pytest.approx(cost) and cost > 0
    assert done.stderr.count("answers cannot be cached here") == 1
    assert not list((tmp_path / "cache").rglob("*.json"))
