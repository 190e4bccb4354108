"""Bringing a picture to a size the model takes, and its answer back: the one place for both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.images.picture import Picture
from medebench.systems.diffusion.diffusion_settings import Framing
from medebench.systems.request import Refused

#: A picture so long that one side would fall below this many cells is not an image to edit.
MIN_CELLS = 2


@dataclass(frozen=True)
class Frame:
    """Sizes as (width, height): the picture's own, and the one the model works on."""

    own: tuple[int, int]
    canvas: tuple[int, int]
    framing: Framing
    #: Bits of the picture that the model, which works with 8, does not see.
    depth: int = 8

    def to_model(self, picture: Picture, data_range: int) -> Image.Image:
        image = Image.fromarray(np.ascontiguousarray(eight_bits(picture, data_range)))
        return image if image.size == self.canvas else image.resize(self.canvas, _LANCZOS)

    def from_model(self, values: NDArray[Any]) -> Picture:
        """The model's answer, 0..1, on the picture's own grid."""
        if values.ndim != 3 or values.shape[2] != 3:
            raise Refused(f"the model returned an array of shape {values.shape}")
        if not np.isfinite(values).all():
            raise Refused("the model returned NaN; try dtype=float32")
        pixels = np.round(np.clip(values, 0, 1) * 255).astype(np.uint8)
        image = Image.fromarray(pixels)
        return np.asarray(image if image.size == self.own else image.resize(self.own, _LANCZOS))

    def map_back(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray(cv2.resize(values, self.own, interpolation=cv2.INTER_LINEAR), np.float32)

    def facts(self, values: NDArray[Any]) -> dict[str, Any]:
        """What the ledger keeps of the way there and back."""
        resized = "no" if self.own == self.canvas else "lanczos"
        facts: dict[str, Any] = {"canvas": list(self.canvas), "resized": resized}
        returned = (values.shape[1], values.shape[0])
        if returned != self.canvas:
            facts["returned"] = list(returned)
        if resized != "no":
            facts["framing"] = self.framing
        if self.depth != 8:
            facts["depth"] = f"8 of {self.depth} bits"
        return facts


_LANCZOS = Image.Resampling.LANCZOS


def eight_bits(picture: Picture, data_range: int) -> Picture:
    if picture.dtype == np.uint8:
        return picture
    return np.round(picture * (255.0 / data_range)).astype(np.uint8)


def frame_for(
    picture: Picture, size: int, multiple: int, framing: Framing, largest: int | None = None
) -> Frame:
    """The canvas for a picture: about size x size pixels in all, sides multiples of `multiple`.

    Where size x size is no more than `largest` pixels, the canvas is not either.
    """
    height, width = picture.shape[:2]
    side = max(MIN_CELLS, round(size / multiple)) * multiple
    canvas = (side, side)
    if framing == "aspect" and height != width:
        scale = size / (width * height) ** 0.5
        wanted = [one * scale / multiple for one in (width, height)]
        sides = [round(one) for one in wanted]
        if largest is not None and size**2 <= largest < sides[0] * sides[1] * multiple**2:
            sides = [int(one) for one in wanted]
        if min(sides) < MIN_CELLS:
            raise Refused(f"{width} x {height} is too narrow for this model; crop the picture")
        canvas = (sides[0] * multiple, sides[1] * multiple)
    return Frame((width, height), canvas, framing, picture.dtype.itemsize * 8)
