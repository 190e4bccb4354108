"""How right a predictor is, as pure functions of arrays; `Undefined` where there is no number."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from medebench.metrics.metric import Undefined

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

#: A probability at or above it counts as "yes".
THRESHOLD = 0.5


def accuracy(positive: ArrayLike, probability: ArrayLike, threshold: float = THRESHOLD) -> float:
    """Share of pictures whose answer, yes where p >= threshold, is the true one.

    >>> accuracy([True, True, False, False], [0.9, 0.2, 0.5, 0.1])
    0.5
    """
    true, said = answers(positive, probability, threshold)
    return float(np.mean(true == said))


def sensitivity(positive: ArrayLike, probability: ArrayLike, threshold: float = THRESHOLD) -> float:
    """Share of the positive pictures that are called so.

    >>> sensitivity([True, True, False], [0.9, 0.2, 0.1])
    0.5
    """
    true, said = answers(positive, probability, threshold)
    if not true.any():
        raise Undefined("no picture is positive")
    return float(said[true].mean())


def specificity(positive: ArrayLike, probability: ArrayLike, threshold: float = THRESHOLD) -> float:
    """Share of the negative pictures that are called so.

    >>> specificity([True, False, False], [0.9, 0.2, 0.7])
    0.5
    """
    true, said = answers(positive, probability, threshold)
    if true.all():
        raise Undefined("no picture is negative")
    return float(1 - said[~true].mean())


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


def answers(positive: ArrayLike, probability: ArrayLike, threshold: float) -> tuple[Bools, Bools]:
    """What is true and what is said of each picture."""
    true, values = _checked(positive, probability)
    return true, values >= threshold


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
