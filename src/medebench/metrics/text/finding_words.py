"""The lexicon of findings and cues, as tables that a text is looked up in word by word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args

from medebench.yamlfile import parse_fields

Side = Literal["", "left", "right", "both"]
#: What is done by a cue; in finding_lexicon.yaml it says how.
CueKind = Literal[
    "not_before",
    "not_after",
    "not_meant",
    "unsure_before",
    "unsure_after",
    "aside_before",
    "aside_after",
    "ends",
]
#: Left out inside wordings, in lexicon and texts: "blunting of the left costophrenic angle".
PASSED_OVER = frozenset(
    (
        *("left", "right", "bilateral", "the", "both", "mild", "mildly", "moderate", "moderately"),
        *("slight", "slightly", "minimal", "minimally", "severe", "severely", "marked", "markedly"),
        *("somewhat", "grossly", "xxxx"),
    )
)
LEXICON = Path(__file__).with_name("finding_lexicon.yaml")
Meaning = TypeVar("Meaning")


@dataclass(frozen=True)
class Term:
    """A finding of the lexicon, as one of its wordings states it."""

    name: str
    #: Whether the wording says that it is not there ("normal heart size").
    absent: bool
    #: Whether benign and malignant are said of it.
    mass: bool


class Phrases(Generic[Meaning]):
    """Wordings of one or more words and what they mean; the longest one at a place counts."""

    def __init__(self, meanings: Mapping[tuple[str, ...], Meaning]) -> None:
        found: dict[str, list[tuple[int, tuple[str, ...], Meaning]]] = {}
        for words, meaning in meanings.items():
            found.setdefault(words[0], []).append((len(words), words, meaning))
        for same in found.values():
            same.sort(key=lambda one: -one[0])
        self._by_first = found

    def find(self, words: Sequence[str]) -> Iterator[tuple[int, int, Meaning]]:
        """From left to right, none inside another: first word, word behind it, meaning."""
        by_first, behind = self._by_first, 0
        for place, word in enumerate(words):
            if place < behind or word not in by_first:
                continue
            for length, wording, meaning in by_first[word]:
                if length == 1 or tuple(words[place : place + length]) == wording:
                    behind = place + length
                    yield place, behind, meaning
                    break


@dataclass(frozen=True)
class Lexicon:
    """All tables."""

    terms: Phrases[Term]
    cues: Phrases[CueKind]
    #: What begins a statement of its own behind a comma.
    begins: frozenset[str]
    sides: Phrases[Side]
    #: By finding, the modalities in which it is usually seen.
    seen_in: Mapping[str, tuple[str, ...]]


@lru_cache(2**15)
def fold(word: str) -> str:
    """A word without plural and in one spelling, so that text and lexicon meet.

    >>> [fold(one) for one in ("opacities", "masses", "metastases", "oedema", "tumours", "lens")]
    ['opacity', 'mass', 'metastasis', 'edema', 'tumor', 'len']
    """
    word = word.replace("ae", "e").replace("oe", "e")
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        if word.endswith("ies"):
            word = f"{word[:-3]}y"
        elif re.search(r"(?<!e)(as|os)es$", word) and len(word) > 7:
            word = f"{word[:-2]}is"
        elif word.endswith(("sses", "xes", "ches", "shes")):
            word = word[:-2]
        else:
            word = word[:-1]
    return f"{word[:-3]}or" if word.endswith("our") and len(word) > 5 else word


@lru_cache(1)
def lexicon() -> Lexicon:
    """Read once, when the first text is looked at."""
    read = parse_fields(LEXICON.name, LEXICON.read_text("utf-8"), "findings, cues, sides")
    terms: dict[tuple[str, ...], Term] = {}
    for name, told in read["findings"].items():
        for key, absent in (("said", False), ("absent", True)):
            term = Term(name, absent, bool(told.get("mass")))
            terms |= {_bare(words): term for words in _words(told.get(key, ()))}
    cues: dict[tuple[str, ...], CueKind] = {}
    kind: CueKind
    for kind in get_args(CueKind):
        # Of two kinds in which a wording stands, the first counts; `_after` tells itself apart.
        cues = dict.fromkeys(_words(read["cues"][kind]), kind) | cues
    sides: dict[tuple[str, ...], Side] = {
        words: side for side, told in read["sides"].items() for words in _words(told)
    }
    begins = frozenset(read["cues"]["begins"])
    seen_in = {name: tuple(told["seen_in"]) for name, told in read["findings"].items()}
    return Lexicon(Phrases(terms), Phrases(cues), begins, Phrases(sides), seen_in)


def _bare(words: tuple[str, ...]) -> tuple[str, ...]:
    """A wording as it is looked up; "white patch" stays as it is."""
    return tuple(fold(one) for one in words if one not in PASSED_OVER) or words


def _words(wordings: Iterable[Any]) -> Iterator[tuple[str, ...]]:
    for wording in wordings:
        yield tuple(str(wording).split())
