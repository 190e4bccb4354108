"""Sums and means of cases, resampled by source picture, and intervals that suit few pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from medebench.analysis.clusters import Floats, chunks
from medebench.analysis.interval import LEAST_SOURCES, Interval


def resampled_sums(
    values: ArrayLike, sources: Sequence[str], *, resamples: int = 2000, seed: int = 0
) -> Floats:
    """Column sums of `values` (cases x columns) in each resample of whole sources.

    Each of the `resamples` rows draws as many sources as there are, with replacement; a source
    drawn twice brings all its cases twice. All columns share the draws, so that rows are paired.

    >>> resampled_sums([[1.0, 2.0], [1.0, 2.0]], ["a", "b"], resamples=1).tolist()
    [[2.0, 4.0]]
    """
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, not {resamples}")
    data = np.asarray(values, np.float64)
    names, codes = np.unique(np.asarray(sources, dtype=str), return_inverse=True)
    total = len(names)
    by_source = np.zeros((total, data.shape[1]))
    np.add.at(by_source, codes, data)
    rng = np.random.default_rng(seed)
    sums = np.zeros((resamples, data.shape[1]))
    if not total:
        return sums
    for part in chunks(resamples, total):
        drawn = rng.multinomial(total, np.full(total, 1 / total), size=part.stop - part.start)
        sums[part] = drawn.astype(np.float64) @ by_source
    return sums


def resampled_means(
    values: ArrayLike, sources: Sequence[str], *, resamples: int = 2000, seed: int = 0
) -> Floats:
    """Column means over the finite `values` of each resample; NaN where it has none of them.

    >>> resampled_means([[0.1, np.nan], [0.1, np.nan]], ["a", "b"], resamples=2).tolist()
    [[0.1, nan], [0.1, nan]]
    """
    data = np.asarray(values, np.float64)
    known = np.isfinite(data)
    # Makes the mean of a constant exactly that constant, whatever was drawn.
    shift = np.where(known, data, np.inf).min(axis=0, initial=np.inf)
    shift = np.where(np.isfinite(shift), shift, 0.0)
    filled = np.where(known, data - shift, 0.0)
    sums = resampled_sums(np.hstack([filled, known]), sources, resamples=resamples, seed=seed)
    top, count = np.hsplit(sums, 2)
    return np.where(count > 0, top / np.maximum(count, 1) + shift, np.nan)


@cache
def tail(level: float, sources: int) -> float:
    """The share of resamples to leave out on either side of an interval of this level.

    A percentile interval of n sources is too narrow twice over: a resample varies by (n - 1) / n
    less than a sample, and the normal distribution ignores that the spread itself is estimated.
    Taking the quantiles at the normal probability of -sqrt(n / (n - 1)) t, with t the quantile of
    Student's distribution with n - 1 degrees of freedom, makes up for both, and the interval keeps
    what the percentile one has: it may be lopsided and never leaves the range of the statistic
    (Hesterberg 2015, "What teachers should know about the bootstrap": the expanded percentile).

    >>> round(tail(0.95, 20), 4), round(tail(0.95, 100_000), 4)
    (0.0159, 0.025)
    """
    from scipy.special import ndtr, stdtrit

    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    t = float(stdtrit(sources - 1, (1 + level) / 2))
    return float(ndtr(-math.sqrt(sources / (sources - 1)) * t))


def expanded_interval(found: Floats, level: float, sources: int) -> Interval | None:
    """Interval of a statistic from its values in the resamples, of this many sources.

    Values that are not finite are left out. None with fewer than four sources, and where more than
    half of the resamples have no value.
    """
    known = found[np.isfinite(found)]
    if sources < LEAST_SOURCES or not len(known) or 2 * len(known) < len(found):
        return None
    out = tail(level, sources)
    low, high = np.quantile(known, [out, 1 - out])
    return Interval(float(low), float(high))
