"""No answer takes more memory or time than it may, over real connections, for every client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from medebench.cases import open_case
from medebench.cases.case import Case
from medebench.images.picture import encode_png
from medebench.models import (
    Answer,
    Ask,
    Caller,
    Failure,
    Image,
    Limits,
    find_client,
    find_image_client,
)
from medebench.models.bounded_http import LARGEST_ERROR, LARGEST_TEXT
from medebench.systems import Refused, Request, find_system
from tests.models.conftest import VENDORS
from tests.models.flood import DRIPS, MEGABYTE, Flood

#: How much more memory than before an answer may take, in MB: below every bomb, above every bound.
ROOM = 250
TOO_MUCH = {
    "bombs": "packed as 'gzip, gzip'",
    "bomb": "more than",
    "flate": "more than",
    "told_flood": "more than",
    "flood": "more than",
    "values": "more than 200,000 values",
    "br": "packed as 'br'",
    "zstd": "packed as 'zstd'",
}
#: Asks each way once, in a process of its own: its peak is nobody else's.
ASKING = """
import json, resource, sys
from tests.models.test_wire import ask_model, ask_editor

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

who, port, *kinds = sys.argv[1:]
ask = ask_editor if who == "http" else ask_model
ask(who, int(port), "ok")
before = peak()
for kind in kinds:
    reason = ask(who, int(port), kind)
    print(json.dumps([kind, reason, peak() - before]), flush=True)
"""


def ask_model(vendor: str, port: int, kind: str, timeout: float = 20) -> str:
    version = "/v1" if vendor == "openai" else ""
    client = find_client(f"{vendor}:m", base_url=f"http://127.0.0.1:{port}/{kind}{version}")
    with Caller(client, limits=Limits(timeout=timeout, attempts=1)) as caller:
        result = caller.ask_one(Ask("Judge.", (kind,)))
    return result.text if isinstance(result, Answer) else result.reason


def ask_editor(who: str, port: int, kind: str, timeout: float = 20) -> str:
    call = f"{who}:timeout={timeout},attempts=1,http://127.0.0.1:{port}/{kind}/edit"
    chosen = find_system(call)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "1.png"
        path.write_bytes(encode_png(np.zeros((8, 8, 3), np.uint8)))
        try:
            chosen.system.edit(Request(open_case(Case("1", path, "Remove it.")), 0, 0))
        except Refused as error:
            return str(error)
        finally:
            chosen.system.close()
    raise AssertionError("no picture was sent")


@pytest.mark.parametrize("who", [*VENDORS, "http"])
def test_memory_is_bounded(who, tmp_path):
    environment = os.environ | {"MEDEBENCH_CACHE": str(tmp_path), "OMP_NUM_THREADS": "1"}
    with Flood() as server:
        done = subprocess.run(
            [sys.executable, "-c", ASKING, who, str(server.port), *TOO_MUCH],
            env=environment | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [kind for kind, _, _ in lines] == list(TOO_MUCH)
    for kind, reason, grown in lines:
        assert TOO_MUCH[kind] in reason
        assert grown < ROOM + (200 if who == "http" else 0), kind


@pytest.mark.parametrize("kind", ["flood", "told_flood"])
@pytest.mark.parametrize("vendor", VENDORS)
def test_reading_stops(vendor, kind):
    with Flood() as server:
        assert f"more than {LARGEST_TEXT:,} bytes" in ask_model(vendor, server.port, kind)
    assert server.sent < LARGEST_TEXT + 20 * MEGABYTE


@pytest.mark.parametrize("vendor", VENDORS)
def test_values_are_counted_whatever_the_answer_is_called(vendor):
    """A model's answer is read as JSON even where the server calls it a picture."""
    with Flood() as server:
        assert "more than 200,000 values" in ask_model(vendor, server.port, "called_picture")


@pytest.mark.parametrize("who", ["openai-image", "gemini"])
@pytest.mark.parametrize("kind", ["called_picture", "bombs", "bomb", "values"])
def test_models_that_draw_are_read_within_bounds_too(who, kind):
    with Flood() as server:
        url = f"http://127.0.0.1:{server.port}/{kind}"
        client = find_image_client(f"{who}:m", base_url=url)
        with Caller(client, limits=Limits(attempts=1)) as caller:
            picture = Image(encode_png(np.zeros((8, 8, 3), np.uint8)), "image/png")
            result = caller.ask_one(Ask("", ("Remove it.", picture), temperature=None, picture={}))
        assert isinstance(result, Failure) and result.kind == "unusable"


@pytest.mark.parametrize("kind", ["drip", "slow_head"])
@pytest.mark.parametrize("who", [*VENDORS, "http"])
def test_an_answer_byte_by_byte_ends_in_time(who, kind):
    """The time is for all of the answer: a byte now and then does not prolong it."""
    ask = ask_editor if who == "http" else ask_model
    with Flood() as server:
        assert "no answer in" in ask(who, server.port, kind, timeout=1)
        assert server.sent < DRIPS


@pytest.mark.parametrize("vendor", VENDORS)
def test_an_error_is_told_by_its_status_however_long_it_is(vendor):
    with Flood() as server:
        assert "HTTP 500" in ask_model(vendor, server.port, "error_flood")
    assert server.sent < LARGEST_ERROR + 20 * MEGABYTE


def test_endless_headers_are_refused():
    with Flood() as server:
        reason = ask_model("openai", server.port, "headers")
        assert "cut off or does not follow the protocol" in reason
    assert server.sent < 20 * MEGABYTE


@pytest.mark.parametrize("vendor", VENDORS)
def test_an_honest_answer_is_read_packed_or_not(vendor):
    with Flood() as server:
        assert ask_model(vendor, server.port, "ok") == "fine"
        assert ask_model(vendor, server.port, "packed") == "fine"
        assert ask_model(vendor, server.port, "cut").endswith("(attempts: 1)")


def test_what_is_too_much_is_not_asked_for_again_and_counts_as_spent(tmp_path, monkeypatch):
    prices = tmp_path / "prices.json"
    prices.write_text('{"models": {"openai:m": {"in": 1000, "out": 1000}}}')
    monkeypatch.setenv("MEDEBENCH_PRICES", str(prices))
    with Flood() as server:
        client = find_client("openai:m", base_url=f"http://127.0.0.1:{server.port}/bombs/v1")
        with Caller(client, max_cost=100) as caller:
            result = caller.ask_one(Ask("Judge.", ("x",)))
        assert isinstance(result, Failure) and result.kind == "unusable"
        assert server.requests == 1 and caller.budget is not None and caller.budget.spent > 0
