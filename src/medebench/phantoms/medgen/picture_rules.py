"""Rules that read a MedGEN phantom from its pixels: which style, and what lies in which third.

They know how the drawings are made (where the halves are, what a lesion looks like) and nothing
about real images. A disc or a ring is found by correlation with a small template.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.images.picture import Picture, resize
from medebench.phantoms.medgen.scene import (
    HALVES,
    SIDES,
    THIRDS,
    Kind,
    Modality,
    Side,
    Third,
    slot,
)

Floats = NDArray[np.float32]
_SIZE = 256
#: Radii of the templates: lesions of early and late stages, too.
_RADII = (7.0, 8.5, 10.0, 12.0, 14.5)
#: A drawing is turned, moved and scaled by so many pixels at most.
_LOOSE = 9.0
#: What counts as a lesion: correlation with a template, times contrast up to this many greys.
LEAST = 0.77
#: Spread of greys after a blur is taken away, above which it is speckle.
_SPECKLE = 14.0
_CONTRAST: dict[Modality, float] = {
    "CT": 60.0,
    "MRI": 60.0,
    "Ultrasound": 60.0,
    "X-ray": 30.0,
    "Pathology": 80.0,
    "Clinical Photography": 24.0,
}


@dataclass(frozen=True)
class Spot:
    """A lesion, where it was found and how sure that is (0 to 1)."""

    side: Side
    third: Third
    kind: Kind
    x: float
    y: float
    radius: float
    score: float


@dataclass(frozen=True)
class Reading:
    """What the rules make of a picture; without style it is none of the drawings."""

    modality: Modality | None
    spots: tuple[Spot, ...] = ()

    @property
    def sides(self) -> tuple[Side, ...]:
        return tuple(side for side in SIDES if any(one.side == side for one in self.spots))


def read(picture: Picture) -> Reading:
    """Style and lesions of a picture; positions are in a frame of 256 pixels."""
    framed = framed_to_256(picture)
    modality = style_of(framed)
    if modality is None:
        return Reading(None)
    found = [one for one in every_spot(framed, modality) if one.score >= LEAST]
    if not found:
        return Reading(modality)
    # Lesions of a picture are of one kind: the surest says which.
    kind = max(found, key=lambda one: one.score).kind
    return Reading(modality, tuple(one for one in found if one.kind == kind))


def framed_to_256(picture: Picture) -> NDArray[np.uint8]:
    """Eight bits, and the size that the drawings have."""
    if picture.dtype != np.uint8:
        picture = (picture >> 8).astype(np.uint8)
    if picture.shape[:2] != (_SIZE, _SIZE):
        picture = resize(picture, _SIZE, _SIZE)
    return picture


def style_of(framed: NDArray[np.uint8]) -> Modality | None:
    """By colour, by speckle, and by where the frame is dark."""
    rgb = framed.astype(np.float32).mean(axis=(0, 1))
    if float(framed.std()) < 6.0:
        return None
    if float(np.ptp(rgb)) > 12.0:
        return "Pathology" if rgb[2] > rgb[1] else "Clinical Photography"
    grey = framed[..., 1].astype(np.float32)

    def level(rows: slice, columns: slice) -> float:
        return float(grey[rows, columns].mean())

    rough = grey - cv2.GaussianBlur(grey, (0, 0), 2.0)
    if float(rough[90:200, 40:216].std()) > _SPECKLE:
        return "Ultrasound"
    if level(slice(236, 256), slice(60, 196)) > 60.0 and level(slice(150, 256), slice(0, 24)) > 40:
        return "X-ray"
    high, wide = level(slice(14, 32), slice(112, 144)), level(slice(112, 150), slice(12, 30))
    return "MRI" if high > wide else "CT"


def every_spot(framed: NDArray[np.uint8], modality: Modality) -> list[Spot]:
    """The best candidate of each third of each half."""
    # Blood and stains are dark in green; grey pictures are the same in every channel.
    blurred = cv2.GaussianBlur(framed[..., 1].astype(np.float32), (0, 0), _blur(modality))
    plane = np.asarray(blurred, np.float32)
    maps = [(kind, radius, *_match(plane, modality, kind, radius)) for kind in _SIGNS[modality]
            for radius in _RADII]  # fmt: skip
    return [_best(maps, modality, side, third) for side in SIDES for third in THIRDS]


#: Which sign the template of a kind has in the green channel: rings of stain or blood are dark.
_SIGNS: dict[Modality, dict[Kind, float]] = {
    name: {
        "bright": 1.0,
        "dark": -1.0,
        "ring": -1.0 if name in ("Pathology", "Clinical Photography") else 1.0,
    }
    for name in HALVES
}


def _blur(modality: Modality) -> float:
    """Nuclei and speckle are smaller than lesions."""
    return 2.2 if modality in ("Pathology", "Ultrasound") else 1.2


def _match(plane: Floats, modality: Modality, kind: Kind, radius: float) -> tuple[Floats, Floats]:
    """Correlation with the template everywhere, and the contrast of what is there in greys."""
    template = _template(kind, radius, _blur(modality))
    size = template.shape[0]
    padded = np.pad(plane, size // 2, mode="reflect")
    near = cv2.matchTemplate(padded, template, cv2.TM_CCOEFF_NORMED)
    near = np.nan_to_num(near, nan=0.0, posinf=0.0, neginf=0.0) * _SIGNS[modality][kind]
    mean = cv2.blur(padded, (size, size))
    spread = np.sqrt(np.clip(cv2.blur(padded**2, (size, size)) - mean**2, 0.0, None))
    half = size // 2
    spread = spread[half : half + plane.shape[0], half : half + plane.shape[1]]
    return near, near * spread / float(template.std())


@cache
def _template(kind: Kind, radius: float, blur: float) -> Floats:
    reach = int(np.ceil(radius * 1.6))
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1].astype(np.float32)
    far = np.hypot(x, y)
    disc = np.clip(radius + 0.5 - far, 0.0, 1.0)
    if kind == "ring":
        disc = disc - np.clip(0.52 * radius + 0.5 - far, 0.0, 1.0)
    return np.asarray(cv2.GaussianBlur(disc, (0, 0), blur), np.float32)


def _best(
    maps: list[tuple[Kind, float, Floats, Floats]], modality: Modality, side: Side, third: Third
) -> Spot:
    _, _, wide, high = HALVES[modality]
    x, y = slot(modality, side, third)
    across, down = 0.2 * wide + _LOOSE, 0.07 * high + _LOOSE
    left, top = max(0, round(x - across)), max(0, round(y - down))
    window = slice(top, round(y + down) + 1), slice(left, round(x + across) + 1)
    found: Spot | None = None
    for kind, radius, near, contrast in maps:
        # White on pink is little of the green channel.
        full = _CONTRAST[modality] * (0.5 if (modality, kind) == ("Pathology", "bright") else 1.0)
        score = near[window] * np.clip(contrast[window] / full, 0.0, 1.0)
        score = np.where(near[window] > 0, score, 0.0)
        row, column = np.unravel_index(int(score.argmax()), score.shape)
        value = float(score[row, column])
        if found is None or value > found.score:
            place = float(left + column), float(top + row)
            found = Spot(side, third, kind, *place, radius, value)
    assert found is not None
    return found
