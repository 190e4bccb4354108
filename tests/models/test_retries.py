"""Waiting and asking again."""

from __future__ import annotations

import json
import random
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medebench.models.fault import find_fault
from medebench.models.retry import LONGEST_OWN_WAIT, parse_retry_after, pause
from tests.models.conftest import asks, reason_of, text_of
from tests.models.server import FakeServer, always, in_turn


@given(st.floats(0, 100_000))
def test_seconds(seconds):
    text = f"{seconds:.3f}"
    assert parse_retry_after(text) == float(text)
    assert parse_retry_after("7", milliseconds=text) == float(text) / 1000


@given(st.integers(0, 4_000_000_000), st.integers(-1000, 100_000))
def test_dates(now, ahead):
    date = formatdate(now + ahead, usegmt=True)
    assert parse_retry_after(date, now=now) == max(0, ahead)


@given(st.text())
def test_anything_else_is_nothing_or_a_wait(text):
    wait = parse_retry_after(text)
    assert wait is None or wait >= 0


@given(st.integers(0, 1000), st.none() | st.floats(0, 1000), st.integers())
def test_never_earlier_than_told_and_never_all_at_once(attempt, wait, seed):
    first, second = (pause(attempt, wait, random.Random(s)) for s in (seed, seed + 1))
    assert first != second
    if wait is None:
        assert 0 < first <= LONGEST_OWN_WAIT
    else:
        assert wait <= first <= wait + 1


def test_googles_retry_info_is_read():
    class TooMany(Exception):
        code = 429
        details = {  # noqa: RUF012
            "error": {"message": "slow down", "details": [{}, {"retryDelay": "34.5s"}]}
        }

    fault = find_fault(TooMany())
    assert (fault.kind, fault.wait, fault.text) == ("busy", 34.5, "HTTP 429: slow down")


def test_retry_after_in_seconds_is_kept(call):
    with FakeServer(in_turn("429", "ok"), retry_after="0.7") as server, call(server) as caller:
        text_of(caller.ask_one(asks(1)[0]))
    first, second = (moment for moment, _ in server.log)
    assert second - first >= 0.7


def test_retry_after_as_a_date_is_kept(call):
    with FakeServer(in_turn("429date", "ok")) as server, call(server) as caller:
        text_of(caller.ask_one(asks(1)[0]))
    first, second = (moment for moment, _ in server.log)
    # Dates have whole seconds.
    assert second - first >= 0.9


def test_a_wait_that_is_too_long_is_a_reason(call):
    with FakeServer(always("429"), retry_after="3600") as server, call(server) as caller:
        assert "asks to wait 36" in reason_of(caller.ask_one(asks(1)[0]))


def test_a_quota_that_is_used_up_is_not_asked_again(call):
    with FakeServer(always("quota")) as server, call(server) as caller:
        assert caller.ask_one(asks(1)[0]).kind == "quota"
    assert len(server.calls) == 1


def test_the_deadline_ends_everything_with_a_reason(call):
    limits = {"deadline": 1.0, "attempts": 50}
    with FakeServer(always("hang")) as server, call(server, limits=limits) as caller:
        results = [result for _, result in caller.ask_all(asks(40))]
    assert len(results) == 40 and {result.kind for result in results} == {"deadline"}


def test_a_key_that_is_refused_is_not_tried_a_thousand_times(call):
    with FakeServer(always("401")) as server, call(server) as caller:
        results = [result for _, result in caller.ask_all(asks(500))]
    assert len(results) == 500 and {result.kind for result in results} == {"denied", "stopped"}
    assert all("401" in result.reason for result in results)
    assert len(server.calls) < 30


def test_json_without_end_of_nesting_is_a_broken_answer():
    """As the SDKs meet it: they let the parser's own error through."""
    with pytest.raises(RecursionError) as met:
        json.loads("[" * 100_000)
    fault = find_fault(met.value)
    assert fault.kind == "broken" and "RecursionError" not in fault.text
