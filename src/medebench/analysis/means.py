"""Means of scores whose cases come in clusters, with intervals that hold what they promise."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from medebench.analysis.clusters import Floats, Indices, finite_rows, sum_by
from medebench.analysis.interval import (
    ALL_THE_SAME,
    LEVEL,
    UNBOUNDED,
    Bounds,
    Interval,
    few_sources,
    students,
    unvaried,
)

#: Clusters of very different sizes count as fewer equal ones, but never as fewer than this.
LEAST_EFFECTIVE = 3.0
#: With fewer sources that differ from the rest, their sizes decide too much: see `mean`.
LEAST_EXCEPTIONS = 5
#: The most that skew may add to the variance: so much, or twice the variance over sources.
MOST_SKEW = 0.25
#: Below this, sources differ by rounding only.
_SAME = 1e-12


@dataclass(frozen=True)
class Mean:
    """A mean over cases, and all that its interval needs at any level."""

    value: float
    #: Of `value`, over samples of sources; 0 where all sources say the same.
    variance: float
    #: Degrees of freedom of Student's quantile.
    freedom: float
    #: Sources, counted as equally large ones.
    effective: float
    bounds: Bounds
    #: What each cluster adds to the error of `value`.
    influence: Floats = field(repr=False, compare=False)
    #: Sources, and those of them that differ from the most frequent value.
    sources: int
    exceptions: int
    #: Cases.
    n: int
    #: Whether a value that never varies does so by construction, as that of a control may.
    exact: bool = False
    #: Why there can be no interval, where sources are enough but badly spread.
    lacking: str = ""

    @property
    def same(self) -> bool:
        return self.variance <= 0

    @property
    def reason(self) -> str:
        """Why there is no interval; nothing where there is one."""
        if self.exact and self.same:
            return ""
        if few := few_sources(self.sources) or self.lacking:
            return few
        return ALL_THE_SAME if self.same and not self.bounds.finite else ""

    def interval(self, level: float = LEVEL) -> Interval | None:
        """The interval of the mean.

        With p the mean, v its variance and t Student's quantile, the interval holds every m with

            (p - m)² <= t² v V(m) / V(p),

        where V says how the variance of a score follows from its mean: (m - low)(high - m) for a
        score with two ends, which is Wilson's interval at the effective number of cases; m - low
        for one with a single end; a constant for one without, as in Student's interval. So it
        is lopsided where scores crowd at one end, and never leaves their range.

        Where all sources say the same, t² / n stands for v / V(p), with n sources: another value
        may still occur in a share q = t² / (n + t²) of all sources, and lie at either end.
        """
        if self.same and self.exact:
            return Interval(self.value, self.value)
        if self.reason:
            return None
        t = students(level, self.freedom)
        low, high = self.bounds
        if self.same:
            return unvaried(self.value, t, self.effective, self.bounds)
        if math.isinf(low) and math.isinf(high):
            reach = t * math.sqrt(self.variance)
            return Interval(self.value - reach, self.value + reach)
        if math.isinf(high):
            return Interval(*(low + end for end in _one_end(self.value - low, self.variance, t)))
        if math.isinf(low):
            near, far = _one_end(high - self.value, self.variance, t)
            return Interval(high - far, high - near)
        size = high - low
        near, far = wilson((self.value - low) / size, self.variance / size**2, t)
        return Interval(low + size * near, low + size * far)


def mean(
    values: ArrayLike, clusters: ArrayLike, bounds: Bounds = UNBOUNDED, *, exact: bool = False
) -> Mean | None:
    """Mean of the finite `values`, of cases in `clusters` (source images); None without any.

    With s_c the sum and n_c the number of values of cluster c, w_c = n_c / N its share of all, and
    u_c = (s_c - mean n_c) / N what it adds to the error of the mean, the variance is

        v = sum_c u_c² / (1 - w_c),

    which a bootstrap of whole clusters would find but for the factor that makes up for few or
    large ones (Bell and McCaffrey 2002, "CR2"). Degrees of freedom are those of Kish's effective
    number of clusters, n = 1 / sum_c w_c². Where more than half of the clusters have one value and
    fewer than `LEAST_EXCEPTIONS` another, it is chance whether those are large or small, and
    where they are small, v is next to nothing. Of a score with two ends it is then at least
    s² / n, with s the standard deviation of the clusters' means, as far as a mean so near to
    an end allows.

    Scores that crowd at one end are skewed, most samples of them show too little spread, and
    Student's interval misses by the order of the squared skew over n. With c their spread over
    their distance from the nearer end (a gamma distribution has the skew 2 c), v is taken
    (1 + c² / n) times, but no more than a quarter is added (with few sources 2 / n). Scores
    without ends may be skewed as well, and nothing tells how far: c is taken as 1, that of an
    exponential distribution. `tools/simulate_intervals.py` shows what that gives.

    Values outside of `bounds` show that those are not the ends.

    >>> found = mean([0.9, 0.95, 1.0, 0.7, 0.97], list("abcde"), Bounds(0, 1))
    >>> [round(end, 2) for end in found.interval()]
    [0.62, 0.98]
    >>> mean([0.9, 0.8], ["a", "a"]).reason
    'no interval: 1 source image'
    """
    data, (codes,) = finite_rows(values, clusters)
    return of_codes(data, codes, int(codes.max(initial=-1)) + 1, bounds, exact=exact)


def of_codes(
    data: Floats, codes: Indices, total: int, bounds: Bounds, *, exact: bool = False
) -> Mean | None:
    """`mean` of finite values whose clusters are numbers below `total`, in order."""
    if not len(data):
        return None
    shift = data.min()  # makes the mean of a constant exactly that constant
    sums, counts = sum_by(codes, data - shift, total), np.bincount(codes, minlength=total)
    there = counts > 0
    share = counts / len(data)
    middle = float(sums.sum() / len(data))
    influence = (sums - middle * counts) / len(data)
    levels = sums[there] / counts[there]
    sources, n = int(there.sum()), float(1 / (share**2).sum())
    effective = max(n, LEAST_EFFECTIVE)
    value, ends = middle + float(shift), scale_ends(data, bounds)
    exceptions = sources - int(np.unique(levels.round(12), return_counts=True)[1].max())
    variance = 0.0
    if sources > 1:
        variance = float((influence[there] ** 2 / (1 - share[there])).sum())
        if ends.finite and exceptions < LEAST_EXCEPTIONS and 2 * exceptions < sources:
            most = (value - ends.low) * (ends.high - value)
            variance = max(variance, min(float(np.var(levels, ddof=1)), most) / n)
    if np.ptp(levels) <= _SAME * max(1.0, float(np.abs(data).max())):
        variance = 0.0
    return Mean(
        value,
        raised(variance, value, effective, ends),
        effective - 1,
        effective,
        ends,
        influence,
        sources,
        exceptions,
        len(data),
        exact,
    )


def wilson(value: float, variance: float, t: float) -> tuple[float, float]:
    """Ends of Wilson's interval of a mean of scores from 0 to 1, whose variance is known.

    >>> [round(end, 3) for end in wilson(0.9, 0.9 * 0.1 / 100, 1.96)]
    [0.826, 0.945]
    """
    spread = t * t * variance / (value * (1 - value))
    middle = (value + spread / 2) / (1 + spread)
    half = math.sqrt(value * (1 - value) * spread + spread**2 / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def _one_end(distance: float, variance: float, t: float) -> tuple[float, float]:
    """Ends of the interval of a mean's distance from the one end that its score has."""
    middle = distance + t * t * variance / (2 * distance)
    half = math.sqrt(middle**2 - distance**2)
    return middle - half, middle + half


def scale_ends(data: Floats, bounds: Bounds) -> Bounds:
    """The ends of a score; values outside of them show that those are not the ends."""
    low, high = bounds
    slack = 1e-9
    low = low if data.min() >= low - slack else -math.inf
    high = high if data.max() <= high + slack else math.inf
    return Bounds(min(low, float(data.min())), max(high, float(data.max())))


def raised(variance: float, value: float, sources: float, bounds: Bounds) -> float:
    """The variance of a mean, raised for the skew of the scores (see `mean`)."""
    distance = min(value - bounds.low, bounds.high - value)
    if math.isinf(distance):
        return variance * (1 + 1 / sources)
    most = max(MOST_SKEW, 2 / sources)
    near = variance >= most * distance**2
    return variance * (1 + (most if near else variance / distance**2))
