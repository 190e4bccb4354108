"""Runs of one to four words as whole numbers, which are counted several times as fast as tuples."""

from __future__ import annotations

from collections.abc import Sequence

ORDERS = 4
#: Room for two million different words.
_BITS = 21


def runs_by_length(numbers: Sequence[int]) -> list[list[int]]:
    """Of words given as numbers: all runs of one word, of two, of three and of four.

    >>> [len(one) for one in runs_by_length([1, 2, 1])], runs_by_length([1, 2])[1] == [2**21 + 2]
    ([3, 2, 1, 0], True)
    """
    found = [list(numbers)]
    for length in range(1, ORDERS):
        found.append(
            [run << _BITS | word for run, word in zip(found[-1], numbers[length:], strict=False)]
        )
    return found
