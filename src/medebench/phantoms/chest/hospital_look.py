"""How a hospital's pictures look: tone, sharpness, noise, collimation, a letter in the corner."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from medebench.phantoms.chest.chest_spec import Hospital, Look
from medebench.phantoms.chest.fields import Grid, Masks, blur
from medebench.phantoms.drawings.noise import Field


@dataclass(frozen=True)
class Style:
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


STYLES: dict[Hospital, Style] = {
    "A": Style(7.5, 0.40, (0.00, 0.96), 0.30, 0.008, (0.0, 0.0), "L", (0.86, 0.14), False),
    "B": Style(5.2, 0.37, (0.10, 0.84), 0.60, 0.014, (0.13, 0.06), "R", (0.13, 0.20), True),
    "C": Style(8.5, 0.47, (0.00, 1.00), 0.40, 0.018, (0.0, 0.10), "AP", (0.80, 0.88), False),
}


class Exposure:
    """One way to take a picture; what does not depend on the body is made once for all bodies."""

    def __init__(self, grid: Grid, look: Look) -> None:
        self._look, self._style = look, STYLES[look.hospital]
        self._scale = grid.size / 128
        self._noise = blur(grid.grain("quantum"), 0.6 * grid.size / 128)
        wide, high = (edge * (1.0 + 0.35 * look.collimation) for edge in self._style.border)
        self._open = (np.abs(grid.frame_x) < 1.0 - wide) & (np.abs(grid.frame_y) < 1.0 - high)
        self._letter = _letter(grid.size, self._style)

    @property
    def masks(self) -> Masks:
        return {"marker": self._letter > 0, "border": ~self._open}

    def expose(self, density: Field) -> Field:
        """The picture, 0 to 1."""
        style = self._style
        shown = blur(density, style.unsharp * self._scale)
        slope = style.slope * (1.0 + 0.10 * self._look.contrast)
        dark, bright = style.tones
        above = shown - style.middle + 0.02 * self._look.brightness
        shown = dark + (bright - dark) * (1.0 / (1.0 + np.exp(-slope * above)))
        shown = shown + 1.6 * style.noise * (self._noise * (0.6 + 0.8 * shown))
        shown = np.where(self._open, shown, 0.02)
        shown = np.maximum(shown * (1.0 - self._letter), 0.97 * self._letter)
        return np.clip(shown, 0.0, 1.0)


def _letter(size: int, style: Style) -> Field:
    finer = 4
    canvas = np.zeros((size * finer, size * finer), np.uint8)
    scale = size * finer / 128 * 0.36
    thick = max(1, round(scale * 2.2))
    (width, height), _ = cv2.getTextSize(style.letter, cv2.FONT_HERSHEY_SIMPLEX, scale, thick)
    x = round(style.place[0] * size * finer - width / 2)
    y = round(style.place[1] * size * finer + height / 2)
    cv2.putText(
        canvas, style.letter, (x, y), cv2.FONT_HERSHEY_SIMPLEX, scale, 255, thick, cv2.LINE_8
    )
    if style.boxed:
        room = round(height * 0.45)
        corners = (x - room, y - height - room), (x + width + room, y + room)
        cv2.rectangle(canvas, *corners, 255, max(1, thick // 2))
    small = cv2.resize(canvas, (size, size), interpolation=cv2.INTER_AREA)
    return small.astype(np.float64) / 255.0
