"""How far a long piece of work is; the command line draws it, Python users may ignore it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeAlias

#: Called with (done, total) after every case.
Progress: TypeAlias = Callable[[int, int], None]
#: Opens a progress bar with a title, for work of several parts.
Bar: TypeAlias = Callable[[str], AbstractContextManager[Progress]]


def silent(done: int, total: int) -> None:
    """The default: nobody is watching."""


def no_bar(title: str) -> AbstractContextManager[Progress]:
    """The same for work of several parts."""
    return nullcontext(silent)
