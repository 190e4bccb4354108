"""A picture of many cases: before and after side by side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from scipy import ndimage

from .render import render, sample
from .spec import Phantom

_GUTTER = 6
_PAPER = 255
_CYAN = (0, 220, 235)


def outlined(case: Phantom) -> NDArray[np.uint8]:
    """The before image with the border of its region of interest in cyan."""
    inside = case.roi > 0
    border = inside & ~ndimage.binary_erosion(inside, border_value=1)
    out = case.previous.copy()
    out[border] = _CYAN
    return out


def contact_sheet(
    count: int = 26, seed: int = 0, cell: int = 256, *, columns: int = 4, outline: bool = False
) -> NDArray[np.uint8]:
    """Before/after pairs in a grid, ``columns`` pairs a row, with thin white gutters."""
    rows = -(-count // columns)
    wide = 2 * cell + 2
    sheet = np.full(
        (rows * (cell + _GUTTER) + _GUTTER, columns * (wide + _GUTTER) + _GUTTER, 3),
        _PAPER,
        dtype=np.uint8,
    )
    for index in range(count):
        case = render(sample(index, seed))
        top = _GUTTER + (index // columns) * (cell + _GUTTER)
        left = _GUTTER + (index % columns) * (wide + _GUTTER)
        for k, image in enumerate((outlined(case) if outline else case.previous, case.reference)):
            if cell != image.shape[0]:
                image = np.asarray(
                    Pillow.fromarray(image).resize((cell, cell), Pillow.Resampling.LANCZOS)
                )
            at = left + k * (cell + 2)
            sheet[top : top + cell, at : at + cell] = image
    return sheet
