"""How far a long piece of work is; the command line draws it, Python users may ignore it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

#: Called with (done, total) after every case.
Progress: TypeAlias = Callable[[int, int], None]


def silent(done: int, total: int) -> None:
    """The default: nobody is watching."""
