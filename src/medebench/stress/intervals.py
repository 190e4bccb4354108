"""Intervals of shares, their differences, AUROC and means, when pictures come in groups."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from medebench.analysis.bootstrap import Floats, Interval, chunks
from medebench.analysis.resampled import LEAST_SOURCES, expanded_interval
from medebench.stress.measures import auroc

Bools = NDArray[np.bool_]
#: For each picture the number of its group, 0, 1, ... of all groups of the test set.
Groups = NDArray[np.intp]

LEVEL = 0.95
RESAMPLES = 2000
#: With fewer groups that differ from the rest, how alike groups are cannot be told.
LEAST_EXCEPTIONS = 5


@dataclass(frozen=True)
class Estimate:
    """A number, its interval, and what each group adds to its error (0 for groups without part)."""

    value: float
    interval: Interval | None
    influence: Floats
    pictures: int


def share(
    right: Bools,
    groups: Groups,
    total: int,
    weights: Floats | None = None,
    *,
    level: float = LEVEL,
) -> Estimate:
    """Share of pictures that are `right`, of `total` groups, with Wilson's interval.

    A share of 0 or 1 leaves a bootstrap nothing to vary, and one near it hardly anything: of 60
    pictures that are all right it would say 100 % to 100 %. Wilson's interval stays honest there.
    Pictures of one group are no independent evidence, so it is taken at the effective number

        n = p (1 - p) / v,    v = k / (k - 1) sum_c (s_c - p n_c)² / N²,

    with s_c right ones of n_c pictures in group c, k groups and N pictures: v is the variance that
    a bootstrap of whole groups would find. Where fewer than `LEAST_EXCEPTIONS` groups have a
    picture that is right, or one that is wrong, v says nothing, and n is the number of groups (the
    worst case; Kish's, where they differ in size). The quantile is Student's with k - 1 degrees.

    `weights` count some pictures more than others. No interval with fewer than four groups.

    >>> [round(end, 3) for end in share(np.array([True] * 60), np.arange(60), 60).interval]
    [0.937, 1.0]
    """
    each = np.ones(len(right)) if weights is None else weights
    whole = each.sum()
    by_group = np.bincount(groups, each, minlength=total)
    right_by = np.bincount(groups, each * right, minlength=total)
    # Rounding of weights must not leave all right ones a hair off 1.
    value = 1.0 if right.all() else float(right_by.sum() / whole)
    influence = (right_by - value * by_group) / whole
    taking = by_group > 0
    count = int(taking.sum())
    if count < LEAST_SOURCES:
        return Estimate(value, None, influence, len(right))
    some_wrong = np.count_nonzero(taking & (right_by < by_group * (1 - 1e-12)))
    some_right = np.count_nonzero(right_by > 0)
    effective = float(whole**2 / (by_group**2).sum())
    if min(some_wrong, some_right) >= LEAST_EXCEPTIONS:
        variance = count / (count - 1) * float((influence**2).sum())
        most = float(whole**2 / (each**2).sum())
        effective = min(value * (1 - value) / variance, most) if variance else most
    return Estimate(value, wilson(value, effective, count, level), influence, len(right))


def wilson(value: float, effective: float, groups: int, level: float = LEVEL) -> Interval:
    """Wilson's interval of a share at an effective number, with Student's quantile."""
    from scipy.special import stdtrit

    t = float(stdtrit(groups - 1, (1 + level) / 2))
    spread = t * t / effective
    middle = (value + spread / 2) / (1 + spread)
    half = math.sqrt(value * (1 - value) * spread + spread**2 / 4) / (1 + spread)
    return Interval(
        0.0 if value <= 0 else max(0.0, middle - half),
        1.0 if value >= 1 else min(1.0, middle + half),
    )


def less(first: Estimate, second: Estimate) -> Estimate:
    """`first` less `second`, with an interval that knows that both come from the same groups.

    The distances from each value to the ends of its own interval are put together as standard
    errors would be (Newcombe 1998; Zou and Donner 2008, "MOVER"):

        low = d - sqrt(x² + y² - 2 r x y),    x = first - its low, y = high of second - second

    and `high` likewise, with r the correlation of the two over the groups. It keeps the honesty of
    the two intervals at 0 and 1, where a bootstrap of 100 % less 0 % would be sure of 100 points.
    """
    value = first.value - second.value
    influence = first.influence - second.influence
    pictures = second.pictures
    if first.interval is None or second.interval is None:
        return Estimate(value, None, influence, pictures)
    sizes = float((first.influence**2).sum() * (second.influence**2).sum())
    r = float(first.influence @ second.influence) / math.sqrt(sizes) if sizes > 0 else 0.0

    def reach(x: float, y: float) -> float:
        return math.sqrt(max(0.0, x * x + y * y - 2 * r * x * y))

    low = value - reach(first.value - first.interval.low, second.interval.high - second.value)
    high = value + reach(first.interval.high - first.value, second.value - second.interval.low)
    return Estimate(value, Interval(low, high), influence, pictures)


def mean(
    values: Floats, groups: Groups, total: int, *, seed: int = 0, level: float = LEVEL
) -> Estimate:
    """Mean of `values` with a bootstrap interval of whole groups (expanded percentile)."""
    value, least = float(values.mean()), values.min()
    # Shifted, so that the mean of a constant is that constant in every resample.
    sums = np.bincount(groups, values - least, minlength=total)
    counts = np.bincount(groups, minlength=total).astype(np.float64)
    count = int(np.count_nonzero(counts))
    interval = None
    if count >= LEAST_SOURCES:
        found = np.empty(RESAMPLES)
        for part, drawn in _drawn(total, total, RESAMPLES, seed):
            top, bottom = (drawn @ np.column_stack([sums, counts])).T
            found[part] = np.where(bottom > 0, top / np.maximum(bottom, 1) + least, np.nan)
        interval = expanded_interval(found, level, count)
    return Estimate(value, interval, np.empty(0), len(values))


@dataclass(frozen=True)
class Ranked:
    """AUROC and its values in the resamples; those of one seed share their draws of groups."""

    value: float
    draws: Floats
    groups: int
    pictures: int
    #: So many pairs of a positive and a negative picture share no group with another pair.
    pairs: int

    @property
    def interval(self) -> Interval | None:
        return ranked_interval(self)


def ranked(
    positive: Bools,
    score: Floats,
    groups: Groups,
    total: int,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Ranked:
    """AUROC in every resample of whole groups; NaN where one has no positive or no negative."""
    value = auroc(positive, score)
    order = np.argsort(score, kind="stable")
    true, place = positive[order], groups[order]
    starts = np.flatnonzero(np.diff(score[order], prepend=-np.inf) > 0)
    found = np.empty(resamples)
    for part, drawn in _drawn(total, len(score), resamples, seed):
        each = drawn[:, place]
        above = np.add.reduceat(each * true, starts, axis=1)
        below = np.add.reduceat(each * ~true, starts, axis=1)
        won = (above * (np.cumsum(below, axis=1) - below / 2)).sum(axis=1)
        pairs = above.sum(axis=1) * below.sum(axis=1)
        found[part] = np.where(pairs > 0, won / np.maximum(pairs, 1), np.nan)
    fewest = min(len(set(place[true].tolist())), len(set(place[~true].tolist())))
    return Ranked(value, found, len(set(place.tolist())), len(score), fewest)


def ranked_interval(one: Ranked, level: float = LEVEL) -> Interval | None:
    """Bootstrap interval of an AUROC; of a perfect one Wilson's, over pairs that share no group.

    No resample of a perfect order is out of order. Pairing off positives and negatives leaves as
    many independent pairs as the smaller class has groups, all in order.
    """
    if one.value in (0.0, 1.0):
        many = one.pairs >= LEAST_SOURCES
        return wilson(one.value, one.pairs, one.pairs, level) if many else None
    return expanded_interval(one.draws, level, one.groups)


def ranked_less(first: Ranked, second: Ranked, level: float = LEVEL) -> Interval | None:
    """Interval of the difference of two AUROCs whose resamples share their draws.

    Where one of them is perfect its resamples do not vary, and the ends are put together as in
    `less`, without a correlation.
    """
    if {first.value, second.value} & {0.0, 1.0}:
        none = np.zeros(1)
        sides = [Estimate(one.value, one.interval, none, one.pictures) for one in (first, second)]
        return less(*sides).interval
    groups = min(first.groups, second.groups)
    return expanded_interval(first.draws - second.draws, level, groups)


def _drawn(total: int, width: int, resamples: int, seed: int) -> Iterator[tuple[slice, Floats]]:
    """How often each group is drawn, as many resamples at a time as are handled at once."""
    drawn = _draws(total, resamples, seed)
    for part in chunks(resamples, max(total, width)):
        yield part, drawn[part].astype(np.float64)


@lru_cache(maxsize=1)
def _draws(total: int, resamples: int, seed: int) -> NDArray[np.uint8]:
    """Resamples x groups: all measures of a stress test share them, and drawing takes longest."""
    rng = np.random.default_rng(seed)
    drawn = np.empty((resamples, total), np.uint8)
    for part in chunks(resamples, total):
        size = part.stop - part.start
        picks = rng.integers(0, total, size=(size, total)) + total * np.arange(size)[:, None]
        counts = np.bincount(picks.ravel(), minlength=size * total).reshape(size, total)
        drawn[part] = np.minimum(counts, 255)
    drawn.setflags(write=False)
    return drawn
