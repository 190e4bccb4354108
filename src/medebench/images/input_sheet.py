"""Several images on one numbered sheet, for systems and judges that take a single image."""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.errors import InputError
from medebench.images.outline import on_screen
from medebench.images.picture import Picture

#: Pixels of a cell, of the bar with its number, and of the cells of one row together.
CELL, BAR, WIDEST = 768, 44, 2304
#: Columns of a sheet of few images; more images get more columns of smaller cells.
COLUMNS = 3
MOST_IMAGES = 64
_WHITE, _DARK = 255, 32


def input_sheet(images: Sequence[Picture]) -> Picture:
    """The images in reading order, each below a bar that says "Image 1", "Image 2", ...

    An image keeps its shape and is never enlarged. The sheet depends on the pixels alone: the same
    images give the same bytes. A single image is returned as it is.

    >>> input_sheet([np.zeros((20, 30, 3), np.uint8)] * 3).shape
    (288, 200, 3)
    """
    if not 1 <= len(images) <= MOST_IMAGES:
        raise InputError(f"a sheet shows 1 to {MOST_IMAGES} images, not {len(images)}")
    if len(images) == 1:
        return images[0]
    columns, side = _layout(images)
    cells = [_cell(image, number, side) for number, image in enumerate(images, start=1)]
    cells += [np.full_like(cells[0], _WHITE)] * (-len(cells) % columns)
    rows = [np.hstack(cells[start : start + columns]) for start in range(0, len(cells), columns)]
    return np.ascontiguousarray(np.vstack(rows))


def _layout(images: Sequence[Picture]) -> tuple[int, int]:
    """How many columns, and how wide a cell is: no wider than the largest image needs."""
    needed = math.ceil(math.sqrt(len(images)))
    columns = needed if len(images) > COLUMNS**2 else min(COLUMNS, needed)
    largest = max(max(image.shape[:2]) for image in images)
    return columns, min(CELL, WIDEST // columns, max(largest, 100))


def _cell(image: Picture, number: int, side: int) -> NDArray[np.uint8]:
    cell = np.full((BAR + side, side, 3), _WHITE, np.uint8)
    bar = np.zeros((BAR, side), np.uint8)
    font, scale = cv2.FONT_HERSHEY_SIMPLEX, min(1.0, side / 160)
    cv2.putText(bar, f"Image {number}", (8, 31), font, scale, _WHITE, 2, cv2.LINE_8)
    # The smoothed edges of letters are not the same on every machine.
    cell[:BAR] = np.where(bar > 127, np.uint8(_WHITE), np.uint8(_DARK))[..., None]
    shown = _fitted(on_screen(image), side)
    top, left = BAR + (side - shown.shape[0]) // 2, (side - shown.shape[1]) // 2
    cell[top : top + shown.shape[0], left : left + shown.shape[1]] = shown
    return cell


def _fitted(picture: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    height, width = picture.shape[:2]
    scale = side / max(height, width)
    if scale >= 1:
        return picture
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
