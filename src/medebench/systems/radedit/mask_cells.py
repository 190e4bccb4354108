"""Masks of pixels on the grid of a model's cells."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

#: How much of a cell must be covered: anything, half of its area, all of it.
Rule = Literal["any", "half", "all"]

#: Rounding of shares that are whole numbers in truth.
_NEAR = 1e-9


def to_cells(
    mask: NDArray[np.bool_], cells: tuple[int, int], rule: Rule = "any"
) -> NDArray[np.bool_]:
    """True where a cell is covered by `mask` as far as `rule` asks, by exact area.

    The grids (height, width) need not divide each other. With "any", nothing of a mask gets lost,
    however thin a line is and however coarse the cells are. Finer grids work, too.

    >>> import numpy as np
    >>> line = np.zeros((16, 16), bool)
    >>> line[:, 7:9] = True
    >>> to_cells(line, (2, 2)).tolist()
    [[True, True], [True, True]]
    >>> to_cells(line, (2, 2), "half").tolist()
    [[False, False], [False, False]]
    """
    rows = _overlaps(mask.shape[0], cells[0])
    columns = _overlaps(mask.shape[1], cells[1])
    share = rows @ mask.astype(np.float64) @ columns.T
    least = {"any": _NEAR, "half": 0.5 - _NEAR, "all": 1 - _NEAR}[rule]
    return np.asarray(share >= least)


def _overlaps(pixels: int, cells: int) -> NDArray[np.float64]:
    """The share of each cell (row) that each pixel (column) covers, along one side."""
    # In units of 1 / (pixels * cells) all edges are whole numbers.
    cell, pixel = np.arange(cells)[:, None] * pixels, np.arange(pixels)[None, :] * cells
    ends = np.minimum(cell + pixels, pixel + cells)
    return np.asarray(np.clip(ends - np.maximum(cell, pixel), 0, None) / pixels)
