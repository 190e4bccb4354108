"""Whole processes: many calls over real HTTP, and Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from medebench.models import Ask, Caller, find_client
from tests.models.server import FakeServer, always
from tests.patience import PATIENCE, wait_until

PLACES, LATENCY = 16, 0.2


@contextmanager
def own_process(*options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The server in a process of its own, so that it does not compete for our interpreter."""
    script = Path(__file__).with_name("server.py")
    process = subprocess.Popen(
        [sys.executable, str(script), "--life", "1200", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdin is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1", process
    finally:
        process.kill()
        process.wait(PATIENCE)
        process.stdin.close()
        process.stdout.close()


def test_the_servers_places_are_used_without_a_storm():
    """How many calls a second that makes is simulated in test_gate.py."""
    count = 480
    with own_process("--places", str(PLACES), "--latency", str(LATENCY)) as (url, process):
        with Caller(find_client("openai:model", url), seed=1) as caller:
            # The first call pays for imports and connections.
            caller.ask_one(Ask("", ("warm up",)))
            results = list(caller.ask_all(Ask("", (f"ask-{n}",)) for n in range(count)))
        told = json.loads(process.communicate("", timeout=PATIENCE)[0])
    assert len(results) == count and all(result.finish == "stop" for _, result in results)
    # No storm, however slowly answers are taken in: without a gate each would be refused often.
    assert told["refused"] < count
    assert told["peak"] >= PLACES / 2


PROGRAM = """
import sys
from medebench.models import Ask, Caller, find_client
def source():
    for number in range(int(sys.argv[2])):
        yield Ask("", (f"ask-{number}",))
with Caller(find_client("openai:model", sys.argv[1])) as caller:
    for ask, result in caller.ask_all(source()):
        print(ask.parts[0], flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="this system has no POSIX signals")
@pytest.mark.parametrize("behaviour", ["ok", "hang", "429"])
def test_ctrl_c_waits_for_nothing_and_keeps_what_was_paid(behaviour, tmp_path):
    with FakeServer(always(behaviour), latency=0.05, retry_after="170") as server:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, server.base_url("openai"), "10000"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            wait_until(lambda: len(server.calls) >= 4)
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
            process.wait(PATIENCE)
        # Neither for the rest, nor for an answer, nor until it may ask again.
        assert len(server.calls) < 10_000
        assert behaviour == "ok" or len(server.calls) == len({c.texts[-1] for c in server.calls})
        assert process.returncode != 0
        assert error.strip().endswith("KeyboardInterrupt"), error
        assert "never awaited" not in error and "Task was destroyed" not in error
        printed = len(out.splitlines())
        kept = len(list((tmp_path / "cache").rglob("*.json")))
        assert kept >= printed
        # What was answered is kept, but for the calls that were in flight.
        assert sum(server.answered.values()) - kept <= 64


@pytest.mark.skipif(os.name != "posix", reason="this system has no POSIX signals")
def test_killed_in_the_middle_and_continued():
    count = 150
    with FakeServer(latency=0.05) as server:
        # Nobody gets to the end before the signal does.
        server.plan = lambda call: "ok" if len(server.calls) <= 40 else "hang"
        program = [sys.executable, "-c", PROGRAM, server.base_url("openai"), str(count)]
        process = subprocess.Popen(program, stdout=subprocess.DEVNULL)
        wait_until(lambda: sum(server.answered.values()) >= 30)
        process.kill()
        process.wait(PATIENCE)
        server.plan = always("ok")
        answered = sum(server.answered.values())
        done = subprocess.run(program, capture_output=True, text=True, timeout=PATIENCE, check=True)
        assert sorted(done.stdout.split()) == sorted(f"ask-{n}" for n in range(count))
        # Paid twice is at most what was in flight when it was killed.
        assert answered < count
        assert sum(server.answered.values()) - count <= 64
        made = len(server.calls)
        subprocess.run(program, capture_output=True, timeout=PATIENCE, check=True)
        assert len(server.calls) == made
