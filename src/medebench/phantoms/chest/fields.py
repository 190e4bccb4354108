"""Smooth shapes on the grid of a picture, as shares from 0 (outside) to 1 (inside)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.phantoms.drawings.noise import Field, fractal, grain, stream
from medebench.phantoms.drawings.shapes import spline

Point = tuple[float, float]
#: Lines are drawn at this many times the picture's size, and brought down.
_FINER = 4


class Grid:
    """Coordinates of a picture: x and y from -1 to 1, y down; `shift`, `scale` place the body."""

    def __init__(self, size: int, seed: int, scale: float, shift: Point) -> None:
        self.size, self.seed, self.scale, self.shift = size, seed, scale, shift
        at = (np.arange(size) + 0.5) / size * 2.0 - 1.0
        #: Of the picture itself, whatever stands in it.
        self.frame_x, self.frame_y = np.meshgrid(at, at)
        self.x = (self.frame_x - shift[0]) / scale
        self.y = (self.frame_y - shift[1]) / scale

    @cached_property
    def pixel(self) -> float:
        return 2.0 / self.size / self.scale

    def soft(self, inside: Field, width: float = 0.0) -> Field:
        """From a function that is positive inside to shares; `width` as all lengths here."""
        return np.clip(0.5 + inside / max(2.0 * width, self.pixel), 0.0, 1.0)

    def gauss(self, x: float, y: float, rx: float, ry: float) -> Field:
        return np.exp(-0.5 * (((self.x - x) / rx) ** 2 + ((self.y - y) / ry) ** 2))

    def texture(self, name: str, cell: float, octaves: int = 3) -> Field:
        """Noise of deviation one whose coarsest grains are `cell` half widths of the picture."""
        window = (slice(0, self.size), slice(0, self.size))
        return fractal(
            stream(self.seed, name), self.size, window, cell * self.size / 2.0, octaves=octaves
        )

    def grain(self, name: str) -> Field:
        return grain(stream(self.seed, name), (self.size, self.size))

    def stroke(self, points: Sequence[Point], width: float) -> Field:
        """A smooth line of this width through the points."""
        return self.strokes([(points, width)])

    def strokes(self, lines: Sequence[tuple[Sequence[Point], float]]) -> Field:
        finer = self.size * _FINER
        canvas = np.zeros((finer, finer), np.uint8)
        for points, width in lines:
            curve = np.array(points) if len(points) < 3 else spline(points, steps=12)
            at = (curve * self.scale + np.array(self.shift) + 1.0) / 2.0 * finer
            thickness = max(1, round(width * self.scale / 2.0 * finer))
            where = np.rint(at).astype(np.int32).reshape(-1, 1, 2)
            cv2.polylines(canvas, [where], False, 255, thickness, cv2.LINE_8)
        small = cv2.resize(canvas, (self.size, self.size), interpolation=cv2.INTER_AREA)
        return small.astype(np.float64) / 255.0


def blur(field: Field, sigma: float) -> Field:
    """`sigma` in pixels."""
    if sigma <= 0.05:
        return field
    return np.asarray(cv2.GaussianBlur(field, (0, 0), sigma), np.float64)


Masks = dict[str, NDArray[np.bool_]]
