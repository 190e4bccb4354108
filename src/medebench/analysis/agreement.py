"""How far people who ranked the same outputs agree with each other, and with themselves."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from medebench.analysis.clusters import Floats
from medebench.analysis.estimate import Estimate
from medebench.analysis.jackknife import agreement_interval, mean_without, why_no_interval
from medebench.analysis.krippendorff import coincidences, ordinal_alpha
from medebench.analysis.ranked import Ranked, midranks
from medebench.analysis.rowwise import (
    common_rows,
    kendall_rows,
    same_order_rows,
    spearman_rows,
)

_NOTHING_SHARED = "no two annotators ranked two outputs of the same case"


@dataclass(frozen=True)
class Agreement:
    """Of all pairs of annotators, on the cases that both ranked.

    `spearman` and `kendall` (tau-b): per case over its models, then the mean over cases and pairs.
    `alpha`: Krippendorff's, ordinal, a unit is one model of one case.
    """

    spearman: Estimate
    kendall: Estimate
    alpha: Estimate
    #: Share of the pairs of models that two annotators put in the same order (tie = tie).
    same_order: Estimate
    #: (annotator, annotator) -> Spearman
    pairs: dict[tuple[str, str], Estimate]


def agreement(ranked: Ranked, *, level: float = 0.95) -> Agreement:
    """Agreement of all pairs of annotators, with intervals over sources.

    A comparison is two annotators and one case of which both ranked at least two models; models
    that only one of them ranked are left out of it. Means are over comparisons, so a pair with
    many common cases counts more. `of` counts comparisons, `n` those with a value: Spearman and
    Kendall have none where an annotator tied everything. For alpha both count units.

    The intervals (`agreement_interval`) are about other pictures ranked by the same people; they
    say nothing about other people.
    """
    sources = _codes(ranked)
    between = list(combinations(range(len(ranked.annotators)), 2))
    shape = (len(between), len(ranked.cases))
    comparable = np.zeros(shape, np.bool_)
    spearman, kendall, same = (np.full(shape, np.nan) for _ in range(3))
    # Pair by pair: of all pairs at once, the ranks of fifty annotators would take gigabytes.
    for p, (one, other) in enumerate(between):
        both = comparable[p]
        both[:] = common_rows(ranked.ranks[one], ranked.ranks[other]) > 1
        x, y = ranked.ranks[one, both], ranked.ranks[other, both]
        spearman[p, both] = spearman_rows(x, y)
        kendall[p, both] = kendall_rows(x, y)
        same[p, both] = same_order_rows(x, y)

    def mean(values: Floats, floor: float = -1.0) -> Estimate:
        return _mean(values, comparable, sources, level, floor, _NOTHING_SHARED)

    pairs = {
        (ranked.annotators[a], ranked.annotators[b]): _mean(
            spearman[p], comparable[p], sources, level, -1.0, "they have no case in common"
        )
        for p, (a, b) in enumerate(between)
    }
    return Agreement(
        spearman=mean(spearman),
        kendall=mean(kendall),
        alpha=_alpha(ranked.ranks, sources, level),
        same_order=mean(same, 0.0),
        pairs=pairs,
    )


def self_agreement(
    first: Ranked, second: Ranked, *, level: float = 0.95
) -> dict[str, tuple[Estimate, Estimate]]:
    """For each annotator the mean Spearman and the mean share of pairs of models in the same order.

    `first` and `second` are what was ranked at the first and at the second time; both have the
    same annotators, cases and models, with NaN where a case was not repeated.
    """
    for axis in ("annotators", "cases", "models", "sources"):
        if getattr(first, axis) != getattr(second, axis):
            raise ValueError(f"the two times differ in their {axis}")
    sources = _codes(first)
    found = {}
    for name, x, y in zip(first.annotators, first.ranks, second.ranks, strict=True):
        comparable = common_rows(x, y) > 1
        rows = ((spearman_rows(x, y), -1.0), (same_order_rows(x, y), 0.0))
        spearman, same = (
            _mean(values, comparable, sources, level, floor, "no case was ranked twice")
            for values, floor in rows
        )
        found[name] = (spearman, same)
    return found


def _mean(
    values: Floats,
    comparable: NDArray[np.bool_],
    sources: NDArray[np.intp],
    level: float,
    floor: float,
    nothing: str,
) -> Estimate:
    """Mean of the values (..., cases) that are defined, or why there is none."""
    known = ~np.isnan(values)
    n, of = int(known.sum()), int(comparable.sum())
    if not of:
        return Estimate(None, None, 0, 0, nothing)
    left_out = f"undefined in {of - n} of {of} comparisons, where an annotator tied all outputs"
    if not n:
        return Estimate(None, None, 0, of, left_out)
    value, without = mean_without(values[known], np.broadcast_to(sources, values.shape)[known])
    interval = agreement_interval(value, without, level=level, floor=floor)
    reasons = [left_out if n < of else "", "" if interval else why_no_interval(without)]
    return Estimate(value, interval, n, of, "; ".join(filter(None, reasons)))


def _alpha(ranks: Floats, sources: NDArray[np.intp], level: float) -> Estimate:
    """Krippendorff's alpha over the models of a case that everybody who ranked the case ranked.

    The place of an output among seven cannot be compared with its place among five of them. Where
    cases differ in how many models they have, places count from the middle of the case: a tie of
    everything is the same value in all of them. Otherwise this changes nothing.
    """
    known = ~np.isnan(ranks)
    rated = known & (known.sum(axis=2, keepdims=True) > 1)
    of = int((rated.sum(axis=0) > 1).sum())
    if not of:
        return Estimate(None, None, 0, 0, _NOTHING_SHARED)
    raters = rated.any(axis=2, keepdims=True)
    shared = (rated | ~raters).all(axis=0) & (raters.sum(axis=0) > 1)
    shared &= shared.sum(axis=1, keepdims=True) > 1
    kept = shared.any(axis=1)
    n = int(shared.sum())
    if not n:
        return Estimate(None, None, 0, of, "in no case did everybody rank the same two outputs")
    places = midranks(np.where(rated & shared, ranks, np.nan))[:, kept]
    places -= (shared[kept].sum(axis=1)[:, None] + 1) / 2
    used, codes = np.unique(sources[kept], return_inverse=True)
    by_source = coincidences(
        places.reshape(len(ranks), -1), np.repeat(codes, ranks.shape[2]), len(used)
    )
    whole = by_source.sum(axis=0)
    value = float(ordinal_alpha(whole))
    if np.isnan(value):
        return Estimate(None, None, 0, of, "undefined: everybody tied all outputs of every case")
    without = ordinal_alpha(whole - by_source)
    interval = agreement_interval(value, without, level=level)
    left_out = f"without {of - n} of {of} outputs, which not everybody ranked" if n < of else ""
    reasons = [left_out, "" if interval else why_no_interval(without)]
    return Estimate(value, interval, n, of, "; ".join(filter(None, reasons)))


def _codes(ranked: Ranked) -> NDArray[np.intp]:
    return np.unique(np.array(ranked.sources, dtype=str), return_inverse=True)[1]
