"""How right a predictor is, as pure functions of arrays; `Undefined` where there is no number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from medebench.analysis.clusters import chunks
from medebench.analysis.difference import ends_between
from medebench.analysis.interval import LEAST_SOURCES, LEVEL, UNIT, Interval, students, unvaried
from medebench.analysis.resampled import expanded_interval
from medebench.metrics.metric import Undefined

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
#: For each picture the number of its group, 0, 1, ... of all groups of the test set.
Groups = NDArray[np.intp]

#: A probability at or above it counts as "yes".
THRESHOLD = 0.5
RESAMPLES = 2000


def auroc(positive: ArrayLike, score: ArrayLike) -> float:
    """Area under the ROC curve: how often a positive scores above a negative; ties count half.

        P(s+ > s-) + P(s+ = s-) / 2    over all pairs of a positive and a negative picture

    >>> auroc([True, True, False], [0.9, 0.4, 0.4])
    0.75
    """
    true, values = _checked(positive, score)
    levels, place = np.unique(values, return_inverse=True)
    above = np.bincount(place[true], minlength=len(levels)).astype(np.float64)
    below = np.bincount(place[~true], minlength=len(levels)).astype(np.float64)
    if not above.any() or not below.any():
        raise Undefined(f"all pictures are {'positive' if above.any() else 'negative'}")
    won = above @ (np.cumsum(below) - below / 2)
    return float(won / (above.sum() * below.sum()))


def dice(predicted: Bools, truth: Bools) -> float:
    """2 |P ∩ T| / (|P| + |T|).

    An empty prediction of a mask that is not empty has Dice 0, which is a true value: nothing was
    found. Undefined only where there was nothing to find.

    >>> dice(np.array([True, True, False, False]), np.array([False, True, True, False]))
    0.5
    """
    predicted, truth = _regions(predicted, truth)
    both = np.count_nonzero(predicted & truth)
    return float(2 * both / (np.count_nonzero(predicted) + np.count_nonzero(truth)))


def average_hausdorff(predicted: Bools, truth: Bools) -> float:
    """Average Hausdorff distance in pixels: how far the two outlines are apart on average.

    With ∂X the pixels of X that have a 4-neighbour outside X, or that lie on the frame,

        1/2 ( 1/|∂P| sum_{p in ∂P} min_{t in ∂T} |p - t|  +  1/|∂T| sum_{t in ∂T} min_{p in ∂P} |t - p| )

    Each direction counts half, however long its outline is. Others differ: MONAI's symmetric surface
    distance puts all distances into one mean, so the longer outline counts more; scikit-image's
    "modified" distance takes the larger of the two; and some tools measure from all pixels of a
    region instead of its outline. Undefined where either region is empty.

    >>> square = np.zeros((6, 9), bool); square[2:4, 1:3] = True
    >>> average_hausdorff(np.roll(square, 3, axis=1), square)
    2.5
    """  # noqa: E501
    there, back = outline_distances(predicted, truth)
    return float((there.mean() + back.mean()) / 2)


def outline_distances(predicted: Bools, truth: Bools) -> tuple[Floats, Floats]:
    """From every outline pixel of `predicted` to the nearest of `truth`, and the other way."""
    from scipy.ndimage import distance_transform_edt, find_objects

    predicted, truth = _regions(predicted, truth)
    if not predicted.any():
        raise Undefined("the predicted mask is empty")
    first, second = outline(predicted), outline(truth)
    # Far from both outlines nothing is asked for; a lung fills little of a large picture.
    (box,) = find_objects((first | second).astype(np.uint8))
    first, second = first[box], second[box]
    there = distance_transform_edt(~second)[first]
    back = distance_transform_edt(~first)[second]
    return np.asarray(there, np.float64), np.asarray(back, np.float64)


def outline(region: Bools) -> Bools:
    """The pixels of a region that touch, by 4-connectivity, what is outside it or the frame."""
    from scipy.ndimage import binary_erosion

    inside = np.asarray(region, np.bool_)
    return np.asarray(inside & ~binary_erosion(inside))


def overlap(predicted: Bools, truth: Bools) -> tuple[float, float | None]:
    """Dice and average Hausdorff distance; None where nothing was predicted."""
    try:
        return dice(predicted, truth), average_hausdorff(predicted, truth)
    except Undefined:
        if not np.any(truth):
            raise
        return 0.0, None


def _checked(positive: ArrayLike, score: ArrayLike) -> tuple[Bools, Floats]:
    true = np.asarray(positive)
    values = np.asarray(score, np.float64)
    if true.shape != values.shape or true.ndim != 1:
        raise ValueError(f"{true.shape} labels, but {values.shape} scores")
    if not len(values):
        raise Undefined("there is no picture")
    if not np.isfinite(values).all():
        raise ValueError("a score is not a finite number")
    return true.astype(np.bool_), values


def _regions(predicted: Bools, truth: Bools) -> tuple[Bools, Bools]:
    predicted, truth = np.asarray(predicted, np.bool_), np.asarray(truth, np.bool_)
    if predicted.shape != truth.shape:
        raise ValueError(f"a mask of {predicted.shape} beside one of {truth.shape}")
    if not truth.any():
        raise Undefined("the true mask is empty")
    return predicted, truth


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
