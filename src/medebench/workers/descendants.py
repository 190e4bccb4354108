"""All that a process has started, found also where it has left the process group.

Each process inherits an environment variable with a mark of its own, however it is forked and
whatever session it opens; /proc shows the environment it was started with. Where there is no /proc
(macOS, Windows), only the group is known.
"""

from __future__ import annotations

import os
import secrets
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

VARIABLE = "MEDEBENCH_WORKER_MARK"
_PROCESSES = Path("/proc")


def marked(environment: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """A new mark, and the environment that hands it down.

    A worker of a worker keeps the outer marks: whoever ends the outer one ends it too.
    """
    mark = secrets.token_hex(16)
    outer = environment.get(VARIABLE, "")
    return mark, {**environment, VARIABLE: f"{outer} {mark}".strip()}


def end_all(mark: str) -> None:
    """Kill every process with the mark, also those that are started meanwhile."""
    # What one forks while we look is found in the next round, until none is left.
    for _ in range(_ROUNDS):
        found = list(_find(mark))
        for process in found:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        if not found:
            return
        time.sleep(_PAUSE)


_ROUNDS, _PAUSE = 200, 0.01


def _find(mark: str) -> Iterator[int]:
    try:
        names = [path.name for path in _PROCESSES.iterdir() if path.name.isdecimal()]
    except OSError:
        return
    for name in names:
        with suppress(OSError):
            # Of one that has ended and waits to be counted it is empty.
            environment = (_PROCESSES / name / "environ").read_bytes().split(b"\0")
            start = f"{VARIABLE}=".encode()
            if any(one.startswith(start) and mark.encode() in one for one in environment):
                yield int(name)
