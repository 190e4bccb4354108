"""Confidence intervals of agreement: leave out one source at a time and see what changes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from medebench.analysis.clusters import Floats, sum_by
from medebench.analysis.interval import ALL_THE_SAME, LEAST_SOURCES, Interval, few_sources, students

# Below this, sources differ by rounding only.
_SAME = 1e-12


def mean_without(values: Floats, sources: NDArray[np.intp]) -> tuple[float, Floats]:
    """Mean of the values, and what it is without those of each source; NaN without any other.

    >>> mean_without(np.array([1.0, 2.0, 6.0]), np.array([0, 0, 4]))
    (3.0, array([6. , 1.5]))
    """
    codes = np.unique(sources, return_inverse=True)[1]
    sums, rest = sum_by(codes, values), len(values) - np.bincount(codes)
    total = float(sums.sum())
    nothing = np.full(len(rest), np.nan)
    return total / len(values), np.divide(total - sums, rest, out=nothing, where=rest > 0)


def agreement_interval(
    value: float, without: Floats, *, level: float = 0.95, floor: float = -1.0
) -> Interval | None:
    """Interval of an agreement whose upper end is 1, from what it is `without` each source.

    With S sources and e the jackknife's standard error,

        e^2 = (S - 1) / S sum_s (without_s - mean)^2,

    the interval is that of the disagreement 1 - value on a logarithmic scale, with t the quantile
    of Student's distribution with S - 1 degrees of freedom:

        1 - (1 - value) exp(+-t e / (1 - value)).

    Agreement near 1 is skewed: most cases agree, a few do not. The logarithm follows the skew and
    keeps the interval below 1, t makes up for few sources; a percentile bootstrap does neither and
    covers too little with few sources (docs/study-statistics.md has the figures). `floor` is the
    least the agreement can be.

    None with fewer than `LEAST_SOURCES`; where one of the numbers is NaN, because everything
    depends on one source; and where all sources say the same, which shows no spread at all.

    >>> low, high = agreement_interval(0.9, np.array([0.89, 0.9, 0.9, 0.91]))
    >>> round(low, 3), round(high, 3)
    (0.852, 0.932)
    >>> agreement_interval(1.0, np.ones(20)) is None
    True
    """
    count = len(without)
    t = students(level, count - 1)
    if count < LEAST_SOURCES or not np.isfinite(without).all():
        return None
    error = np.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum())
    apart = 1 - value
    if error < _SAME or apart < _SAME:
        return None
    stretch = float(t * error / apart)
    low = 1 - apart * np.exp(min(stretch, 700.0))  # exp(700) is still finite
    return Interval(float(max(low, floor)), float(1 - apart * np.exp(-stretch)))


def why_no_interval(without: Floats) -> str:
    """In words, where `agreement_interval` gives None.

    >>> why_no_interval(np.ones(3))
    'no interval: 3 source images'
    """
    if few := few_sources(len(without)):
        return few
    if not np.isfinite(without).all():
        return "no interval: everything depends on one source image"
    return ALL_THE_SAME
