"""AUROC and its interval when pictures come in groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from medebench.analysis.clusters import Floats, chunks
from medebench.analysis.difference import ends_between
from medebench.analysis.interval import (
    LEAST_SOURCES,
    LEVEL,
    UNIT,
    Interval,
    students,
    unvaried,
)
from medebench.analysis.resampled import expanded_interval
from medebench.stresstest.predictor_measures import auroc

Bools = NDArray[np.bool_]
#: For each picture the number of its group, 0, 1, ... of all groups of the test set.
Groups = NDArray[np.intp]

RESAMPLES = 2000


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
        if one.pairs < LEAST_SOURCES:
            return None
        return unvaried(one.value, students(level, one.pairs - 1), one.pairs, UNIT)
    return expanded_interval(one.draws, level, one.groups)


def ranked_less(first: Ranked, second: Ranked, level: float = LEVEL) -> Interval | None:
    """Interval of the difference of two AUROCs whose resamples share their draws.

    Where one of them is perfect its resamples do not vary, and the ends are put together as those
    of a `Difference`, without a correlation.
    """
    if {first.value, second.value} & {0.0, 1.0}:
        ends, others = ranked_interval(first, level), ranked_interval(second, level)
        if ends is None or others is None:
            return None
        return ends_between(first.value, ends, second.value, others)
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
