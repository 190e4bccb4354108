"""How a hospital's pictures look: tone, sharpness, noise, collimation, a letter in the corner."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from medebench.cases.phantoms.chest.fields import Grid, Masks, blur
from medebench.cases.phantoms.chest.spec import Hospital, Look
from medebench.cases.phantoms.noise import Field


@dataclass(frozen=True)
class Manner:
    #: Steepness and middle of the tone curve, and the darkest and the brightest tone.
    slope: float
    middle: float
    tones: tuple[float, float]
    #: In pixels of a picture of 128.
    unsharp: float
    noise: float
    #: Width of the black border at the sides and above and below, in half widths.
    border: tuple[float, float]
    letter: str
    #: Where the letter stands, from the upper left corner, as shares of the size.
    place: tuple[float, float]
    boxed: bool


MANNERS: dict[Hospital, Manner] = {
    "A": Manner(7.5, 0.40, (0.00, 0.96), 0.30, 0.008, (0.0, 0.0), "L", (0.86, 0.14), False),
    "B": Manner(5.2, 0.37, (0.10, 0.84), 0.60, 0.014, (0.13, 0.06), "R", (0.13, 0.20), True),
    "C": Manner(8.5, 0.47, (0.00, 1.00), 0.40, 0.018, (0.0, 0.10), "AP", (0.80, 0.88), False),
}


class Exposure:
    """One way to take a picture; what does not depend on the body is made once for all bodies."""

    def __init__(self, grid: Grid, look: Look) -> None:
        self._look, self._manner = look, MANNERS[look.hospital]
        self._scale = grid.size / 128
        self._noise = blur(grid.grain("quantum"), 0.6 * grid.size / 128)
        wide, high = (edge * (1.0 + 0.35 * look.collimation) for edge in self._manner.border)
        self._open = (np.abs(grid.frame_x) < 1.0 - wide) & (np.abs(grid.frame_y) < 1.0 - high)
        self._letter = _letter(grid.size, self._manner)

    @property
    def masks(self) -> Masks:
        return {"marker": self._letter > 0, "border": ~self._open}

    def expose(self, density: Field) -> Field:
        """The picture, 0 to 1."""
        manner = self._manner
        shown = blur(density, manner.unsharp * self._scale)
        slope = manner.slope * (1.0 + 0.10 * self._look.contrast)
        dark, bright = manner.tones
        above = shown - manner.middle + 0.02 * self._look.brightness
        shown = dark + (bright - dark) * (1.0 / (1.0 + np.exp(-slope * above)))
        shown = shown + 1.6 * manner.noise * (self._noise * (0.6 + 0.8 * shown))
        shown = np.where(self._open, shown, 0.02)
        shown = np.maximum(shown * (1.0 - self._letter), 0.97 * self._letter)
        return np.clip(shown, 0.0, 1.0)


def _letter(size: int, manner: Manner) -> Field:
    finer = 4
    canvas = np.zeros((size * finer, size * finer), np.uint8)
    scale = size * finer / 128 * 0.36
    thick = max(1, round(scale * 2.2))
    (width, height), _ = cv2.getTextSize(manner.letter, cv2.FONT_HERSHEY_SIMPLEX, scale, thick)
    x = round(manner.place[0] * size * finer - width / 2)
    y = round(manner.place[1] * size * finer + height / 2)
    cv2.putText(
        canvas, manner.letter, (x, y), cv2.FONT_HERSHEY_SIMPLEX, scale, 255, thick, cv2.LINE_8
    )
    if manner.boxed:
        room = round(height * 0.45)
        corners = (x - room, y - height - room), (x + width + room, y + room)
        cv2.rectangle(canvas, *corners, 255, max(1, thick // 2))
    small = cv2.resize(canvas, (size, size), interpolation=cv2.INTER_AREA)
    return small.astype(np.float64) / 255.0
