"""Pixels against the reference, and how much was changed where."""

from __future__ import annotations

from functools import partial
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.cases.open_case import OpenCase
from medebench.images.picture import Picture
from medebench.images.picture import data_range as full_range
from medebench.metrics.arrays import as_pictures, as_region
from medebench.metrics.kernel import WINDOW, window_ssim
from medebench.metrics.metric import Undefined, metric


def ssim(first: Picture, second: Picture, data_range: int | None = None) -> float:
    """Structural similarity, scikit-image's default: 7 x 7 uniform window, mean of channels.

    Args:
        first: (height, width) or (height, width, 3), uint8 or uint16.
        second: of the same shape and depth.
        data_range: the largest value a pixel can take; by default 255 or 65535.

    Returns:
        -1 to 1; 1 for equal images.

    >>> import numpy as np
    >>> image = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> mb.ssim(image, image)
    1.0
    """
    first, second = as_pictures(first, second)
    value, used, _ = window_ssim(first, second, data_range or full_range(first))
    if not used:
        raise Undefined(f"the picture is smaller than one {WINDOW} x {WINDOW} window")
    return value / used


def psnr(first: Picture, second: Picture, data_range: int | None = None) -> float:
    """Peak signal-to-noise ratio: 10 log10(range² / mean squared error).

    Args:
        first: (height, width) or (height, width, 3), uint8 or uint16.
        second: of the same shape and depth.
        data_range: the largest value a pixel can take; by default 255 or 65535.

    Returns:
        Decibels. Raises `Undefined` for equal images, whose ratio is infinite.

    >>> import numpy as np
    >>> round(mb.psnr(np.full((8, 8), 100, np.uint8), np.full((8, 8), 101, np.uint8)), 2)
    48.13
    """
    first, second = as_pictures(first, second)
    error = cv2.norm(first, second, cv2.NORM_L2SQR)
    if not error:
        raise Undefined("infinite: the output equals the reference")
    return float(10 * np.log10(float(data_range or full_range(first)) ** 2 * first.size / error))


def mean_change(
    previous: Picture, output: Picture, where: NDArray[Any], data_range: int | None = None
) -> float:
    """Mean absolute difference of two images over a region, as a share of the data range.

    Args:
        previous: (height, width) or (height, width, 3), uint8 or uint16.
        output: of the same shape and depth.
        where: the region, True (or bright) inside.
        data_range: the largest value a pixel can take; by default 255 or 65535.

    Returns:
        0 to 1. Raises `Undefined` for an empty region.

    >>> import numpy as np
    >>> black = np.zeros((8, 8), np.uint8)
    >>> mb.mean_change(black, black + 51, np.ones((8, 8), bool))
    0.2
    """
    previous, output = as_pictures(previous, output)
    inside = as_region(where, previous)
    pixels = int(np.count_nonzero(inside))
    if not pixels:
        raise Undefined("there are no pixels to measure")
    total = cv2.norm(previous, output, cv2.NORM_L1, np.ascontiguousarray(inside).view(np.uint8))
    return float(total / (pixels * previous.shape[2] * (data_range or full_range(previous))))


_of_reference = partial(metric, needs=("reference",))
_of_roi = partial(metric, needs=("roi",))


@_of_reference("ssim", "SSIM of output and reference, whole frame", low=-1.0, label="SSIM")
def SSIM(case: OpenCase, output: Picture) -> float:
    return ssim(case.reference, output, case.data_range)


@_of_reference(
    "psnr", "PSNR of output and reference in dB, whole frame", high=float("inf"), label="PSNR (dB)"
)
def PSNR(case: OpenCase, output: Picture) -> float:
    return psnr(case.reference, output, case.data_range)


@_of_roi(
    "change_inside",
    "mean absolute difference of previous and output inside the ROI",
    better="neither",
    label="Change inside",
)
def CHANGE_INSIDE(case: OpenCase, output: Picture) -> float:
    return mean_change(case.previous, output, case.roi, case.data_range)


@_of_roi(
    "change_outside",
    "mean absolute difference of previous and output outside the ROI",
    better="lower",
    label="Change outside",
)
def CHANGE_OUTSIDE(case: OpenCase, output: Picture) -> float:
    return mean_change(case.previous, output, ~case.roi, case.data_range)
