"""ROUGE-L of one answer: the longest common subsequence of words, as an F measure.

    P = L / words of the answer, R = L / words of the reference, F = 2 P R / (P + R)

Words are runs of a-z and 0-9 in small letters, without a stemmer, as the package rouge-score cuts
them by default.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from medebench.cases.open_case import OpenCase
from medebench.metrics.metric import Measured, metric
from medebench.metrics.text.reference_text import reference_pieces

_WORD = re.compile("[a-z0-9]+")


@lru_cache(4096)
def plain_words(text: str) -> tuple[str, ...]:
    """Runs of a-z and 0-9, in small letters.

    >>> plain_words("T2-weighted: no edema.")
    ('t2', 'weighted', 'no', 'edema')
    """
    return tuple(_WORD.findall(text.lower()))


@lru_cache(4096)
def _places(words: tuple[str, ...]) -> Mapping[str, int]:
    """For each word the places where it stands, as bits."""
    found: dict[str, int] = {}
    for place, word in enumerate(words):
        found[word] = found.get(word, 0) | 1 << place
    return found


def common_length(one: Sequence[str], other: tuple[str, ...]) -> int:
    """The length of the longest common subsequence.

    A row of the usual table is kept as the bits of one whole number (Hyyro 2004), so that a word
    costs one addition and not a loop.

    >>> common_length("abcbdab", tuple("bdcaba"))
    4
    """
    places, row = _places(other), (1 << len(other)) - 1
    full = row
    for word in one:
        hit = row & places.get(word, 0)
        row = ((row + hit) | (row - hit)) & full
    return len(other) - row.bit_count()


def rouge_l(answer: str, reference: str) -> tuple[float, float, float]:
    """Precision, recall and F measure.

    >>> [round(one, 3) for one in rouge_l("no effusion", "no pleural effusion")]
    [1.0, 0.667, 0.8]
    """
    said, due = plain_words(answer), plain_words(reference)
    length = common_length(said, due)
    if not length:
        return 0.0, 0.0, 0.0
    precision, recall = length / len(said), length / len(due)
    return precision, recall, 2 * precision * recall / (precision + recall)


@metric(
    "rouge_l",
    "words in the same order in answer and reference (ROUGE-L, F measure, no stemmer)",
    needs=("answer",),
    of="said",
    variant="rouge-l-1",
    label="ROUGE-L",
    definition="F measure of the longest common subsequence of words (small letters, no stemmer); "
    "it counts words, not meaning.",
)
def ROUGE_L(case: OpenCase, answer: str) -> Measured:
    reference_pieces(case, plain_words(case.case.answer))
    precision, recall, f = rouge_l(answer, case.case.answer)
    return Measured(f, {"precision": precision, "recall": recall})
