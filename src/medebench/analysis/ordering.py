"""Which model people prefer, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from medebench.analysis.clusters import Floats
from medebench.analysis.comparisons import Comparisons, Flags, connected, mean_known, reach
from medebench.analysis.davidson import fit
from medebench.analysis.estimate import Estimate, estimate
from medebench.analysis.interval import LEAST_SOURCES, Bounds, Interval
from medebench.analysis.means import mean
from medebench.analysis.ranked import Ranked, midranks
from medebench.analysis.resampled import tail
from medebench.analysis.signflip import FLIPS, holm, sign_flip_test

Differences = dict[tuple[str, str], tuple[Estimate, float | None]]


@dataclass(frozen=True)
class Standing:
    """One model among the others."""

    model: str
    mean_rank: Estimate
    #: Log strength of the model, the mean over models being 0.
    strength: Estimate
    #: Chance to be ranked above another model of the study, drawn at random; a tie counts half.
    preferred: Estimate
    #: Between which places (1 = best) it lies in the resamples.
    places: Interval | None


@dataclass(frozen=True)
class Ordering:
    """From best to worst by strength."""

    standings: tuple[Standing, ...]
    #: Tie parameter of the model: 0 = no ties.
    ties: float | None
    #: (better, worse) -> (difference of strength with interval, p corrected by Holm)
    differences: Differences
    reason: str = ""


def order_models(
    ranked: Ranked,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    flips: int = FLIPS,
    seed: int = 0,
) -> Ordering:
    """Mean ranks, strengths, and all differences of strength, from people's ranks.

    A ranking counts as the comparisons of all its pairs of models. The annotators of a case share
    its weight: a pair that n of them compared counts 1/n for each, so that a case seen by five
    people weighs as much as one seen by two, and cases are what is averaged over. Where every
    ranking is complete, the order by strength is therefore the order by mean rank.

    Strengths are those of Davidson's model (`davidson.fit`), with its weak prior. The comparisons
    of one ranking are not independent, and the model need not be true; neither matters to the
    intervals, which resample sources with everything that was said about them
    (`resampled.expanded_interval`). Mean ranks and chances to be preferred are means, and have
    the interval of a mean (`analysis.mean`). p: `sign_flip_test` by source on the difference of
    the two models' ranks in the cases where somebody ranked both, corrected by Holm for all pairs.

    Without a chain of comparisons from every model to every other there are no strengths. Where a
    group of models was never put below or level with one outside, its lead has no upper end: the
    value is then what the prior makes of it, there is no interval, and the reason says so.
    """
    tail(level, LEAST_SOURCES)  # complains about a wrong level before any work
    table = Comparisons(ranked, resamples, seed)
    means = [_mean_rank(table, m, level) for m in range(len(table.models))]
    chances = _preferred(table, level)
    reason = _why_none(table)
    if reason:
        none = Estimate(None, None, 0, table.of, reason)
        standings = [
            Standing(model, mean, none, chance, None)
            for model, mean, chance in zip(table.models, means, chances, strict=True)
        ]
        standings.sort(key=lambda one: (_last(one.mean_rank.value), one.model))
        names = [one.model for one in standings]
        missing: Differences = dict.fromkeys(combinations(names, 2), (none, None))
        return Ordering(tuple(standings), None, missing, reason)

    whole, nu = fit(*table.counts(table.sums), len(table.models))
    strengths = whole[0]
    found, _ = fit(*table.counts(table.drawn), len(table.models))
    found[~connected(table.compared(table.drawn))] = np.nan
    order = sorted(
        range(len(table.models)),
        key=lambda m: (-round(strengths[m], 9), _last(means[m].value), table.models[m]),
    )
    loose = _loose(table)
    standings = [
        Standing(
            table.models[m],
            means[m],
            Estimate(
                float(strengths[m]),
                None if loose else table.interval(found[:, m], table.ranked_in(m), level),
                int(table.ranked_in(m).sum()),
                table.of,
                loose or table.few(table.ranked_in(m)),
            ),
            chances[m],
            _places(table, found, m, level),
        )
        for m in order
    ]
    decided = (table.sums[0, table.wins] + table.sums[0, table.losses]).sum() > 0
    differences = _differences(table, order, strengths, found, level, flips)
    return Ordering(tuple(standings), float(nu[0]) if decided else None, differences)


def _mean_rank(table: Comparisons, m: int, level: float) -> Estimate:
    cases = table.ranked_in(m)
    n = int(cases.sum())
    if not n:
        return Estimate(None, None, 0, table.of, "nobody ranked it against another model")
    sources = np.array(table.sources, dtype=str)[cases]
    found = mean(table.mean[cases, m], sources, Bounds(1.0, len(table.models)))
    assert found is not None
    return estimate(found, table.of, level)


def _preferred(table: Comparisons, level: float) -> list[Estimate]:
    """A mean over opponents of means over cases.

    Its interval is that of one mean over cases: each counts as the value plus what the case adds
    to it. Where every ranking is complete, that is the case's own share of opponents.
    """
    found = []
    won, times = table.won(table.columns), table.compared(table.columns)
    sources = np.array(table.sources, dtype=str)
    for m, whole in enumerate(table.chance(table.sums)[0]):
        cases = table.ranked_in(m)
        met = ~np.isnan(whole)
        n = int(cases.sum())
        if not met.any():
            why = "nobody ranked it against another model"
            found.append(Estimate(None, None, 0, table.of, why))
            continue
        value = float(whole[met].mean())
        added = won[:, m, met] - whole[met] * times[:, m, met]
        each = value + n * (added / times[:, m, met].sum(axis=0)).mean(axis=1)[cases]
        # Where rankings have gaps, a case can add more than its own share.
        ends = Bounds(min(0.0, float(each.min())), max(1.0, float(each.max())))
        one = mean(each, sources[cases], ends)
        assert one is not None
        low, high = one.interval(level) or (None, None)
        interval = None if low is None or high is None else Interval(max(0.0, low), min(1.0, high))
        strangers = [name for k, name in enumerate(table.models) if k != m and not met[k]]
        reason = f"never compared with {', '.join(strangers)}" if strangers else one.reason
        found.append(Estimate(value, interval, n, table.of, reason))
    return found


def _places(table: Comparisons, found: Floats, m: int, level: float) -> Interval | None:
    known = found[~np.isnan(found).any(axis=1)]
    sources = table.n_sources(table.ranked_in(m))
    if sources < LEAST_SOURCES or 2 * len(known) < len(found):
        return None
    out = tail(level, sources)
    # Strengths that differ by rounding only share their places.
    places = midranks(-known.round(9))[:, m]
    low, high = np.quantile(places, [out, 1 - out], method="inverted_cdf")
    return Interval(float(low), float(high))


def _differences(
    table: Comparisons,
    order: Sequence[int],
    strengths: Floats,
    found: Floats,
    level: float,
    flips: int,
) -> Differences:
    held = _held(table)
    pair_of = {
        frozenset(pair): p
        for p, pair in enumerate(zip(table.first.tolist(), table.second.tolist(), strict=True))
    }
    estimates, pvalues = [], []
    for better, worse in combinations(order, 2):
        cases = table.both[:, pair_of[frozenset((better, worse))]]
        n = int(cases.sum())
        reasons = [] if held[better, worse] else ["no chain of rankings leads back: no upper end"]
        p = None
        gaps = mean_known(table.ranks[..., worse] - table.ranks[..., better])
        if not n:
            reasons.append("never in one ranking: compared through other models, not tested")
        elif strengths[better] - strengths[worse] > 1e-9 and np.nansum(gaps) < 0:
            reasons.append("side by side the other one is ahead: not tested")
        else:
            p = sign_flip_test(gaps, table.sources, resamples=flips, seed=table.seed)
        either = table.ranked_in(better) | table.ranked_in(worse)
        interval = table.interval(found[:, better] - found[:, worse], either, level)
        if few := table.few(either):
            reasons.append(few)
        value = float(strengths[better] - strengths[worse])
        interval = interval if held[better, worse] else None
        estimates.append(Estimate(value, interval, n, table.of, "; ".join(reasons)))
        pvalues.append(p)
    adjusted = holm([1.0 if p is None else p for p in pvalues])
    return {
        (table.models[better], table.models[worse]): (estimate, None if p is None else corrected)
        for (better, worse), estimate, p, corrected in zip(
            combinations(order, 2), estimates, pvalues, adjusted, strict=True
        )
    }


def _why_none(table: Comparisons) -> str:
    """Why there are no strengths, in words; empty where there are."""
    if len(table.models) < 2:
        return "fewer than two models"
    if not table.of:
        return "nobody ranked two models of a case"
    chains = reach(table.compared(table.sums) > 0)[0]
    groups = {tuple(np.flatnonzero(row).tolist()) for row in chains}
    if len(groups) == 1:
        return ""
    listed = [", ".join(table.models[m] for m in group) for group in sorted(groups)]
    return f"never compared with each other: {' | '.join(listed)}"


def _held(table: Comparisons) -> Flags:
    """Which pairs have strengths that differ by a finite amount, were there no prior.

    There must be a way from either to the other over rankings in which the one was not below.
    """
    ways = _ways(table)
    return np.asarray(ways & ways.T)


def _ways(table: Comparisons) -> Flags:
    wins, losses, ties = table.counts(table.sums)
    return np.asarray(reach(table.square(wins + ties, losses + ties) > 0)[0])


def _loose(table: Comparisons) -> str:
    """Why the strengths hang on the prior; empty where they do not."""
    held, ways = _held(table), _ways(table)
    if held.all():
        return ""
    models = list(enumerate(table.models))
    above = [name for k, name in models if ways[k].all() and not held[k].all()]
    below = [name for k, name in models if ways[:, k].all() and not held[k].all()]
    who = f"{', '.join(above)} above" if above else f"{', '.join(below) or 'some models'} below"
    return f"no interval: {who} the others in every ranking, so the difference has no end"


def _last(value: float | None) -> float:
    return float("inf") if value is None else value
