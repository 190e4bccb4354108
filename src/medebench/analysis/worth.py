"""How far automatic metrics rank outputs as people do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medebench.analysis.bootstrap import Floats, sum_by
from medebench.analysis.comparisons import mean_known
from medebench.analysis.jackknife import agreement_interval, why_no_interval
from medebench.analysis.ranked import Estimate, Ranked, midranks
from medebench.analysis.resampled import LEAST_SOURCES, expanded_interval, resampled_means
from medebench.analysis.rowwise import common_rows, kendall_rows, spearman_rows
from medebench.analysis.signflip import FLIPS, holm, sign_flip_test

#: With two models a rank correlation can only be 1 or -1, and tells next to nothing.
LEAST_MODELS = 3
#: A metric must have a number in this share of the cases to be called the best.
LEAST_SHARE = 0.5


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
    #: p of that difference, corrected by Holm for the number of metrics; None for the best one.
    p: float | None


@dataclass(frozen=True)
class Worths:
    """All metrics from best to worst; then those with too few numbers, last those without any."""

    metrics: tuple[MetricWorth, ...]
    #: How well one person predicts the mean rank of the others: what a metric can hope for.
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

    People's view of a case is the mean over annotators of their midranks. In each case rho is
    Spearman's correlation of metric and people over the models that both have, both ranked anew
    among them, 1 where the metric puts first what people put first. With one annotator and no ties
    that is 1 - 6 sum d^2 / (m (m^2 - 1)). rho has no value in a case with fewer than three such
    models, where the metric is the same for all of them, or where people tie them all; the mean is
    over the other cases, and `reason` counts what is missing. Intervals resample sources.

    Only metrics with a number in at least half of the ranked cases can be the best one; `best` is
    the share of resamples, the same for all metrics, in which each of these has the highest mean
    (shared where several have it). All others are set against the one with the highest mean:
    `behind` on the cases of both, with p from `sign_flip_test` by source, corrected by Holm. The
    leader was found by looking, so p does not say that two given metrics differ; it says which
    metrics can be ruled out as the best: those with p > 0.05, and the leader, hold it with 95 %.
    """
    views = _Views(people, level, resamples, seed)
    names = list(metrics)
    for name in names:
        if np.shape(metrics[name]) != views.shape:
            raise ValueError(f"{name}: shape {np.shape(metrics[name])}, expected {views.shape}")
    values = [np.asarray(metrics[name], np.float64)[views.rows] for name in names]
    rhos = [views.against(spearman_rows, one) for one in values]
    taus = [views.against(kendall_rows, one) for one in values]
    reasons = [views.missing(one, rho) for one, rho in zip(values, rhos, strict=True)]
    found = views.estimates([*rhos, *taus], [*reasons, *reasons])
    shares = _best(views, rhos)
    leading = [k for k, share in enumerate(shares) if share is not None]
    leader = min(leading, key=lambda k: (-_number(found[k]), names[k])) if leading else None
    behind, pvalues = _behind(views, rhos, leader, flips)
    worths = [
        MetricWorth(name, found[k], found[len(names) + k], shares[k], behind[k], pvalues[k])
        for k, name in enumerate(names)
    ]
    order = sorted(
        range(len(names)),
        key=lambda k: (shares[k] is None, -_number(found[k]), k != leader, names[k]),
    )
    return Worths(tuple(worths[k] for k in order), _ceiling(views))


class _Views:
    """People's view of each case, and how statistics of cases become estimates."""

    def __init__(self, people: Ranked, level: float, resamples: int, seed: int) -> None:
        self.level, self.resamples, self.seed = level, resamples, seed
        self.shape = (len(people.cases), len(people.models))
        # In one fixed order, so that the last digits do not depend on that of the rows.
        self.rows = sorted(range(self.shape[0]), key=lambda c: (people.sources[c], people.cases[c]))
        self.ranks = midranks(people.ranks[:, self.rows])
        self.view = mean_known(self.ranks)
        self.sources = np.array([people.sources[c] for c in self.rows], dtype=str)
        self.ranked: NDArray[np.bool_] = np.sum(~np.isnan(self.view), axis=1) > 0
        self.of = int(self.ranked.sum())

    def against(self, statistic: Callable[[Floats, Floats], Floats], values: Floats) -> Floats:
        """The statistic of each case, NaN where it has none; a low rank is a good one."""
        found = statistic(values, -self.view)
        return np.where(common_rows(values, self.view) < LEAST_MODELS, np.nan, found)

    def missing(self, values: Floats, rho: Floats) -> str:
        """How many cases have no rho, and why."""
        gone = self.ranked & np.isnan(rho)
        if not gone.any():
            return ""
        few_people = gone & (np.sum(~np.isnan(self.view), axis=1) < LEAST_MODELS)
        few = gone & ~few_people & (common_rows(values, self.view) < LEAST_MODELS)
        view = np.where(np.isnan(values), np.nan, self.view)
        level = gone & ~few_people & ~few & _constant(view)
        flat = gone & ~few_people & ~few & ~level
        told = [
            (few_people, f"people ranked fewer than {LEAST_MODELS} models"),
            (few, f"it has values for fewer than {LEAST_MODELS} ranked models"),
            (flat, "it is the same for all models"),
            (level, "people tied all models"),
        ]
        parts = [f"{why} in {int(cases.sum())}" for cases, why in told if cases.any()]
        told_all = f"no rho in {int(gone.sum())} of {self.of} cases: {', '.join(parts)}"
        rest = self.of - int(gone.sum())
        return (
            f"{told_all}; too few to be the best" if 0 < rest < LEAST_SHARE * self.of else told_all
        )

    def estimates(self, columns: Sequence[Floats], reasons: Sequence[str]) -> list[Estimate]:
        """Mean over cases of each column, with its interval; all columns share the resamples."""
        if not columns:
            return []
        data = np.column_stack(columns)
        drawn = self.means(data)
        found = []
        for k, reason in enumerate(reasons):
            known = np.isfinite(data[:, k])
            n = int(known.sum())
            if not n:
                found.append(Estimate(None, None, 0, self.of, reason or "people ranked no case"))
                continue
            sources = len(np.unique(self.sources[known]))
            interval = expanded_interval(drawn[:, k], self.level, sources)
            few = f"no interval: {sources} source images" if sources < LEAST_SOURCES else ""
            why = "; ".join(part for part in (reason, few) if part)
            found.append(Estimate(float(data[known, k].mean()), interval, n, self.of, why))
        return found

    def means(self, data: Floats) -> Floats:
        """Only ranked cases are drawn from: what nobody has looked at is no evidence."""
        return resampled_means(
            data[self.ranked],
            self.sources[self.ranked].tolist(),
            resamples=self.resamples,
            seed=self.seed,
        )


