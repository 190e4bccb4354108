"""How much each cell counts inside an ROI, and which pixels that requires."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medebench.metrics.perceptual.backbones import HALO, STEP, Backbone

#: From this share of the picture on, all of it is looked at: the reference can then be kept.
_ALL = 0.8


@dataclass(frozen=True)
class Span:
    """A piece of one side of a picture: the pixels first to last - 1, of `side`.

    `first` and `last` are multiples of STEP, or the end of the picture.
    """

    first: int
    last: int
    side: int

    @property
    def shown(self) -> slice:
        """The pixels that the network must see, for the cells of the piece to be right."""
        return slice(max(0, self.first - HALO), min(self.side, self.last + HALO))

    def cells(self, stride: int, within: int = 0) -> slice:
        """The cells of the piece, counted from the pixel `within`."""
        last = None if self.last == self.side else (self.last - within) // stride
        return slice((self.first - within) // stride, last)


@dataclass(frozen=True)
class Box:
    rows: Span
    columns: Span

    @property
    def shown(self) -> tuple[slice, slice]:
        return self.rows.shown, self.columns.shown

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of what is shown."""
        rows, columns = self.shown
        return int(rows.stop - rows.start), int(columns.stop - columns.start)

    @property
    def pixels(self) -> int:
        height, width = self.size
        return height * width

    @property
    def whole(self) -> bool:
        return self == whole_box(self.rows.side, self.columns.side)

    def of_picture(self, stride: int) -> tuple[slice, slice]:
        """Its cells in the grid of the whole picture."""
        return self.rows.cells(stride), self.columns.cells(stride)

    def of_shown(self, stride: int) -> tuple[slice, slice]:
        """Its cells in the grid of what is shown."""
        rows, columns = self.shown
        return self.rows.cells(stride, rows.start), self.columns.cells(stride, columns.start)


def whole_box(height: int, width: int) -> Box:
    return Box(Span(0, height, height), Span(0, width, width))


def cell_shares(roi: NDArray[np.bool_], backbone: Backbone) -> list[NDArray[np.float32]]:
    """The share of each cell's area that lies inside the ROI, one grid a stage."""
    height, width = roi.shape
    inside = roi.astype(np.float64)
    return [
        (overlaps(height, rows) @ inside @ overlaps(width, columns).T).astype(np.float32)
        for rows, columns in zip(backbone.grid(height), backbone.grid(width), strict=True)
    ]


def overlaps(pixels: int, cells: int) -> NDArray[np.float64]:
    """The share of each cell (row) that each pixel (column) has, cells dividing the side evenly."""
    edges = np.linspace(0, pixels, cells + 1)[:, None]
    low, high = edges[:-1], edges[1:]
    pixel = np.arange(pixels)[None]
    shared = np.minimum(high, pixel + 1) - np.maximum(low, pixel)
    return np.asarray(shared.clip(0) / (high - low))


def box_of(
    shares: Sequence[NDArray[np.float32]], backbone: Backbone, shape: tuple[int, int]
) -> Box:
    """The smallest box that holds every cell that counts."""
    height, width = shape
    rows = _span([np.asarray(one.any(axis=1)) for one in shares], backbone, height)
    columns = _span([np.asarray(one.any(axis=0)) for one in shares], backbone, width)
    box = Box(rows, columns)
    return whole_box(height, width) if box.pixels >= _ALL * height * width else box


def _span(counts: Sequence[NDArray[np.bool_]], backbone: Backbone, side: int) -> Span:
    ends = [np.flatnonzero(one)[[0, -1]] for one in counts]
    strides = backbone.strides
    first = min(int(end[0]) * stride for end, stride in zip(ends, strides, strict=True))
    last = max((int(end[1]) + 1) * stride for end, stride in zip(ends, strides, strict=True))
    return Span(first // STEP * STEP, min(side, -(-last // STEP) * STEP), side)


def tiles(box: Box, pixels: int) -> Iterator[Box]:
    """Pieces of a box of which no more than `pixels` must be shown at once."""
    if box.pixels <= pixels:
        yield box
        return
    side = max(STEP, (int(pixels**0.5) - 2 * HALO) // STEP * STEP)
    for rows in _cut(box.rows, side):
        for columns in _cut(box.columns, side):
            yield Box(rows, columns)


def _cut(span: Span, side: int) -> list[Span]:
    count = max(1, -(-(span.last - span.first) // side))
    length = -(-(span.last - span.first) // count // STEP) * STEP
    starts = range(span.first, span.last, length)
    return [Span(start, min(span.last, start + length), span.side) for start in starts]
