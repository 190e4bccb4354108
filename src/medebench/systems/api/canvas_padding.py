"""A picture on a canvas of another aspect ratio, and its share of the answer back out again.

Where a model draws in a few shapes only, a picture of another shape would come back cropped or
stretched. Its edges are drawn out to the nearest of these shapes instead, and cut off the answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from medebench.images.picture import Picture


@dataclass(frozen=True)
class Padding:
    """Pixels added on each side, in the picture's own resolution."""

    left: int = 0
    top: int = 0
    right: int = 0
    bottom: int = 0

    def __bool__(self) -> bool:
        return any(self.sides)

    @property
    def sides(self) -> list[int]:
        return [self.left, self.top, self.right, self.bottom]

    def add(self, picture: Picture) -> Picture:
        """Every border pixel repeated outwards: nothing is drawn that could be edited."""
        if not self:
            return picture
        around = ((self.top, self.bottom), (self.left, self.right), (0, 0))
        return np.pad(picture, around, mode="edge")

    def cut(self, picture: Picture) -> Picture:
        """The reverse of `add`, for a picture of the padded size."""
        height, width = picture.shape[:2]
        return picture[self.top : height - self.bottom, self.left : width - self.right]

    def cut_share(self, picture: Picture, width: int, height: int) -> Picture:
        """The same of a padded picture in any resolution; what was padded has `width`, `height`."""
        across = picture.shape[1] / (self.left + width + self.right)
        down = picture.shape[0] / (self.top + height + self.bottom)
        left, top = round(self.left * across), round(self.top * down)
        return picture[top : top + round(height * down), left : left + round(width * across)]


def nearest_size(width: int, height: int, sizes: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The one of `sizes` (width, height) whose shape needs the least padding."""
    return min(sizes, key=lambda size: abs(math.log(width * size[1] / (height * size[0]))))


def padding_for(width: int, height: int, size: tuple[int, int]) -> Padding:
    """What brings a picture of `width` x `height` to the shape of `size`, to half a pixel."""
    wanted_width = max(width, round(height * size[0] / size[1]))
    wanted_height = max(height, round(width * size[1] / size[0]))
    across, down = wanted_width - width, wanted_height - height
    return Padding(across // 2, down // 2, across - across // 2, down - down // 2)
