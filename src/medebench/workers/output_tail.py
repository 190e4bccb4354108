"""The last lines a program wrote: all that is kept of them, however much it writes."""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from collections.abc import Iterator
from functools import cache
from typing import IO

from medebench.models.secret import Scrubber, Secret

KEPT = 20
_LONGEST_SHOWN = 500
_CHUNK = 1 << 16
#: Of a line that grows without end.
_LEFT = 2000

_NO_NEWS = re.compile(r"[\s\W]*|Traceback \(most recent call last\):|During handling of .*")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW", re.IGNORECASE)


class Tail:
    """The last lines, counted, so that those of one case can be told from older ones."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=KEPT)
        self._lock = threading.Lock()
        self.count = 0

    def add(self, raw: bytes) -> None:
        # A progress bar writes itself anew after each carriage return: its last state counts.
        text = _scrubber()(raw.decode("utf-8", "replace").rstrip().rpartition("\r")[2])
        if text.strip():
            with self._lock:
                self._lines.append(text[:_LONGEST_SHOWN])
                self.count += 1

    def lines(self, since: int = 0) -> list[str]:
        with self._lock:
            new = min(len(self._lines), self.count - since)
            return list(self._lines)[len(self._lines) - new :]


def gist(lines: list[str], most: int = 2) -> str:
    """The last lines that say something: of a traceback, the error itself."""
    told = [line for line in lines if not line[:1].isspace() and not _NO_NEWS.fullmatch(line)]
    return "; ".join(line.strip() for line in told[-most:])


def read_lines(pipe: IO[bytes], longest: int) -> Iterator[bytes | None]:
    """The lines of an unbuffered pipe, without their ends; None where one grows too long."""
    rest = b""
    while chunk := _read(pipe):
        *complete, rest = (rest + chunk).split(b"\n")
        for line in complete:
            yield line if len(line) <= longest else None
        if len(rest) > longest:
            yield None
            rest = rest[-_LEFT:]
    if rest:
        yield rest


def _read(pipe: IO[bytes]) -> bytes:
    try:
        return pipe.read(_CHUNK)
    except (OSError, ValueError):  # closed meanwhile
        return b""


@cache
def _scrubber() -> Scrubber:
    """A program that prints its environment must not put keys into the ledger."""
    return Scrubber(
        Secret(value) for name, value in os.environ.items() if _SECRET_NAME.search(name)
    )
