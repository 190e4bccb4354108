"""Means over groups (organs) of their means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from medebench.analysis.clusters import Floats, Indices, finite_rows, sum_by
from medebench.analysis.interval import UNBOUNDED, Bounds
from medebench.analysis.means import Mean, mean, of_codes, raised

#: With fewer degrees of freedom a mean over groups has no interval.
LEAST_FREEDOM = 4.0
LONE = "no interval: a group with a single source image"
FEW = "no interval: too few source images per group"


def macro_mean(
    values: ArrayLike,
    groups: ArrayLike,
    clusters: ArrayLike,
    bounds: Bounds = UNBOUNDED,
    *,
    exact: bool = False,
) -> Mean | None:
    """Mean over `groups` of the means of their values; with a single group that is `mean`.

    The groups (organs) are the ones the benchmark is about, not a sample of organs, so what is
    uncertain is each group's own mean. With G groups and u_c what cluster c adds to the error of
    the macro mean,

        u_c = 1/G sum_g (s_cg - mean_g n_cg) / N_g,

    variances add up over strata, v = sum_s v_s, and a stratum is the *set* of groups that a
    cluster has cases in: a picture used for two organs stays whole. A cluster alone in its stratum
    joins the largest stratum it shares a group with. Degrees of freedom after Satterthwaite,

        f = (sum_s a_s)² / sum_s a_s² / (n_s - 1),

    once for the variances that equally varied groups of these sizes would have, once for those
    seen. Those seen are poor guides with two or three clusters a group; half-way between the two,
    and never above the first, holds what it promises also then.

    No interval where a group has fewer than two clusters, since its share of the spread cannot be
    told, and where the first f is below `LEAST_FREEDOM` (three organs with two pictures each).
    """
    data, (groups_of, clusters_of) = finite_rows(values, groups, clusters)
    if not len(data):
        return None
    n_groups = int(groups_of.max()) + 1
    if n_groups == 1:
        return mean(data, clusters_of, bounds, exact=exact)
    sizes = np.bincount(groups_of)
    means = np.empty(n_groups)
    for group in range(n_groups):
        inside = data[groups_of == group]
        means[group] = inside.min() + (inside - inside.min()).mean()
    total = int(clusters_of.max()) + 1
    weight = 1 / (n_groups * sizes[groups_of])
    influence = sum_by(clusters_of, weight * (data - means[groups_of]), total)
    # The mean of all values knows the ends, the sources and the exceptions.
    whole = of_codes(data, clusters_of, total, bounds, exact=exact)
    assert whole is not None
    found = replace(whole, value=float(means.mean()), influence=influence)
    pairs = np.unique(np.column_stack([clusters_of, groups_of]), axis=0)
    if np.bincount(pairs[:, 1]).min() < 2:
        return replace(found, lacking=LONE)
    shares = sum_by(clusters_of, weight, total)
    strata = [np.array(members) for members in strata_of(pairs)]
    seen = np.array([_variance(influence[some], shares[some]) for some in strata])
    planned, freedom = _freedom(seen, shares, strata)
    variance = 0.0 if whole.same else float(seen.sum())
    return replace(
        found,
        variance=raised(variance, found.value, freedom + 1, whole.bounds),
        freedom=freedom,
        effective=freedom + 1,
        lacking=FEW if planned < LEAST_FREEDOM else "",
    )


def _variance(influence: Floats, shares: Floats) -> float:
    """What one stratum adds to the variance: as in `mean`, about the stratum's own middle."""
    part = shares / shares.sum()
    own = influence - part * influence.sum()
    return float((own**2 / (1 - part)).sum())


def _freedom(seen: Floats, shares: Floats, strata: list[Indices]) -> tuple[float, float]:
    """Degrees of freedom that the numbers of clusters allow, and those to be used."""
    inside = [shares[some] for some in strata]
    expected = np.array([float((part**2).sum()) for part in inside])
    counts = np.array([part.sum() ** 2 / float((part**2).sum()) for part in inside])
    each = np.maximum(counts - 1, 1.0)
    planned = _satterthwaite(expected, each)
    if not seen.any():
        return planned, planned
    return planned, (planned + min(planned, _satterthwaite(seen, each))) / 2


def _satterthwaite(variances: Floats, freedoms: Floats) -> float:
    return float(variances.sum() ** 2 / (variances**2 / freedoms).sum())


def strata_of(pairs: Indices) -> list[list[int]]:
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