def _best(views: _Views, rhos: Sequence[Floats]) -> list[float | None]:
    shares: list[float | None] = [None] * len(rhos)
    known = [int(np.isfinite(rho).sum()) for rho in rhos]
    able = [k for k, n in enumerate(known) if n and n >= LEAST_SHARE * views.of]
    if not able:
        return shares
    drawn = views.means(np.column_stack([rhos[k] for k in able]))
    drawn = drawn[~np.isnan(drawn).all(axis=1)]
    if not len(drawn):
        return shares
    top = np.nanmax(drawn, axis=1, keepdims=True)
    first = np.abs(drawn - top) < 1e-12
    share = (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
    for k, one in zip(able, share, strict=True):
        shares[k] = float(one)
    return shares


def _behind(
    views: _Views, rhos: Sequence[Floats], leader: int | None, flips: int
) -> tuple[list[Estimate | None], list[float | None]]:
    behind: list[Estimate | None] = [None] * len(rhos)
    pvalues: list[float | None] = [None] * len(rhos)
    others = [k for k in range(len(rhos)) if k != leader and np.isfinite(rhos[k]).any()]
    if leader is None or not others:
        return behind, pvalues
    gaps = [rhos[leader] - rhos[k] for k in others]
    told = ["" if np.isfinite(gap).any() else "no case in common with the best" for gap in gaps]
    for k, estimate in zip(others, views.estimates(gaps, told), strict=True):
        behind[k] = estimate
    raw = [sign_flip_test(gap, views.sources, resamples=flips, seed=views.seed) for gap in gaps]
    adjusted = holm([1.0 if p is None else p for p in raw])
    for k, p, corrected in zip(others, raw, adjusted, strict=True):
        pvalues[k] = None if p is None else corrected
    return behind, pvalues


def _ceiling(views: _Views) -> Estimate:
    """Spearman's rho of each annotator with the mean rank of the others, averaged in each case.

    With two annotators this is their agreement, so the interval is of the same kind as there.
    """
    rated = np.sum((~np.isnan(views.ranks)).any(axis=2), axis=0)
    several = int((rated > 1).sum())
    if not several:
        return Estimate(None, None, 0, views.of, "no case was ranked by two annotators")
    found = []
    for a, own in enumerate(views.ranks):
        others = mean_known(np.delete(views.ranks, a, axis=0))
        rho = spearman_rows(own, others)
        found.append(np.where(common_rows(own, others) < LEAST_MODELS, np.nan, rho))
    rho = mean_known(np.stack(found))
    n = int(np.isfinite(rho).sum())
    parts = []
    if several < views.of:
        parts.append(f"{views.of - several} of {views.of} cases have one annotator")
    if n < several:
        few = f"fewer than {LEAST_MODELS} models in common, or somebody tied them all"
        parts.append(f"no rho in {several - n} of {several} cases: {few}")
    if not n:
        return Estimate(None, None, 0, views.of, "; ".join(parts))
    known = np.isfinite(rho)
    codes = np.unique(views.sources[known], return_inverse=True)[1]
    sums, counts = sum_by(codes, rho[known]), np.bincount(codes)
    value, rest = float(sums.sum() / n), n - counts
    without = np.divide(sums.sum() - sums, rest, out=np.full(len(rest), np.nan), where=rest > 0)
    interval = agreement_interval(value, without, level=views.level)
    if interval is None:
        parts.append(why_no_interval(without))
    return Estimate(value, interval, n, views.of, "; ".join(parts))


def _constant(values: Floats) -> NDArray[np.bool_]:
    low = np.where(np.isnan(values), np.inf, values).min(axis=1, initial=np.inf)
    high = np.where(np.isnan(values), -np.inf, values).max(axis=1, initial=-np.inf)
    return np.asarray(low >= high)


def _number(estimate: Estimate) -> float:
    return float("-inf") if estimate.value is None else estimate.value
