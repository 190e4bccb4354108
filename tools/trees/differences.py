"""What a comparison finds, and when two texts or numbers count as the same."""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

#: Parts of a text that say which, not what.
_WHICH = (
    (re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`"), "'…'"),
    (
        re.compile(r"(?<![\w<])(?:\.{0,2}/|[A-Za-z]:\\)[^\s:;,)]+|\b[\w.-]+\.(?:png|py|json)\b"),
        "PATH",
    ),
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "HASH"),
    (re.compile(r"[-−]?\d[\d.,]*(?:e[-+]?\d+)?%?"), "N"),
)
#: What says of a row of JSON which one it is.
_TELLING = ("dimension", "metric", "run", "model", "name", "a", "b")
_NUMBER = re.compile(r"[-−]?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?")


@dataclass
class Found:
    """Differences count; notes are for people to read: what is called or said otherwise."""

    differences: list[str] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)
    #: Names of metrics and columns, from old to new.
    renamed: dict[str, str] = field(default_factory=dict)
    #: By column, what became of its texts; those of ledgers are under "reason".
    texts: defaultdict[str, Wording] = field(default_factory=lambda: defaultdict(Wording))
    #: By what share numbers may differ: processors of another make round the last digit otherwise.
    rounding: float = 0.0

    def differ(self, place: str, old: object, new: object) -> None:
        self.differences.append(f"{place}: {shown(old)} -> {shown(new)}")


def shown(value: object) -> str:
    return repr(value) if isinstance(value, float | int) else str(value)


def kind_of(text: str) -> str:
    """A text without numbers, names in quotation marks and paths.

    >>> kind_of("/tmp/a/b.png: '7' has 3.5 of 13")
    "PATH: '…' has N of N"
    """
    for pattern, word in _WHICH:
        text = pattern.sub(word, text)
    return " ".join(text.split())


def numbers_in(text: str) -> list[str]:
    """
    >>> numbers_in("35% of 1,000: scored 3 of 4.")
    ['35', '1,000', '3', '4']
    """
    return _NUMBER.findall(text)


def number(cell: object) -> float | None:
    """
    >>> number("0.10"), number(True), number("yes"), number("")
    (0.1, None, None, None)
    """
    if isinstance(cell, bool) or cell is None:
        return None
    try:
        return float(str(cell))
    except ValueError:
        return None


def same_text(place: str, old: str, new: str, found: Found, column: str) -> None:
    """Other words are taken down; the same words with other numbers are a difference."""
    found.texts[column].pair(old, new)
    if numbers_in(old) != numbers_in(new):
        before, after = kind_of(old), kind_of(new)
        if before == after:
            found.differ(place, old, new)
        else:
            found.notes[f"other numbers in {column}: {before} => {after}"] += 1


def same_leaf(place: str, old: object, new: object, found: Found, column: str) -> None:
    """Numbers up to rounding; texts by what they say."""
    before, after = number(old), number(new)
    if before is not None or after is not None:
        found.checked["numbers"] += 1
        if before is None or after is None or not _same_number(before, after, found.rounding):
            found.differ(place, old, new)
    elif isinstance(old, str) and isinstance(new, str):
        same_text(place, old, new, found, column)
    elif old != new:
        found.differ(place, old, new)


def _same_number(one: float, other: float, rounding: float) -> bool:
    return one == other or (rounding > 0 and math.isclose(one, other, rel_tol=rounding))


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """
    >>> list(leaves({"a": [1, {"b": "x"}]}))
    [('a.0', 1), ('a.1.b', 'x')]
    """
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list):
        for name, one in zip(_names(value), value, strict=True):
            yield from leaves(one, f"{place}.{name}" if place else name)
    else:
        yield place, value


def _names(items: list[Any]) -> list[str]:
    """What the items of a list are called: by what they are about, else by their place.

    >>> _names([{"metric": "cp", "rho": 1}, {"metric": "ssim", "rho": 1}]), _names([{"rho": 1}])
    (['cp', 'ssim'], ['0'])
    """
    told = [
        " ".join(str(one[key]) for key in _TELLING if isinstance(one.get(key), str))
        for one in items
        if isinstance(one, dict)
    ]
    if len(told) == len(items) == len({*told} - {""}):
        return told
    return [str(index) for index in range(len(items))]


def read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


class Wording:
    """Which kind of text became which; one may be reworded, but not become two, nor two one."""

    def __init__(self) -> None:
        self._pairs: Counter[tuple[str, str]] = Counter()
        #: The new tree's code of a reason, and what it says.
        self._codes: Counter[tuple[str, str]] = Counter()

    def pair(self, old: str, new: str, code: str | None = None) -> None:
        self._pairs[kind_of(old), kind_of(new)] += 1
        if code is not None:
            self._codes[code, kind_of(new)] += 1

    def judge(self, column: str, accepted: Iterable[str], found: Found) -> None:
        """`accepted`: "OLD KIND => NEW KIND" that a person has read and found to be the same."""
        fine = set(accepted)
        for (code, kind), times in self._codes.items():
            found.notes[f"code of a reason: {code}: {kind}"] += times
        forward, backward = defaultdict(set), defaultdict(set)
        for (old, new), _ in self._pairs.items():
            if f"{old} => {new}" not in fine:
                forward[old].add(new)
                backward[new].add(old)
        for (old, new), times in self._pairs.items():
            told = f"{column}: {old} => {new}"
            if f"{old} => {new}" in fine or (len(forward[old]) == 1 == len(backward[new])):
                if old != new:
                    found.notes[f"changed wording of {told}"] += times
            elif old != new:
                how = "became several" if len(forward[old]) > 1 else "became one with others"
                found.differences.append(f"{told} ({times} times): one kind {how}")
