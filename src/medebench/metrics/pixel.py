"""Pixels against the reference, and how much was changed where."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.cases.image import Picture
from medebench.cases.opened import OpenCase
from medebench.metrics.base import Undefined, metric
from medebench.metrics.kernel import WINDOW, window_ssim


def ssim(first: Picture, second: Picture, data_range: int = 255) -> float:
    """scikit-image's default SSIM: 7 x 7 uniform window, sample covariance, mean of channels."""
    value, used, _ = window_ssim(first, second, data_range)
    if not used:
        raise Undefined(f"the picture is smaller than one {WINDOW} x {WINDOW} window")
    return value / used


def psnr(first: Picture, second: Picture, data_range: int = 255) -> float:
    """10 log10(range² / mean squared error) in dB; undefined (infinite) for equal pictures."""
    error = cv2.norm(first, second, cv2.NORM_L2SQR)
    if not error:
        raise Undefined("infinite: the output equals the reference")
    return float(10 * np.log10(float(data_range) ** 2 * first.size / error))


def mean_change(
    previous: Picture, output: Picture, where: NDArray[np.bool_], data_range: int = 255
) -> float:
    """Mean absolute difference of the two pictures over `where`, as a share of the data range."""
    pixels = int(np.count_nonzero(where))
    if not pixels:
        raise Undefined("there is no pixel to measure there")
    total = cv2.norm(previous, output, cv2.NORM_L1, where.view(np.uint8))
    return float(total / (pixels * previous.shape[2] * data_range))


@metric("ssim", "SSIM of output and reference, whole frame", low=-1.0, needs=("reference",))
def SSIM(case: OpenCase, output: Picture) -> float:
    return ssim(case.reference, output, case.data_range)


@metric(
    "psnr",
    "PSNR of output and reference in dB, whole frame",
    high=float("inf"),
    needs=("reference",),
)
def PSNR(case: OpenCase, output: Picture) -> float:
    return psnr(case.reference, output, case.data_range)


@metric(
    "change_inside",
    "mean absolute difference of previous and output inside the ROI",
    better="neither",
    needs=("roi",),
)
def CHANGE_INSIDE(case: OpenCase, output: Picture) -> float:
    return mean_change(case.previous, output, case.roi, case.data_range)


@metric(
    "change_outside",
    "mean absolute difference of previous and output outside the ROI",
    better="lower",
    needs=("roi",),
)
def CHANGE_OUTSIDE(case: OpenCase, output: Picture) -> float:
    return mean_change(case.previous, output, ~case.roi, case.data_range)
