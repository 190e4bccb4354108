"""Rules for bodies with balls in them: from a sheet of slices or a rendering, and back."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from medebench.phantoms.medgen.scene import Side
from medebench.phantoms.medgen.terms import NUMBERS, listed
from medebench.phantoms.medgen.volume import BALL, HEIGHTS

_FRAME = 256
#: The body as it looks on the average, in a frame of 256: half width, half height, half depth.
_HALF = (105, 122, 77)
Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Found:
    """A ball, in a frame of 256; its height in percent from below."""

    side: Side
    height: int
    x: float
    radius: float


def balls_of_sheet(framed: Pixels) -> list[Found]:
    """Bright blobs in the four tiles of a sheet; the labels in the corners are left out."""
    half, found = _FRAME // 2, []
    for n, height in enumerate(HEIGHTS):
        top, left = half * (n // 2), half * (n % 2)
        tile = framed[top : top + half, left : left + half, 1].copy()
        tile[:16, :40] = 0
        for x, _, radius in _blobs(tile > 180):
            found.append(Found("left" if x < half / 2 else "right", height, 2 * x, 2 * radius))
    return sorted(found, key=lambda one: -one.height)


def balls_of_rendering(framed: Pixels) -> list[Found]:
    red = framed[..., 0].astype(int) - framed[..., 1]
    found = []
    for x, y, radius in _blobs(red > 45):
        height = min(HEIGHTS, key=lambda one, y=y: abs(one - 100 * (1 - y / _FRAME)))  # type: ignore[misc]
        found.append(Found("left" if x < _FRAME / 2 else "right", height, x, radius))
    return found


def _blobs(mask: NDArray[np.bool_]) -> list[tuple[float, float, float]]:
    """Middle and radius of each connected part that is more than a few pixels."""
    labels, count = ndimage.label(ndimage.binary_opening(mask, iterations=2))
    found = []
    for n in range(1, count + 1):
        rows, columns = np.nonzero(labels == n)
        if len(rows) >= 40:
            radius = float(np.sqrt(len(rows) / np.pi))
            found.append((float(columns.mean()), float(rows.mean()), radius))
    return found


def render(found: list[Found]) -> Pixels:
    """A grey body with red balls, from the front."""
    canvas = np.full((_FRAME, _FRAME, 3), 24, np.uint8)
    middle = (_FRAME // 2, _FRAME // 2)
    cv2.ellipse(canvas, middle, _HALF[:2], 0, 0, 360, (90, 84, 78), -1, cv2.LINE_AA)
    for one in found:
        y = round(_FRAME * (1 - one.height / 100))
        cv2.circle(canvas, (round(one.x), y), max(2, round(one.radius)), BALL, -1, cv2.LINE_AA)
    return canvas


def slice_at(found: list[Found], height: int, bone: bool) -> Pixels:
    """A grey slice of an average body, with a ball where one was found at this height."""
    canvas = np.full((_FRAME, _FRAME), 8, np.uint8)
    share = float(np.sqrt(max(0.0, 1 - ((height / 50 - 1) / 0.95) ** 2)))
    axes, middle = (round(_HALF[0] * share), round(_HALF[2] * share)), (_FRAME // 2, _FRAME // 2)
    cv2.ellipse(canvas, middle, axes, 0, 0, 360, 118, -1, cv2.LINE_AA)
    for one in found:
        if one.height == height:
            place = (round(one.x), _FRAME // 2)
            cv2.circle(canvas, place, max(2, round(one.radius)), 223, -1, cv2.LINE_AA)
    if bone:
        return np.ascontiguousarray(cv2.applyColorMap(canvas, cv2.COLORMAP_BONE)[..., ::-1])
    return np.repeat(canvas[..., None], 3, axis=2)


def tell_balls(found: list[Found]) -> str:
    if not found:
        return "I see no ball."
    noun = "ball" if len(found) == 1 else "balls"
    places = [f"{one.side} side, {one.height} percent" for one in found]
    word = NUMBERS[min(len(found), 3)].capitalize()
    return f"{word} {noun}: {listed(places)}."


def tell_slice(found: list[Found], height: int) -> str:
    there = [one for one in found if one.height == height]
    return f"A ball is cut on the {there[0].side}." if there else "There is no ball in this slice."
