"""Rank correlation of two scores when the cases of one picture are not independent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from medebench.analysis.clusters import Floats, chunks
from medebench.analysis.interval import LEVEL, Interval, students

#: With fewer sources no interval is given: too few orders are possible to tell.
LEAST = 8


class Correlation(NamedTuple):
    """Spearman's rank correlation, over how many pairs, and its interval where there is one."""

    rho: float
    n: int
    interval: Interval | None


def cluster_spearman(
    first: ArrayLike, second: ArrayLike, clusters: ArrayLike, *, level: float = LEVEL
) -> Correlation | None:
    """Spearman's rho, with an interval from leaving out one cluster at a time.

    With C clusters, e the jackknife's standard error, e² = (C - 1) / C sum_c (rho_c - mean)², and
    t Student's quantile, the interval is that of Fisher's transformation,

        tanh(atanh(rho) -+ t e / (1 - rho²)),

    which follows the skew near 1 and -1 and stays inside. Pairs that are not both finite are left
    out. None where nothing is left to correlate; no interval with fewer than eight clusters, where
    all pairs are in one order, or where one cluster decides whether there is a correlation.

    >>> cluster_spearman([1, 2, 3, 4], [1, 2, 3, 9], ["a", "b", "c", "d"])
    Correlation(rho=1.0, n=4, interval=None)
    >>> cluster_spearman([1, 1, 1], [1, 2, 3], ["a", "b", "c"]) is None
    True
    """
    x, y = (np.asarray(one, np.float64).ravel() for one in (first, second))
    keep = np.isfinite(x) & np.isfinite(y)
    x, y = x[keep], y[keep]
    _, codes = np.unique(np.asarray(clusters).ravel()[keep], return_inverse=True)
    # The answer must not depend on the order of the rows, down to the last bit.
    order = np.lexsort([y, x, codes])
    x, y, codes = x[order], y[order], codes[order]
    if not len(x):
        return None
    rho = float(_rho(x, y, np.ones((1, len(x))))[0])
    if np.isnan(rho):
        return None
    total = int(codes.max()) + 1
    inside = 1 - rho**2
    if total < LEAST or inside < 1e-12:
        return Correlation(rho, len(x), None)
    without = np.empty(total)
    for part in chunks(total, len(x)):
        left_out = np.arange(part.start, part.stop)[:, None] == codes
        without[part] = _rho(x, y, (~left_out).astype(np.float64))
    if np.isnan(without).any():
        return Correlation(rho, len(x), None)
    error = np.sqrt((total - 1) / total * ((without - without.mean()) ** 2).sum())
    reach = students(level, total - 1) * float(error) / inside
    ends = (float(np.tanh(np.arctanh(rho) + sign * reach)) for sign in (-1, 1))
    return Correlation(rho, len(x), Interval(*ends))


def _rho(x: Floats, y: Floats, weights: Floats) -> Floats:
    """For each row of weights the weighted correlation of midranks; NaN where one is constant."""
    a, b = _midranks(x, weights), _midranks(y, weights)
    size = weights.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        a -= (weights * a).sum(axis=1, keepdims=True) / size
        b -= (weights * b).sum(axis=1, keepdims=True) / size
        spread = (weights * a * a).sum(axis=1) * (weights * b * b).sum(axis=1)
        rho = np.where(spread > 1e-9, (weights * a * b).sum(axis=1) / np.sqrt(spread), np.nan)
    return np.clip(rho, -1.0, 1.0)


def _midranks(values: Floats, weights: Floats) -> Floats:
    order = np.argsort(values, kind="stable")
    _, starts, ties = np.unique(values[order], return_index=True, return_inverse=True)
    by_value: NDArray[np.float64] = np.add.reduceat(weights[:, order], starts, axis=1)
    below = np.cumsum(by_value, axis=1) - by_value
    ranks = np.empty_like(weights)
    ranks[:, order] = (below + (by_value + 1) / 2)[:, ties]
    return ranks
