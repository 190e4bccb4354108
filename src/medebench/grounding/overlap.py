"""How well a map or region agrees with the ROI, and what chance would reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from medebench.metrics.metric import Undefined

Bools = NDArray[np.bool_]
Heat = NDArray[Any]

#: The published rule: a map is hot above this multiple of its Otsu threshold.
HOT_FACTOR = 1.3


def iou(first: Bools, second: Bools) -> float:
    """|A ∩ B| / |A ∪ B|; undefined where both are empty."""
    _same_grid(first, second)
    union = np.count_nonzero(first | second)
    if not union:
        raise Undefined("both regions are empty")
    return float(np.count_nonzero(first & second) / union)


def otsu(values: Heat) -> float:
    """The threshold that parts `values` into the two groups farthest apart (Otsu 1979).

    With w0, w1 the sizes and m0, m1 the means of the groups below and above, the centre of the bin
    (of 256 between least and greatest value) that maximises w0 w1 (m0 - m1)².
    """
    flat = _spread_of(values)
    counts, edges = np.histogram(flat, bins=256)
    centres = (edges[:-1] + edges[1:]) / 2
    below, above = np.cumsum(counts), np.cumsum(counts[::-1])[::-1]
    mean_below = np.cumsum(counts * centres) / below
    mean_above = (np.cumsum((counts * centres)[::-1]) / above[::-1])[::-1]
    between = below[:-1] * above[1:] * (mean_below[:-1] - mean_above[1:]) ** 2
    return float(centres[int(np.argmax(between))])


def hot_region(heat: Heat, factor: float = HOT_FACTOR) -> Bools:
    """Where the map, scaled to 0-1, exceeds `factor` times its Otsu threshold.

    Otsu's threshold can lie so high that nothing exceeds the product (1 or more): the map is then
    high nearly everywhere, points nowhere, and the region is undefined.
    """
    flat = _spread_of(heat)
    low, high = float(flat.min()), float(flat.max())
    scaled = (np.asarray(heat, np.float64) - low) / (high - low)
    threshold = factor * otsu(scaled)
    if threshold >= 1:
        raise Undefined(f"the map is high nearly everywhere ({factor:g} x Otsu is {threshold:.2f})")
    return np.asarray(scaled > threshold, np.bool_)


def pointing_hit(heat: Heat, roi: Bools) -> float:
    """The pointing game: the share of the map's maxima that lie inside the ROI.

    1 or 0 where the maximum is at one pixel; a tie is shared, not decided by the order of pixels.
    """
    _check_roi(heat, roi)
    peak = np.asarray(heat) == _spread_of(heat).max()
    return float(roi[peak].mean())


def energy_inside(heat: Heat, roi: Bools) -> float:
    """Σ inside / Σ everywhere of a map that is nowhere negative."""
    _check_roi(heat, roi)
    values = np.asarray(heat, np.float64)
    if not np.isfinite(values).all():
        raise Undefined("the map contains values that are not numbers")
    if values.min() < 0:
        raise Undefined("the map has negative values: its energy is not defined")
    total = values.sum()
    if total <= 0:
        raise Undefined("the map is zero everywhere")
    return float(values[roi].sum() / total)


@dataclass(frozen=True)
class Chance:
    """What the measures would be if the ROI lay anywhere else, on average over all places."""

    iou: float
    pointing: float
    energy: float
    #: Share of all places at which the IoU is at least that of the true one.
    iou_reached: float


def chance(region: Bools, roi: Bools) -> Chance:
    """Chance level of a region (and of any map) for this ROI.

    The ROI, its shape and size kept, is shifted to every place of the frame; what leaves at one
    side enters at the other. So every pixel is as often inside as every other, small and large
    ROIs are treated alike, and pointing and energy both have the ROI's share of the frame as
    expectation, whatever the map. All shifts are taken, so nothing is drawn and no seed is needed.
    """
    _check_roi(region, roi)
    sizes = np.count_nonzero(region), np.count_nonzero(roi)
    share = sizes[1] / roi.size
    spectrum = fft.rfft2(region.astype(np.float64)) * np.conj(fft.rfft2(roi.astype(np.float64)))
    common = np.rint(fft.irfft2(spectrum, s=region.shape))
    each = common / (sizes[0] + sizes[1] - common)
    reached = float((each >= each[0, 0]).mean())
    return Chance(float(each.mean()), share, share, reached)


def _spread_of(values: Heat) -> NDArray[np.float64]:
    """The values, flat, checked to be numbers that are not all the same."""
    flat = np.asarray(values, np.float64).ravel()
    if not flat.size:
        raise Undefined("the map is empty")
    if not np.isfinite(flat).all():
        raise Undefined("the map contains values that are not numbers")
    if flat.min() == flat.max():
        raise Undefined("the map is the same everywhere")
    return flat


def _check_roi(heat: Heat, roi: Bools) -> None:
    _same_grid(heat, roi)
    inside = np.count_nonzero(roi)
    if not inside:
        raise Undefined("the ROI is empty")
    if inside == roi.size:
        raise Undefined("the ROI is the whole image: nothing lies outside it")


def _same_grid(first: Heat, second: Heat) -> None:
    if first.shape != second.shape:
        raise ValueError(f"grids differ: {first.shape}, {second.shape}")
