"""Choices of a question as letter and text: "B. Thyroid" is option B, the thyroid."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

_LETTERED = re.compile(r"\s*[\(\[]?([A-Za-z])\s*(?:[.):\]：．]|\s[-–—]\s)\s*(?=\S)")


@dataclass(frozen=True, slots=True)
class Option:
    """One choice: its letter, its text, and what stands before the text as it is written."""

    letter: str
    text: str
    lead: str = ""

    @property
    def line(self) -> str:
        """As it stands in a list: behind its letter, where it has one."""
        return (self.lead or f"{self.letter}. ".removeprefix(". ")) + self.text


def read_options(choices: Sequence[str]) -> tuple[Option, ...]:
    """Letter and text of each choice; letters by position where not all have their own in order.

    >>> [(one.letter, one.text) for one in read_options(["A. Liver", "B. Spleen"])]
    [('A', 'Liver'), ('B', 'Spleen')]
    >>> [(one.letter, one.text) for one in read_options(["Vitamin A", "Vitamin D"])]
    [('A', 'Vitamin A'), ('B', 'Vitamin D')]
    """
    letters = string.ascii_uppercase[: len(choices)]
    found = [_LETTERED.match(choice) for choice in choices]
    own = [one[1].upper() if one else "" for one in found]
    if len(choices) > len(letters) or own != list(letters):
        # Beyond Z nothing has a letter.
        return tuple(
            Option(letters[i] if i < len(letters) else "", choice.strip())
            for i, choice in enumerate(choices)
        )
    return tuple(
        Option(letter, choice[one.end() :].strip(), choice[: one.end()])
        for letter, choice, one in zip(letters, choices, found, strict=True)
        if one
    )


def find_option(options: Sequence[Option], answer: str) -> int | None:
    """Which option a reference means: its letter, its text or both, as a data set writes it.

    >>> find_option(read_options(["A. Liver", "B. Spleen"]), "B. Spleen")
    1
    """
    said = _folded(answer)
    for place, one in enumerate(options):
        if said in (_folded(one.lead + one.text), _folded(one.text)):
            return place
    bare = said.strip("().[]: ")
    letters = [one.letter.lower() for one in options]
    if len(bare) == 1 and bare in letters:
        return letters.index(bare)
    lettered = _LETTERED.match(answer)
    if lettered and lettered[1].lower() in letters:
        place = letters.index(lettered[1].lower())
        if _folded(answer[lettered.end() :]) == _folded(options[place].text):
            return place
    return None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")
