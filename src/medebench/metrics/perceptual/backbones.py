"""The two networks of LPIPS as tables: their layers, grids and sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from operator import mul


@dataclass(frozen=True)
class Conv:
    """A convolution with bias, followed by ReLU."""

    given: int
    made: int
    kernel: int = 3
    stride: int = 1
    padding: int = 1

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return (self.made, self.given, self.kernel, self.kernel)


@dataclass(frozen=True)
class Pool:
    """The largest of a window; what does not fill one at the right and below is left out."""

    kernel: int
    stride: int = 2
    padding: int = 0


@dataclass(frozen=True)
class Backbone:
    name: str
    #: What is compared is what each stage ends with.
    stages: tuple[tuple[Conv | Pool, ...], ...]

    @cached_property
    def convolutions(self) -> tuple[Conv, ...]:
        return tuple(one for stage in self for one in stage if isinstance(one, Conv))

    @cached_property
    def channels(self) -> tuple[int, ...]:
        return tuple(next(c.made for c in stage[::-1] if isinstance(c, Conv)) for stage in self)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """Pixels from one cell to the next, after each stage."""
        return tuple(accumulate((prod(one.stride for one in stage) for stage in self), mul))

    @cached_property
    def smallest(self) -> int:
        """The shortest side of a picture of which something is left after the last stage."""
        return next(side for side in range(1, 1000) if min(self.grid(side)) > 0)

    @cached_property
    def bytes_a_pixel(self) -> int:
        """Of the largest activation, in 32 bits."""
        sizes = zip(self.channels, self.strides, strict=True)
        return max(4 * channels // stride**2 for channels, stride in sizes)

    def grid(self, side: int) -> tuple[int, ...]:
        """How many cells a side of so many pixels has after each stage."""
        found = []
        for stage in self:
            for layer in stage:
                side = max(0, (side + 2 * layer.padding - layer.kernel) // layer.stride + 1)
            found.append(side)
        return tuple(found)

    def __iter__(self) -> Iterator[tuple[Conv | Pool, ...]]:
        return iter(self.stages)


ALEX = Backbone(
    "alex",
    (
        (Conv(3, 64, kernel=11, stride=4, padding=2),),
        (Pool(3), Conv(64, 192, kernel=5, padding=2)),
        (Pool(3), Conv(192, 384)),
        (Conv(384, 256),),
        (Conv(256, 256),),
    ),
)
VGG = Backbone(
    "vgg",
    (
        (Conv(3, 64), Conv(64, 64)),
        (Pool(2), Conv(64, 128), Conv(128, 128)),
        (Pool(2), Conv(128, 256), Conv(256, 256), Conv(256, 256)),
        (Pool(2), Conv(256, 512), Conv(512, 512), Conv(512, 512)),
        (Pool(2), Conv(512, 512), Conv(512, 512), Conv(512, 512)),
    ),
)
BACKBONES = {one.name: one for one in (ALEX, VGG)}

#: Sides of a piece that are multiples of this begin and end with a cell of every stage.
STEP = 16
#: Pixels around a piece that the cells inside of it look at, at most, as a multiple of STEP.
HALO = 96
