"""Shares of cases, which are means of yes and no."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from medebench.analysis.clusters import Floats, Indices
from medebench.analysis.interval import UNIT
from medebench.analysis.means import Mean

Bools = NDArray[np.bool_]

#: With fewer clusters that differ from the rest, how alike clusters are cannot be told.
LEAST_EXCEPTIONS = 5


def share(right: Bools, clusters: Indices, total: int, weights: Floats | None = None) -> Mean:
    """Share of cases that are `right`, in clusters 0, 1, ... of `total`.

    Its interval is Wilson's, as that of any mean from 0 to 1. What yes and no have before other
    scores is that their spread follows from their share, so cases of one cluster alone can lower
    the number of cases that count,

        n = p (1 - p) / v,    v = k / (k - 1) sum_c (s_c - p n_c)² / N²,

    with s_c right ones of n_c cases in cluster c, k clusters and N cases: v is the variance that
    a bootstrap of whole clusters would find. Where fewer than `LEAST_EXCEPTIONS` clusters have a
    case that is right, or one that is wrong, v says nothing, and n is the number of clusters (the
    worst case; Kish's, where they differ in size). Student's quantile has k - 1 degrees of freedom.

    `weights` count some cases more than others. No interval with fewer than four clusters.

    >>> [round(end, 3) for end in share(np.array([True] * 60), np.arange(60), 60).interval()]
    [0.937, 1.0]
    """
    each = np.ones(len(right)) if weights is None else weights
    whole = each.sum()
    by_cluster = np.bincount(clusters, each, minlength=total)
    right_by = np.bincount(clusters, each * right, minlength=total)
    # Rounding of weights must not leave all right ones a hair off 1.
    value = 1.0 if right.all() else float(right_by.sum() / whole)
    influence = (right_by - value * by_cluster) / whole
    taking = by_cluster > 0
    count = int(taking.sum())
    some_wrong = np.count_nonzero(taking & (right_by < by_cluster * (1 - 1e-12)))
    some_right = np.count_nonzero(right_by > 0)
    effective = float(whole**2 / (by_cluster**2).sum())
    if min(some_wrong, some_right) >= LEAST_EXCEPTIONS:
        variance = count / (count - 1) * float((influence**2).sum())
        most = float(whole**2 / (each**2).sum())
        effective = min(value * (1 - value) / variance, most) if variance else most
    freedom, exceptions = max(1, count - 1), int(min(some_wrong, some_right))
    spread = value * (1 - value) / effective
    return Mean(value, spread, freedom, effective, UNIT, influence, count, exceptions, len(right))
