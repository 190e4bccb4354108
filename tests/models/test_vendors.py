"""Each vendor's real SDK, end to end against a local server."""

from __future__ import annotations

import json

import numpy as np
import pytest

from medebench.errors import InputError, NotReadyError
from medebench.models import Answer, Ask, Turn, encode_for_model, find_client
from tests.fake_hub import closed_port
from tests.models.conftest import VENDORS, reason_of, text_of
from tests.models.server import FakeServer, always
from tests.patience import wait_until

SCHEMA = {
    "type": "object",
    "properties": {"echo": {"type": "string"}, "score": {"type": "integer", "minimum": 0}},
    "required": ["echo", "score"],
    "additionalProperties": False,
}
PICTURE = encode_for_model(np.arange(48 * 64 * 3, dtype=np.uint8).reshape(48, 64, 3))
ASK = Ask("Judge.", ("before", PICTURE, "after"), schema=SCHEMA, temperature=0.25, max_tokens=77)


@pytest.mark.parametrize("vendor", VENDORS)
def test_everything_arrives_and_comes_back(vendor, call):
    with FakeServer() as server, call(server, f"{vendor}:model") as caller:
        answer = caller.ask_one(ASK)
    assert isinstance(answer, Answer)
    (sent,) = server.calls
    assert sent.texts == ["Judge.", "before", "after"]
    assert sent.images == [PICTURE.data]
    assert sent.has_schema
    whole = json.dumps(sent.body)
    assert "0.25" in whole and "77" in whole
    assert answer.text == '{"echo": "after"}'
    assert (answer.tokens_in, answer.tokens_out, answer.cost) == (100, 10, 0.0)
    assert (answer.finish, answer.without, answer.cached) == ("stop", (), False)
    assert answer.model.endswith("-test-001")


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_complaint_follows_the_first_answer(vendor, call):
    ask = Ask("Judge.", ("look",), turns=(Turn("seven", "As JSON, please."),))
    with FakeServer() as server, call(server, f"{vendor}:model") as caller:
        text_of(caller.ask_one(ask))
    assert server.calls[0].texts == ["Judge.", "look", "seven", "As JSON, please."]


@pytest.mark.parametrize("vendor", VENDORS)
def test_refusals_are_answers_that_are_not_kept(vendor, call):
    with FakeServer(always("refusal")) as server, call(server, f"{vendor}:model") as caller:
        answers = [caller.ask_one(ASK) for _ in range(2)]
    assert [answer.finish for answer in answers] == ["refusal", "refusal"]
    assert len(server.calls) == 2


@pytest.mark.parametrize("vendor", VENDORS)
def test_an_answer_that_was_too_long_says_so(vendor, call):
    with FakeServer(always("length")) as server, call(server, f"{vendor}:model") as caller:
        assert caller.ask_one(ASK).finish == "length"


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_schema_that_is_refused_is_remembered_and_asked_for_in_words(vendor, call):
    with FakeServer(always("no_schema")) as server, call(server, f"{vendor}:model") as caller:
        first = caller.ask_one(ASK)
        second = caller.ask_one(Ask("Judge.", ("other",), schema=SCHEMA))
    assert first.without == second.without == ("schema",)
    assert [c.has_schema for c in server.calls] == [True, False, False]
    assert "JSON Schema" in server.calls[1].texts[0]


def test_a_temperature_that_is_refused_is_not_claimed(call):
    with FakeServer(always("no_temperature")) as server, call(server, "anthropic:model") as caller:
        answer = caller.ask_one(ASK)
    assert answer.without == ("temperature",)
    # With the temperature goes the old version of the protocol.
    versions = [c.headers["anthropic-version"] for c in server.calls]
    assert versions[0] == "2023-06-01" and versions[1] > versions[0]


def test_a_vendor_without_a_seed_says_so(call):
    with FakeServer() as server, call(server, "anthropic:model") as caller:
        assert caller.ask_one(Ask("", ("x",), seed=3)).without == ("seed",)


def test_a_400_for_another_reason_does_not_blame_the_schema(call):
    with FakeServer(always("400")) as server, call(server) as caller:
        assert "HTTP 400" in reason_of(caller.ask_one(ASK))
        caller.ask_one(ASK)
    assert [c.has_schema for c in server.calls] == [True, False, True, False]


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize(
    ("behaviour", "kind", "calls"),
    [
        ("400", "rejected", 1),
        ("401", "denied", 1),
        ("403", "denied", 1),
        ("404", "missing", 1),
        ("redirect", "rejected", 1),
        ("500", "trouble", 2),
        ("cut", "broken", 2),
        ("garbage", "broken", 2),
        ("drop", None, 2),
        ("empty", "broken", 2),
        ("hang", "timeout", 2),
        ("429", "busy", 2),
    ],
)
def test_faults_are_told_apart(vendor, behaviour, kind, calls, call):
    limits = {"attempts": 2, "refusals": 1} | ({"timeout": 1.0} if behaviour == "hang" else {})
    server = FakeServer(always(behaviour), retry_after="0.01")
    with server, call(server, f"{vendor}:model", limits=limits) as caller:
        failure = caller.ask_one(Ask("", ("x",)))
        wait_until(lambda: len(server.calls) >= calls)
    assert kind is None or failure.kind == kind, failure
    assert failure.kind in ("broken", "connection") or kind
    assert len(server.calls) == failure.attempts == calls
    assert "\n" not in failure.reason


def test_no_server_at_all(call):
    with call(FakeServer(port=closed_port()), limits={"attempts": 2}) as caller:
        failure = caller.ask_one(Ask("", ("x",)))
    assert failure.kind == "connection" and "no connection" in failure.reason


def test_names_that_are_none():
    for text in ["gpt-4o", "openai:", "mistral:large", ""]:
        with pytest.raises(InputError, match="openai:NAME"):
            find_client(text)


@pytest.mark.parametrize("vendor", VENDORS)
def test_without_the_sdk_one_line_says_what_to_install(vendor, monkeypatch):
    import sys

    package = {"gemini": "google.genai"}.get(vendor, vendor)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(NotReadyError, match=r"pip install 'medebench\[judges\]'"):
        find_client(f"{vendor}:x", "http://localhost:1")
