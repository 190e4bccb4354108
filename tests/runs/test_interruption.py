"""Real processes, really killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY, write_set
from tests.patience import PATIENCE, wait_until

#: Edits four cases, and the others only once it may: a signal comes while it is at work.
SLOW = """
import time
from pathlib import Path

class Slow:
    def __init__(self, settings):
        pass

    def edit(self, request):
        while int(request.case.case.id) > 4 and not Path(__file__).with_name("go").exists():
            time.sleep(0.05)
        return request.case.previous
"""


def test_sigkill_at_random_moments_loses_and_repeats_nothing(tmp_path):
    """The short version; `python tools/kill_and_continue.py --kills 50` is the long one."""
    cases = write_set(tmp_path / "set", 16)
    done = subprocess.run(
        [
            sys.executable,
            REPOSITORY / "tools" / "kill_and_continue.py",
            "--kills=2",
            f"--cases={cases}",
        ],
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert "2 kills" in done.stdout and "nothing lost, nothing twice" in done.stdout


@pytest.fixture
def slow(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    cases = write_set(tmp_path / "set", 24)
    call = [sys.executable, "-m", "medebench", "edit", cases, "--out", tmp_path / "run"]
    return [*map(str, call), "--editor", f"{tmp_path / 'slow.py'}:Slow", "--workers", "2"]


def _wait_for_outputs(folder, count):
    wait_until(lambda: len(list(folder.glob("edits/*.png"))) >= count)


def test_ctrl_c_does_not_wait_for_edits_under_way_and_says_how_to_continue(slow, tmp_path):
    process = subprocess.Popen(slow, stderr=subprocess.PIPE, text=True)
    _wait_for_outputs(tmp_path / "run", 2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert errors.strip().splitlines()[-1].startswith("medebench: stopped")
    assert "Traceback" not in errors
    (tmp_path / "go").touch()
    done = subprocess.run([*slow, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["outputs"] == 24


def test_a_second_process_is_refused_with_exit_code_2(slow, tmp_path):
    first = subprocess.Popen(slow, stderr=subprocess.DEVNULL)
    try:
        _wait_for_outputs(tmp_path / "run", 1)
        second = subprocess.run(slow, capture_output=True, text=True)
        assert second.returncode == 2
        assert "another medebench" in second.stderr
        assert len(second.stderr.strip().splitlines()) == 1
    finally:
        first.kill()
        first.wait()
