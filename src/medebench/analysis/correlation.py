"""Rank correlation of two scores when the cases of one picture are not independent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from medebench.analysis.bootstrap import Floats, Interval, chunks

#: With fewer pairs, or fewer sources, no interval is given.
LEAST = 4


class Correlation(NamedTuple):
    """Spearman's rank correlation, over how many pairs, and its interval where there is one."""

    rho: float
    n: int
    interval: Interval | None


def cluster_spearman(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Correlation | None:
    """Spearman's rho with a percentile bootstrap that resamples whole clusters.

    A pair that was drawn w times counts w times: with W the sum of all weights below a value and w
    that of its ties, its midrank is W + (w + 1) / 2. Resamples in which one of the two is constant
    have no correlation and are left out; where they are the majority there is no interval.
    Pairs that are not both finite are left out. None where nothing is left to correlate.

    >>> cluster_spearman([1, 2, 3, 4], [1, 2, 3, 9], ["a", "b", "c", "d"]).rho
    1.0
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
    whole = _rho(x, y, np.ones((1, len(x))))
    if np.isnan(whole[0]):
        return None
    total = int(codes.max()) + 1
    if len(x) < LEAST or total < LEAST:
        return Correlation(float(whole[0]), len(x), None)
    rng = np.random.default_rng(seed)
    found = np.empty(resamples)
    for part in chunks(resamples, total + len(x)):
        rows = part.stop - part.start
        drawn = rng.multinomial(total, np.full(total, 1 / total), size=rows)
        found[part] = _rho(x, y, drawn[:, codes].astype(np.float64))
    known = found[~np.isnan(found)]
    interval = None
    if 2 * len(known) >= resamples:
        low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
        interval = Interval(float(low), float(high))
    return Correlation(float(whole[0]), len(x), interval)


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
