"""Which words there are: those that a set itself uses in full, and a list of common ones."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_STOP = re.compile(r"\s*[.!?;:,)\]}\"”’…。，！？]")
_ENDINGS = ("s", "es", "ed", "ing", "ly", "er", "est", "ness")
#: Of words as short as these nearly everything is the beginning.
_SHORT = 3


def tokens(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


@cache
def english() -> frozenset[str]:
    """Common words of instructions and of medicine, without their endings."""
    return frozenset(Path(__file__).with_name("english_words.txt").read_text("utf-8").split())


def is_english(word: str) -> bool:
    """Whether a word is common, as it is or with an ending of grammar."""
    return any(stem in english() for stem in _stems(word))


def is_form(word: str, of: str) -> bool:
    """Whether `word` is `of` with an ending of grammar."""
    return of in _stems(word)


class Vocabulary:
    """The words that some texts use in full: a word that something follows was not cut off."""

    def __init__(self, texts: Iterable[str]) -> None:
        words: set[str] = set()
        for text in texts:
            found = list(_WORD.finditer(text))
            words.update(match[0].casefold() for match in found[:-1])
            if found and _STOP.match(text, found[-1].end()):
                words.add(found[-1][0].casefold())
        self._words = words
        self._sorted = sorted(words)

    def __contains__(self, word: str) -> bool:
        return word in self._words

    def knows(self, word: str) -> bool:
        """Whether this is a word: used in full here, common, or another form of such a word."""
        if word in self._words or is_english(word):
            return True
        if any(stem in self._words for stem in _stems(word)):
            return True
        # "mole" where only "moles" is used; but "los" is no word because "loss" is one.
        return len(word) > _SHORT and word[-1] not in "siu" and word + "s" in self._words

    def longer(self, part: str) -> str | None:
        """A word that begins with `part` and goes on."""
        found = _first_longer(self._sorted, part)
        return found or _first_longer(_every_form(), part)


def _first_longer(words: list[str], part: str) -> str | None:
    at = bisect_left(words, part)
    while at < len(words) and words[at] == part:
        at += 1
    return words[at] if at < len(words) and words[at].startswith(part) else None


@cache
def _every_form() -> list[str]:
    """Common words with every ending, also such as nobody uses: what may have been begun."""
    return sorted({form for word in english() for form in _forms(word)})


def _forms(word: str) -> Iterator[str]:
    yield word
    stem = word[:-1] if word[-1] in "ey" else word
    for ending in _ENDINGS:
        yield word + ending
        yield stem + ("i" if word[-1] == "y" and ending != "ing" else "") + ending


def _stems(word: str) -> Iterator[str]:
    """What a word may be a form of, itself first."""
    word = word.partition("'")[0].partition("’")[0]
    yield word
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < 2 or (ending == "s" and stem[-1] == "s"):
            continue
        if ending == "es" and not stem.endswith(("s", "x", "z", "ch", "sh", "o", "i")):
            continue
        yield stem
        yield stem + "e"
        if stem[-1] == "i":
            yield stem[:-1] + "y"
        if stem[-1:] == stem[-2:-1]:
            yield stem[:-1]
