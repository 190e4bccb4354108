"""Where the output's frame lies on the input's: editors crop, pad and resample a little."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.metrics.colour import Floats

#: A corner that would move by more than this share of the frame's diagonal: not a misalignment.
MAX_MOVE = 0.1
#: Widths of the pyramid on which the affine motion is looked for, coarse to fine.
_LEVELS = (64, 128, 256)
_STOP = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 60, 1e-5)

#: 2 x 3: where a pixel (x, y, 1) of the input lies in the output, both measured in widths.
Motion = NDArray[np.float32]
Bools = NDArray[np.bool_]

STILL: Motion = np.eye(2, 3, dtype=np.float32)


@dataclass(frozen=True)
class Moved:
    """How the output was brought onto the input, as seen by a reader."""

    #: The farthest any corner moved, as a share of the diagonal.
    distance: float
    #: Enlargement of the output against the input: 1.05 means that it is zoomed in by 5 %.
    scale: float


def find_motion(previous: Floats, output: Floats, where: Bools) -> Motion | None:
    """The affine motion with the best correlation (ECC), or None where there is none in bounds.

    Correlation does not see brightness and contrast. `where` (True in the pixels of `previous`
    that may be used) keeps a large edit from pulling the frame after it.
    """
    motion = STILL.copy()
    for level in _LEVELS:
        width = min(level, previous.shape[1])
        first, second = _shrink(previous, width), _shrink(output, width)
        mask = _shrink(where.astype(np.float32), width) > 0.5
        if min(first.shape) < 16 or not mask.any():
            continue
        pixels = _to_pixels(motion, width)
        try:
            _, found = cv2.findTransformECC(
                first, second, pixels, cv2.MOTION_AFFINE, _STOP, mask.astype(np.uint8), 5
            )
        except cv2.error:  # no convergence: the two have nothing in common at this level
            return None
        motion = _from_pixels(np.asarray(found, np.float32), width)
        if describe(motion, previous.shape[:2]).distance > MAX_MOVE:
            return None
    return motion


def bring_back(output: Floats, motion: Motion) -> tuple[Floats, Bools]:
    """The output on the input's frame, and where it has something to show there."""
    height, width = output.shape[:2]
    pixels = _to_pixels(motion, width)
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    size = (width, height)
    moved = cv2.warpAffine(output, pixels, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
    seen = cv2.warpAffine(np.ones((height, width), np.float32), pixels, size, flags=flags)
    return np.asarray(moved, np.float32), np.asarray(seen) > 0.99


def describe(motion: Motion, shape: tuple[int, int]) -> Moved:
    height, width = shape[0] / shape[1], 1.0
    corners = np.array([[0, 0, 1], [width, 0, 1], [0, height, 1], [width, height, 1]], np.float64)
    steps = corners @ motion.T.astype(np.float64) - corners[:, :2]
    farthest = float(np.linalg.norm(steps, axis=1).max() / np.hypot(width, height))
    return Moved(farthest, float(np.sqrt(abs(np.linalg.det(motion[:, :2])))))


def _shrink(plane: Floats, width: int) -> Floats:
    if plane.shape[1] <= width:
        return plane
    size = (width, max(1, round(plane.shape[0] * width / plane.shape[1])))
    return np.asarray(cv2.resize(plane, size, interpolation=cv2.INTER_AREA), np.float32)


def _to_pixels(motion: Motion, width: int) -> Motion:
    """From widths to pixels, whose centres lie at half."""
    pixels = motion.copy()
    half = np.array([0.5, 0.5], np.float32)
    pixels[:, 2] = motion[:, 2] * width + motion[:, :2] @ half - half
    return pixels


def _from_pixels(pixels: Motion, width: int) -> Motion:
    motion = pixels.copy()
    half = np.array([0.5, 0.5], np.float32)
    motion[:, 2] = (pixels[:, 2] - pixels[:, :2] @ half + half) / width
    return motion
