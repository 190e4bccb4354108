"""The answer and its reference, word by word: equal, or how much they share."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from medebench.cases.open_case import OpenCase
from medebench.metrics.metric import Measured, Undefined, metric


def words_of(text: str) -> list[str]:
    """The words of a text in any script, in small letters; a number with its point is one.

    >>> words_of("A 3.5-cm mass.")
    ['a', '3.5', 'cm', 'mass']
    """
    text = unicodedata.normalize("NFKC", text).casefold()
    return re.findall(r"\d+(?:[.,]\d+)+|[^\W_]+", text)


@metric(
    "exact_match",
    "the answer is the reference, word by word",
    needs=("answer",),
    label="Exact match",
    of="said",
    definition="1 where both have the same words in the same order; case and punctuation are free.",
)
def EXACT_MATCH(case: OpenCase, text: str) -> Measured:
    return Measured(float(_reference(case) == words_of(text)))


@metric(
    "token_f1",
    "words that answer and reference share",
    needs=("answer",),
    label="Token F1",
    of="said",
    definition=(
        "Harmonic mean of the shares of the answer's and of the reference's words that the other "
        "has, each counted as often as it stands. Word order, negation and side have no weight."
    ),
)
def TOKEN_F1(case: OpenCase, text: str) -> Measured:
    wanted, given = Counter(_reference(case)), Counter(words_of(text))
    shared = (wanted & given).total()
    total = wanted.total() + given.total()
    found = {"precision": shared / given.total()} if given else {}
    return Measured(2 * shared / total, found | {"recall": shared / wanted.total()})


def _reference(case: OpenCase) -> list[str]:
    found = words_of(case.case.answer)
    if not found:
        raise Undefined("the reference has no words")
    return found
