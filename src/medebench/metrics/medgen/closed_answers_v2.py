"""How later code of MedGEN-Bench reads closed answers: labelled ones, the last letter, the words.

More is read than before, and more of it wrongly: any word "answer", "option" or "choice" before a
single letter is a label ("the answer a child would give" is option A), any letter that stands alone
is an answer ("A fracture is seen"), and option texts are found inside of words and of negations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from medebench.metrics.medgen.closed_answers import chosen, option_names, plain, squeezed

_LABELLED = re.compile(
    r"(?:answer|option|choice) \s* (?:is|[:=-])? \s* \(? ([a-z]) \)? (?:[.)\s]|$)", re.X | re.I
)
_ALONE = re.compile(r"\b([a-z])\b")
_PREFIX = re.compile(
    r"^ (?: (?:final\s+)? (?:answer|response|blank) | the\s+blank ) \s* (?:is|[:=-])? \s*",
    re.X | re.I,
)
_ENDS = " \t\n\r\f\v[]().,:;-"
#: A gap is not filled by more words than these.
_MOST = 20


def read_answer_v2(text: str, choices: Sequence[str], kind: Literal["letter", "gap"]) -> str | None:
    """What is read of an answer; None where nothing is, which scores nothing at all.

    >>> read_answer_v2("So the answer is (B).", ["A. Lung", "B. Heart"], "letter")
    'b. heart'
    """
    # Squeezed, because patterns of blanks take long over many of them; it changes no result.
    lines = [line for line in map(squeezed, text.splitlines()) if line]
    if not lines:
        return None
    return _gap(lines[-1]) if kind == "gap" else _letter(plain(text), lines, choices)


def _letter(text: str, lines: Sequence[str], choices: Sequence[str]) -> str | None:
    names = option_names(choices)
    for line in reversed(lines):
        if found := _LABELLED.search(line):
            letter = found[1].lower()
            return names.get(letter, letter)
        if (option := chosen(line, choices)) in names:
            return option
    for letter in reversed(_ALONE.findall(text)):
        if letter in names:
            return names[letter]
    longest = sorted((name for name in names if len(name) > 1), key=len, reverse=True)
    return next((names[name] for name in longest if name in text), None)


def _gap(line: str) -> str | None:
    filled = _PREFIX.sub("", line).strip(_ENDS)
    return plain(filled) if filled and len(filled.split()) <= _MOST else None
