"""Whether two ways of sorting the same things into types agree beyond chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from medebench.analysis.jackknife import agreement_interval, why_no_interval


@dataclass(frozen=True)
class Kappa:
    """Cohen's kappa with its interval over sources, or why there is none."""

    n: int
    same: int
    value: float
    interval: tuple[float, float] | None
    reason: str = ""


def cohen_kappa(
    first: Sequence[Hashable], second: Sequence[Hashable], sources: Sequence[Hashable]
) -> Kappa:
    """Cohen's kappa of two sortings, (o - e) / (1 - e).

    o is the share of things sorted alike, e the share expected by chance, the sum over all types of
    the product of both shares of the type. NaN without anything, or where all are of one type.

    The interval is the jackknife's over sources (`agreement_interval`): outputs for one input are
    not independent.

    >>> found = cohen_kappa("aabb", "aaba", "1234")
    >>> found.same, found.value
    (3, 0.5)
    """
    if not len(first) == len(second) == len(sources):
        raise ValueError(f"{len(first)}, {len(second)} types and {len(sources)} sources")
    rows = list(zip(first, second, sources, strict=True))
    without = np.array(
        [_kappa([row for row in rows if row[2] != one]) for one in dict.fromkeys(sources)]
    )
    value = _kappa(rows)
    ends = agreement_interval(value, without) if np.isfinite(value) else None
    same = sum(one == other for one, other, _ in rows)
    return Kappa(len(rows), same, value, ends, "" if ends else why_no_interval(without))


def _kappa(rows: Sequence[tuple[Hashable, Hashable, Hashable]]) -> float:
    n = len(rows)
    one, other = (Counter(row[side] for row in rows) for side in (0, 1))
    chance = sum(one[kind] * other[kind] for kind in one)
    if n * n == chance:
        return float("nan")
    same = sum(row[0] == row[1] for row in rows)
    return (n * same - chance) / (n * n - chance)
