"""From a ChestSpec to a picture, as a hospital takes it, and exact masks of everything in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.errors import InputError
from medebench.phantoms.chest.anatomy import Body, build
from medebench.phantoms.chest.chest_findings import COVERED, Effect, device_field, effect
from medebench.phantoms.chest.chest_spec import Anatomy, ChestSpec, Hospital, Look
from medebench.phantoms.chest.fields import Grid, Masks, blur
from medebench.phantoms.drawings.noise import Field

T = TypeVar("T")
#: Density added, and the share of each pixel that is covered.
DeviceLayer: TypeAlias = tuple[Field, Field]
#: Changes whenever the same spec gives another picture.
VERSION = 2
SIZE = 128
SMALLEST = 64
#: Of 255 grey levels: what changes less is lost when the picture is rounded.
VISIBLE = 1.0


@dataclass(frozen=True)
class ChestPhantom:
    """A picture and where everything in it is.

    `masks` has lungs, left lung, right lung, heart, ribs, body, marker, border, and each finding
    and device under its name: every pixel that it changes by a grey level or more before
    rounding. So outside of its mask the picture with it and `spec.without(name)` differ by one
    level at most. `cores` has findings and devices alone, as narrow as a person would outline them:
    of a pneumothorax the air, not the lung that it presses together.
    """

    spec: ChestSpec
    picture: NDArray[np.uint8]
    masks: Masks
    cores: Masks


def render(spec: ChestSpec, size: int = SIZE) -> ChestPhantom:
    """Draw it; a pure function of the spec and the size."""
    if size < SMALLEST:
        raise InputError(f"size={size}: a chest phantom needs at least {SMALLEST} pixels")
    grid = Grid(size, spec.seed, spec.anatomy.scale, spec.anatomy.shift)
    body = _body(size, spec.seed, spec.anatomy)
    effects: dict[str, Effect] = {one.name: effect(grid, body, one) for one in spec.findings}
    placed: dict[str, DeviceLayer] = {one.name: device_field(grid, one) for one in spec.devices}
    camera = Exposure(grid, spec.look)
    shown = camera.expose(_density(body, effects, placed))
    masks = _anatomy_masks(body, spec.anatomy) | camera.masks
    for name in (*effects, *placed):
        without = camera.expose(_density(body, _less(effects, name), _less(placed, name)))
        masks[name] = np.abs(shown - without) * 255.0 >= VISIBLE
    cores = {name: one.core for name, one in effects.items()}
    cores |= {name: cover > COVERED for name, (_, cover) in placed.items()}
    return ChestPhantom(spec, np.floor(shown * 255.0 + 0.5).astype(np.uint8), masks, cores)


@lru_cache(maxsize=2)
def _body(size: int, seed: int, anatomy: Anatomy) -> Body:
    """Most of the work, and the same for a patient with and without a finding."""
    return build(Grid(size, seed, anatomy.scale, anatomy.shift), anatomy)


def _density(body: Body, effects: dict[str, Effect], placed: dict[str, DeviceLayer]) -> Field:
    density, markings = body.density, np.ones_like(body.density)
    for made in effects.values():
        density, markings = density + made.added, markings * made.markings
    density = density + body.vessels * markings * body.both
    for added, _ in placed.values():
        density = density + added
    return density


def _anatomy_masks(body: Body, anatomy: Anatomy) -> Masks:
    left, right = (body.lungs[side].inside > 0.5 for side in ("left", "right"))
    return {
        "left lung": left,
        "right lung": right,
        "lungs": left | right,
        "heart": body.heart > 0.5,
        "ribs": (body.ribs > 0.3 * anatomy.rib_strength) & (body.torso > 0.5),
        "body": body.torso > 0.5,
    }


def _less(things: dict[str, T], name: str) -> dict[str, T]:
    return {key: value for key, value in things.items() if key != name}


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
    font = cv2.FONT_HERSHEY_SIMPLEX
    (width, height), _ = cv2.getTextSize(style.letter, font, scale, thick)
    x = round(style.place[0] * size * finer - width / 2)
    y = round(style.place[1] * size * finer + height / 2)
    cv2.putText(canvas, style.letter, (x, y), font, scale, 255, thick, cv2.LINE_8)
    if style.boxed:
        room = round(height * 0.45)
        corners = (x - room, y - height - room), (x + width + room, y + room)
        cv2.rectangle(canvas, *corners, 255, max(1, thick // 2))
    small = cv2.resize(canvas, (size, size), interpolation=cv2.INTER_AREA)
    return small.astype(np.float64) / 255.0
