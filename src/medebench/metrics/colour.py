"""CIE Lab as pixels are compared in it: small, and softened where photographs never match."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.cases.image import Picture

#: Width to which pictures are reduced for the comparison of colours.
COMPARED_WIDTH = 256
#: Blur before comparing, as a share of the width: before/after photographs never match exactly.
TOLERANCE = 0.02

Floats = NDArray[np.float32]


def small_lab(picture: Picture, data_range: int) -> Floats:
    """CIE Lab, at most `COMPARED_WIDTH` pixels wide; a distance of 1 is about the least visible."""
    height, width = picture.shape[:2]
    scaled: NDArray[Any] = picture.astype(np.float32) / data_range
    if width > COMPARED_WIDTH:
        size = (COMPARED_WIDTH, max(1, round(height * COMPARED_WIDTH / width)))
        scaled = cv2.resize(scaled, size, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.cvtColor(scaled, cv2.COLOR_RGB2LAB), np.float32)


def soft_lab(picture: Picture, data_range: int) -> Floats:
    """`small_lab`, blurred by `TOLERANCE` of the width."""
    lab = small_lab(picture, data_range)
    return np.asarray(cv2.GaussianBlur(lab, (0, 0), TOLERANCE * lab.shape[1]), np.float32)


def small_mask(mask: NDArray[np.bool_], like: Floats) -> NDArray[np.bool_]:
    """The mask on the grid of `like`; a pixel is in it where more than half of it is."""
    height, width = like.shape[:2]
    small = cv2.resize(mask.astype(np.uint8), (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.uint8).astype(np.bool_)


def dot(first: Floats, second: Floats) -> float:
    return float((first * second).sum(dtype=np.float64))


def lengths(rows: Floats) -> Floats:
    """The length of every row of three: a colour difference (CIE76)."""
    return np.asarray(np.sqrt(squares(rows)), np.float32)


def squares(rows: Floats) -> Floats:
    first, second, third = rows[..., 0], rows[..., 1], rows[..., 2]
    return np.asarray(first * first + second * second + third * third, np.float32)
