"""Where a text names an option by its text: longest match first, whole words only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

#: A scale, not a boundary: "3" is not named in "3.5" nor in ">3", nor "lung" in "non-lung".
_NOT_BEFORE = r"(?<![\w-])(?<!\d[.,])(?:(?<![<>≤≥±])(?<![≤≥±]\s)|(?!\d))"
_NOT_BEHIND = r"(?!\w)(?![.,]\d)(?!['’]t\b)"


class OptionTexts:
    """The texts of some options, ready to be looked for."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = tuple(" ".join(one.casefold().split()).strip(" .;,:") for one in texts)

    @cached_property
    def _places(self) -> dict[str, int]:
        # Of two options with one text nothing can be told apart.
        return {
            text: place
            for place, text in enumerate(self.texts)
            if text and self.texts.count(text) == 1
        }

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        every = sorted(self._places, key=len, reverse=True)
        if not every:
            return None
        words = "|".join(re.escape(one).replace(r"\ ", r"\s+") + _plural(one) for one in every)
        return re.compile(rf"{_NOT_BEFORE}(?:{words}){_NOT_BEHIND}", re.I)

    def at(self, text: str, start: int) -> tuple[int, int] | None:
        """The option named at this place, behind an article or none, and where its text ends."""
        if self._pattern is None:
            return None
        article = re.compile(r"(?:an?|the)\s+", re.I).match(text, start)
        found = self._pattern.match(text, start)
        if found is None and article:
            found = self._pattern.match(text, article.end())
        return None if found is None else (self._place(found[0]), found.end())

    def named(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Every mention: option, start, end; none inside another."""
        if self._pattern is not None:
            for found in self._pattern.finditer(text):
                yield self._place(found[0]), found.start(), found.end()

    def _place(self, said: str) -> int:
        plain = " ".join(said.casefold().split())
        found = self._places.get(plain)
        return self._places[plain.removesuffix("s")] if found is None else found


def _plural(text: str) -> str:
    return "s?" if text[-1:].isalpha() and len(text) > 3 and not text.endswith("s") else ""
