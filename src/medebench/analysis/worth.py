"""How far automatic metrics rank outputs as people do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from medebench.analysis.clusters import Floats
from medebench.analysis.estimate import Estimate
from medebench.analysis.interval import Interval
from medebench.analysis.people_views import LEAST_MODELS, LEAST_SHARE, RHO_GAP, Views
from medebench.analysis.ranked import Ranked
from medebench.analysis.rowwise import kendall_rows, spearman_rows
from medebench.analysis.signflip import FLIPS, holm, sign_flip_test

__all__ = ["LEAST_MODELS", "LEAST_SHARE", "MetricWorth", "Worths", "metric_worths"]


@dataclass(frozen=True)
class MetricWorth:
    """One metric against people, in one dimension."""

    metric: str
    #: Spearman's rho per case over its models, then the mean over cases.
    rho: Estimate
    #: The same as Kendall's tau-b.
    tau: Estimate
    #: Share of the resamples in which it was the best of all metrics; None if it took no part.
    best: float | None
    #: How far the best metric's rho is above this one's, on the cases that both have.
    behind: Estimate | None
    #: p of that difference, corrected by Holm for the number of metrics; None for the best one,
    #: and where this one is not behind.
    p: float | None
    #: Interval of rho that holds for all metrics that took part at once, so also for the best.
    corrected: Interval | None = None
    #: Distinct source pictures behind rho.
    sources: int = 0
    #: How far it is above one person, both held against the mean of the other people; the
    #: interval holds for all metrics at once. None where no case was ranked by two people.
    gap: Estimate | None = None


@dataclass(frozen=True)
class Worths:
    """All metrics from best to worst; then those with too few numbers, last those without any."""

    metrics: tuple[MetricWorth, ...]
    #: How well one person predicts the mean rank of the others. That is no bound: a metric is held
    #: against the mean of all people, which is steadier. `gap` compares like with like.
    ceiling: Estimate


def metric_worths(
    people: Ranked,
    metrics: Mapping[str, Floats],
    *,
    level: float = 0.95,
    resamples: int = 2000,
    flips: int = FLIPS,
    seed: int = 0,
) -> Worths:
    """`metrics[name][c, m]`: the value of case c and model m, higher = better, NaN = none.

    People's view of a case is the mean over annotators of their midranks, over the models that all
    of them ranked. In each case rho is Spearman's correlation of metric and people over these
    models, 1 where the metric puts first what people put first. With one annotator and no ties
    that is 1 - 6 sum d^2 / (m (m^2 - 1)). rho has no value in a case with fewer than three such
    models, where the metric lacks a value for one of them or is the same for all of them, or where
    people tie them all; the mean is over the other cases, and `reason` counts what is missing.
    Intervals are those of means over sources (`analysis.mean`).

    Only metrics with a number in at least half of the cases that people have a view of can be the
    best one; `best` is the share of resamples, the same for all metrics, in which each of these has
    the highest mean (shared where several have it). The best of K looks better than it is, so
    `corrected` has the level 1 - (1 - level) / K (Bonferroni). All others are set against the one
    with the highest mean: `behind` on the cases of both, with p from `sign_flip_test` by source,
    corrected by Holm, where the leader is ahead there. The leader was found by looking, so p does
    not say that two given metrics differ; it says which metrics can be ruled out as the best: those
    with p > 0.05 or none, and the leader, hold it with 95 %.
    """
    views = Views(people, level, resamples, seed)
    names = list(metrics)
    for name in names:
        if np.shape(metrics[name]) != views.shape:
            raise ValueError(f"{name}: shape {np.shape(metrics[name])}, expected {views.shape}")
    values = [np.asarray(metrics[name], np.float64)[views.rows] for name in names]
    persons = views.persons()
    rhos = [views.against(spearman_rows, one) for one in values]
    taus = [views.against(kendall_rows, one) for one in values]
    alone = not views.several.any()
    nothing = np.full(len(views.rows), np.nan)
    gaps = [nothing if alone else views.beyond_person(one, persons) for one in values]

    able = [k for k, rho in enumerate(rhos) if views.takes_part(int(np.isfinite(rho).sum()))]
    strict = 1 - (1 - level) / max(1, len(able))
    shares = _best(views.means(rhos), able) if names else {}
    found = []
    for k, name in enumerate(names):
        reason = views.missing(values[k], rhos[k])
        rho = views.estimate(rhos[k], reason)
        tau = views.estimate(taus[k], reason)
        sources = views.count_sources(rhos[k])
        corrected = views.estimate(rhos[k], "", level=strict).interval if k in able else None
        gap = None if alone or not rho.n else _gap(views, gaps[k], strict)
        share = shares.get(k)
        found.append(MetricWorth(name, rho, tau, share, None, None, corrected, sources, gap))

    leader = min(able, key=lambda k: (-_number(found[k]), names[k])) if able else None
    behind, pvalues = _behind(views, rhos, leader, flips)
    order = sorted(
        range(len(names)),
        key=lambda k: (k not in able, -_number(found[k]), k != leader, names[k]),
    )
    made = tuple(replace(found[k], behind=behind.get(k), p=pvalues.get(k)) for k in order)
    return Worths(made, views.one_person(persons))


def _best(drawn: Floats, able: Sequence[int]) -> dict[int, float]:
    if not able:
        return {}
    means = drawn[:, able]
    means = means[~np.isnan(means).all(axis=1)]
    top = np.nanmax(means, axis=1, keepdims=True)
    first = np.abs(means - top) < 1e-12
    share = (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
    return dict(zip(able, map(float, share), strict=True))


def _gap(views: Views, gaps: Floats, level: float) -> Estimate:
    n = int(np.isfinite(gaps).sum())
    if not n:
        why = "in no case do two people and the metric have a rho"
        return Estimate(None, None, 0, views.of, why)
    reason = "" if n == views.of else f"two people and the metric have a rho in {n} of {views.of}"
    return views.estimate(gaps, reason, RHO_GAP, level)


def _behind(
    views: Views, rhos: Sequence[Floats], leader: int | None, flips: int
) -> tuple[dict[int, Estimate], dict[int, float]]:
    """Holm counts all the others, tested or not: which ones are was found by looking, too."""
    others = [k for k in range(len(rhos)) if k != leader and np.isfinite(rhos[k]).any()]
    if leader is None or not others:
        return {}, {}
    gaps = [rhos[leader] - rhos[k] for k in others]
    behind: dict[int, Estimate] = {}
    raw: list[float | None] = []
    for k, gap in zip(others, gaps, strict=True):
        p, told = None, ""
        if not np.isfinite(gap).any():
            told = "no case in common with the best"
        elif np.nanmean(gap) <= 1e-12:
            told = "side by side it is not behind: not tested"
        else:
            p = sign_flip_test(gap, views.sources, resamples=flips, seed=views.seed)
        behind[k] = views.estimate(gap, told, RHO_GAP)
        raw.append(p)
    adjusted = holm([1.0 if p is None else p for p in raw])
    tested = zip(others, raw, adjusted, strict=True)
    return behind, {k: corrected for k, p, corrected in tested if p is not None}


def _number(one: MetricWorth) -> float:
    return float("-inf") if one.rho.value is None else one.rho.value
