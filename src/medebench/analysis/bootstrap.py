"""Confidence intervals of means when the cases of one picture are not independent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Resampled weights held at once; keeps a chunk near 10 MB however many rows come in.
_CELLS = 1_000_000


class Interval(NamedTuple):
    """A confidence interval, both ends included."""

    low: float
    high: float


def cluster_interval(
    values: ArrayLike,
    clusters: ArrayLike,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval | None:
    """Bootstrap interval of a mean, resampling whole clusters (percentile variant).

    With s_c the sum and n_c the number of values of cluster c, of C clusters, each resample draws
    C clusters with replacement, w ~ Multinomial(C, 1/C), and takes the mean of their values,

        mean* = sum_c w_c s_c / sum_c w_c n_c.

    The interval runs from the (1 - level) / 2 to the (1 + level) / 2 quantile of mean*. It is the
    plain percentile interval, neither bias-corrected nor studentised, hence a little too narrow
    with few clusters (by a factor near sqrt(1 - 1/C)).

    Values that are not finite are left out. None with fewer than two clusters: one picture says
    nothing about how pictures differ.

    >>> cluster_interval([0.5, 0.5, 0.5], ["a", "a", "b"])
    Interval(low=0.5, high=0.5)
    >>> cluster_interval([0.1, 0.9], ["a", "a"]) is None
    True
    """
    _check(level, resamples)
    data, (codes,) = finite_rows(values, clusters)
    total = int(codes.max(initial=-1)) + 1
    if total < 2:
        return None
    shift = data.min()  # makes the interval of a constant exactly that constant
    sums = sum_by(codes, data - shift)
    counts = np.bincount(codes).astype(np.float64)
    both = np.column_stack([sums, counts])
    rng = np.random.default_rng(seed)
    means = np.empty(resamples)
    for part in chunks(resamples, total):
        top, bottom = (_weights(rng, part.stop - part.start, total, total) @ both).T
        means[part] = top / bottom
    return _percentile(means + shift, level)


def macro_interval(
    values: ArrayLike,
    groups: ArrayLike,
    clusters: ArrayLike,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval | None:
    """Bootstrap interval of the mean over groups of the group means (percentile variant).

        macro* = 1/G sum_g ( sum_c w_c s_cg / sum_c w_c n_cg )

    The groups (organs) are the ones the benchmark is about, not a sample of organs, so every
    resample must hold all of them. Averaging over whichever organs a plain resample happens to
    hit would estimate another quantity each time. Clusters are therefore resampled within strata,
    and a stratum is the *set* of groups that a cluster has cases in: a picture used for two organs
    stays whole, and every organ keeps its pictures. A cluster alone in its stratum joins the
    largest stratum it shares a group with; should a resample then still miss a group, it is left
    out.

    Strata are small, and what a bootstrap of n draws from n loses in variance, (n - 1) / n, is lost
    in each stratum and does not average out. So n - 1 clusters are drawn from a stratum of n, with
    weights n / (n - 1), which makes the variance of a stratum's mean unbiased (Rao and Wu 1988,
    "Resampling inference with complex survey data"). The quantiles are still not those of a
    t-distribution: organs with two or three pictures leave a 95 % interval near 90 %.

    With a single group there is nothing to average over: the answer is that of
    `cluster_interval`. None when a group has fewer than two clusters, since its share of the
    uncertainty is then unknown, and when the resamples that miss a group are the majority.

    >>> organs = ["lung", "lung", "eye", "eye"]
    >>> macro_interval([0.2, 0.2, 0.6, 0.6], organs, ["a", "b", "c", "d"])
    Interval(low=0.4, high=0.4)
    >>> macro_interval([0.2, 0.2, 0.6], organs[:3], ["a", "b", "c"]) is None
    True
    """
    _check(level, resamples)
    data, (clusters_of, groups_of) = finite_rows(values, clusters, groups)
    n_groups = int(groups_of.max(initial=-1)) + 1
    if n_groups < 2:
        return cluster_interval(data, clusters_of, level=level, resamples=resamples, seed=seed)
    pairs = np.unique(np.column_stack([clusters_of, groups_of]), axis=0)
    if np.bincount(pairs[:, 1]).min() < 2:
        return None

    shifts = np.full(n_groups, np.inf)
    np.minimum.at(shifts, groups_of, data)
    strata = [
        _stratum(np.array(members), clusters_of, groups_of, data - shifts[groups_of])
        for members in _strata(pairs)
    ]
    rng = np.random.default_rng(seed)
    means = np.empty(resamples)
    for part in chunks(resamples, int(clusters_of.max()) + 1 + 2 * n_groups):
        rows = part.stop - part.start
        top, bottom = np.zeros((2, rows, n_groups))
        for touched, sums, counts in strata:
            n = len(sums)
            weights = _weights(rng, rows, n, n - 1) * (n / (n - 1))
            top[:, touched] += weights @ sums
            bottom[:, touched] += weights @ counts
        bottom[bottom == 0] = np.nan
        means[part] = (top / bottom + shifts).mean(axis=1)
    kept = means[~np.isnan(means)]
    return _percentile(kept, level) if 2 * len(kept) >= resamples else None


def finite_rows(values: ArrayLike, *labels: ArrayLike) -> tuple[Floats, list[Indices]]:
    """Finite values and their labels as numbers 0, 1, ... in label order.

    Rows come back sorted by labels and value, so that sums over them do not depend on the order
    in which they were given.
    """
    data = np.asarray(values, dtype=np.float64).ravel()
    arrays = [np.asarray(label).ravel() for label in labels]
    if any(len(array) != len(data) for array in arrays):
        raise ValueError(f"{len(data)} values, but {[len(a) for a in arrays]} labels")
    keep = np.isfinite(data)
    data = data[keep]
    codes = [np.unique(array[keep], return_inverse=True)[1] for array in arrays]
    order = np.lexsort([data, *reversed(codes)])
    return data[order], [code[order] for code in codes]


def sum_by(codes: Indices, data: Floats, size: int = 0) -> Floats:
    """Sum of `data` for each code 0, 1, ..., at least `size` of them.

    >>> sum_by(np.array([0, 0, 1]), np.array([1.0, 2.0, 4.0])).tolist()
    [3.0, 4.0]
    """
    return np.bincount(codes, weights=data, minlength=size).astype(np.float64, copy=False)


def chunks(rows: int, width: int) -> Iterator[slice]:
    """Slices of `rows` such that a chunk of rows of this width stays small."""
    step = max(1, _CELLS // max(1, width))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def _check(level: float, resamples: int) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, not {resamples}")


def _weights(rng: np.random.Generator, rows: int, n: int, draws: int) -> Floats:
    """Multinomial(draws, 1/n) counts; counting draws is faster than drawing binomials."""
    picks = rng.integers(0, n, size=(rows, draws))
    picks += np.arange(rows)[:, None] * n
    return np.bincount(picks.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def _percentile(means: Floats, level: float) -> Interval:
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def _strata(pairs: Indices) -> list[list[int]]:
    """Clusters by the set of groups they touch; `pairs` are the distinct (cluster, group)."""
    touched: dict[int, list[int]] = {}
    for cluster, group in pairs.tolist():
        touched.setdefault(cluster, []).append(group)
    strata: dict[tuple[int, ...], list[int]] = {}
    for cluster, groups in touched.items():
        strata.setdefault(tuple(groups), []).append(cluster)
    for lone in [key for key, members in strata.items() if len(members) == 1]:
        if len(strata[lone]) > 1:
            continue  # another lone cluster has joined it meanwhile
        # Every group has two clusters, so a lone one always finds another sharing a group.
        # An absorbed stratum keeps its key, and may now touch more groups than the key says.
        hosts = [key for key in strata if key != lone and _share(strata[key], lone, touched)]
        host = max(hosts, key=lambda key: (len(strata[key]), key))
        strata[host] += strata.pop(lone)
    return [sorted(members) for members in strata.values()]


def _share(members: list[int], groups: tuple[int, ...], touched: dict[int, list[int]]) -> bool:
    return any(not set(groups).isdisjoint(touched[cluster]) for cluster in members)


def _stratum(
    members: Indices, clusters_of: Indices, groups_of: Indices, data: Floats
) -> tuple[Indices, Floats, Floats]:
    """Groups a stratum touches, and its sums and counts as (clusters x these groups)."""
    inside = np.isin(clusters_of, members)
    row = np.searchsorted(members, clusters_of[inside])
    touched, column = np.unique(groups_of[inside], return_inverse=True)
    shape = (len(members), len(touched))
    cell = row * shape[1] + column
    size = shape[0] * shape[1]
    sums = sum_by(cell, data[inside], size).reshape(shape)
    counts = np.bincount(cell, minlength=size).reshape(shape).astype(np.float64)
    return touched, sums, counts
