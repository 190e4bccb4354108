"""Processes side by side: one that ends badly ends its own work, and none outlives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

import medebench as mb
from medebench.parallel import core_count
from medebench.tuning.tuning_workers import Place, find_places, in_processes
from tests.conftest import REPOSITORY
from tests.patience import wait_until
from tests.tuning.odd_jobs import OddJob


def test_each_ends_by_itself_and_the_others_go_on(tmp_path):
    hows = ["fine", "dies", "refuses", "exits", "breaks", "fine"]
    jobs = [OddJob(str(number), tmp_path, how) for number, how in enumerate(hows)]
    told: list[tuple[int, int]] = []
    with closing(in_processes(jobs, [Place("cpu", 1)], lambda *now: told.append(now))) as results:
        found = {job.name: reason for job, reason in results}
    assert found == {
        "0": None,
        "1": "its process was ended (SIGKILL; perhaps memory ran out)",
        "2": "it: is wrong; mend it",
        "3": "its process ended with 3",
        "4": "ZeroDivisionError: by nothing",
        "5": None,
    }
    assert (tmp_path / "5").read_text().split()[1:] == ["cpu", "1"]
    assert told[0] == (0, 12) and told[-1] == (12, 12)


def _ids(folder) -> list[int]:
    texts = [path.read_text() for path in folder.iterdir()]
    return [int(text.split()[0]) for text in texts if text]


def _is_there(process: int) -> bool:
    with suppress(OSError):
        os.kill(process, 0)
        # One that ended and was not waited for is still listed.
        return "(zombie)" not in Path(f"/proc/{process}/status").read_text()
    return False


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_nobody_works_on_alone(tmp_path, how):
    out = tmp_path / "out"
    out.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.tuning.odd_jobs", str(out)],
        cwd=REPOSITORY,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: len(_ids(out)) == 2)
    process.send_signal(how)
    # To the end of all that write there: the processes, and what Python keeps beside them.
    _, said = process.communicate()
    assert process.returncode != 0
    assert "leaked" not in said
    wait_until(lambda: not any(map(_is_there, _ids(out))))


def test_places():
    cores = core_count()
    assert find_places("cpu") == [Place("cpu", max(1, cores // min(2, cores)))] * min(2, cores)
    assert find_places("cpu", 1) == [Place("cpu", cores)]
    assert find_places("cpu", 4 * cores) == [Place("cpu", 1)] * 4 * cores
    for devices, told in [("cuda:99", "no 'cuda:99' here"), ("cpu,cpu", "each named once")]:
        with pytest.raises(mb.InputError, match=told):
            find_places(devices)
    with pytest.raises(mb.InputError, match="no 'tpu' here"):
        find_places("tpu")
