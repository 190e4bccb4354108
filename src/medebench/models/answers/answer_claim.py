"""One place in an answer that says which option it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    #: Places of options; one that is not there is -1. Several: a list such as "A or C".
    options: tuple[int, ...]
    start: int
    end: int
    #: The letter is followed by the text of another option.
    conflict: bool = False
    #: Said to be the final one: others count no longer.
    final: bool = False
    #: Said of an option in passing; does not stand against a claim that is not weak.
    weak: bool = False
