"""BLEU of one answer as nltk computes it with smoothing method 1: no n-gram in common counts 0.1.

    BLEU = BP * (p1 p2 p3 p4)^(1/4),   p_n = n-grams of the answer in the reference / n-grams

each n-gram at most as often as the reference has it; BP = exp(1 - r / c) where the answer (c words)
is shorter than the reference (r words), else 1. Checked against nltk.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

ORDERS = 4
#: What stands in the numerator where nothing is in common.
LITTLE = 0.1


def sentence_bleu(candidate: Sequence[str], reference: Sequence[str]) -> float:
    """BLEU-4 of a list of words against one other.

    >>> round(sentence_bleu(["heart"], ["heart"]), 3)
    0.178
    """
    shared = [_shared(candidate, reference, n) for n in range(1, ORDERS + 1)]
    if not shared[0][0]:
        return 0.0
    logs = math.fsum(math.log((hit or LITTLE) / every) / ORDERS for hit, every in shared)
    length = len(candidate)
    brevity = 1.0 if length > len(reference) else math.exp(1 - len(reference) / length)
    return brevity * math.exp(logs)


def _shared(candidate: Sequence[str], reference: Sequence[str], n: int) -> tuple[int, int]:
    own, other = _counts(candidate, n), _counts(reference, n)
    return sum((own & other).values()), max(1, sum(own.values()))


def _counts(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + n]) for at in range(len(words) - n + 1))
