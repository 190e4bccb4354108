"""Detail inside the ROI: how much there is, how fine it is, and whether it is the reference's.

All from masked pixels alone. `docs/grounding.md` ("Inside the ROI") has the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from medebench.cases.open_case import OpenCase, once
from medebench.images.picture import Picture
from medebench.metrics.colour import Doubles, MaskedView, soft_within
from medebench.metrics.metric import Undefined

#: Detail is looked for in pictures at most this wide, in so many octaves.
DETAIL_WIDTH = 512
OCTAVES = 3
#: Added to the mean detail of an octave: rounding to 8 bits decides nothing in flat pictures.
FLOOR = 0.1
#: Structure is what a blur by this share of the width takes away...
STRUCTURE = 3 / 256
#: ...and a reference has some if it varies by this much there (root mean square of lightness).
MIN_STRUCTURE = 0.5
#: A structure may lie this share of the width off, as in the map of changes...
SLIDE = 2 / 256
#: ...if so much of the ROI still lies on itself.
MIN_OVERLAP = 0.5


@dataclass(frozen=True)
class Texture:
    """Of the ROI's content in one picture."""

    #: Mean absolute detail of the lightness, octave by octave, the finest first.
    octaves: Doubles
    #: Lightness less its blur, over the cells of the view.
    structure: Doubles

    @property
    def grain(self) -> float:
        """Log of the finest detail over the next coarser."""
        return float(np.log(self.octaves[0] / self.octaves[1]))


@dataclass(frozen=True)
class Inside:
    """What serves all outputs of a case: its ROI, with what may be there."""

    near: MaskedView
    far: MaskedView
    data_range: int
    previous: Texture
    reference: Texture

    def look(self, picture: Picture) -> Texture:
        return _look(self.near, self.far, picture, self.data_range)

    def detail(self, made: Texture) -> float:
        """Detail over the nearer end of what input and reference span; mean over octaves of logs.

        1: as much as in the one, the other or between.
        """
        first, second = self.previous.octaves, self.reference.octaves
        least, most = np.minimum(first, second), np.maximum(first, second)
        beyond = np.log(made.octaves / np.clip(made.octaves, least, most))
        return float(np.exp(beyond.mean()))

    def grain(self, made: Texture) -> float:
        """How much finer (above 1) or coarser the detail is than in input and reference."""
        least, most = sorted((self.previous.grain, self.reference.grain))
        return float(np.exp(made.grain - np.clip(made.grain, least, most)))

    def likeness(self, made: Texture) -> float:
        """Correlation of the structure with the reference's, at the place nearby where it fits."""
        cover, wanted = self.far.cover, self.reference.structure
        if float((cover * wanted**2).sum()) < MIN_STRUCTURE**2 * cover.sum():
            raise Undefined("the reference has no structure inside the ROI")
        reach = max(1, round(SLIDE * self.far.width))
        steps = range(-reach, reach + 1)
        found = (
            self._correlation(made.structure, down, right) for down in steps for right in steps
        )
        return max(found)

    def _correlation(self, structure: Doubles, down: int, right: int) -> float:
        """Of the reference's with a structure that lies so far off; -1 where too little is left."""
        here, there = _overlap(self.far.cover.shape, down, right)
        both = self.far.cover[here] * self.far.cover[there]
        if both.sum() < MIN_OVERLAP * (self.far.cover**2).sum():
            return -1.0
        first, second = self.reference.structure[here], structure[there]
        size = float((both * first**2).sum()) * float((both * second**2).sum())
        common = float((both * first * second).sum())
        return min(1.0, max(-1.0, common / np.sqrt(size))) if size > 0 else 0.0


def inside_of(case: OpenCase) -> Inside:
    def make() -> Inside:
        if not case.roi.any():
            raise Undefined("the ROI is empty")
        near, far = MaskedView(case.roi, DETAIL_WIDTH), MaskedView(case.roi)
        pictures = case.previous, case.reference
        looks = (_look(near, far, one, case.data_range) for one in pictures)
        return Inside(near, far, case.data_range, *looks)

    return once(case.memo, "inside", make)


def texture_of(case: OpenCase, output: Picture) -> tuple[Inside, Texture]:
    """The ROI of a case and what an output has there; the last output's is kept."""
    inside = inside_of(case)
    kept = case.memo.get("texture")
    if kept is None or kept[0] is not output:
        kept = case.memo["texture"] = output, inside.look(output)
    return inside, kept[1]


def _overlap(
    shape: tuple[int, ...], down: int, right: int
) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Where a grid lies on itself, moved by so many cells, in each of the two."""
    steps = list(zip(shape, (down, right), strict=True))
    here = tuple(slice(max(0, -step), max(0, length - max(0, step))) for length, step in steps)
    there = tuple(slice(max(0, step), max(0, length + min(0, step))) for length, step in steps)
    return here, there


def _look(near: MaskedView, far: MaskedView, picture: Picture, data_range: int) -> Texture:
    light, cover = near.lab(picture, data_range)[..., 0], near.cover
    octaves = []
    for _ in range(OCTAVES):
        fine = np.abs(light - soft_within(light, cover, 1.0))
        octaves.append(float((cover * fine).sum() / cover.sum()) + FLOOR)
        light, cover = _halved(light, cover)
    distant = far.lab(picture, data_range)[..., 0]
    structure = distant - soft_within(distant, far.cover, STRUCTURE * far.width)
    return Texture(np.asarray(octaves), structure)


def _halved(light: Doubles, cover: Doubles) -> tuple[Doubles, Doubles]:
    """Every two by two cells as one; a row or column left over is a cell without its other half."""
    odd = light.shape[0] % 2, light.shape[1] % 2
    edges = (0, odd[0], 0, odd[1], cv2.BORDER_CONSTANT)
    parts = [cv2.copyMakeBorder(one, *edges, value=0) for one in (light * cover, cover)]
    total, share = (
        one.reshape(one.shape[0] // 2, 2, one.shape[1] // 2, 2).mean(axis=(1, 3)) for one in parts
    )
    return np.where(share > 0, total / np.where(share > 0, share, 1), 0), share
