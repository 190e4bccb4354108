"""Masks of pixels on the grid of a model's cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from medebench.metrics.perceptual.lpips_regions import overlaps

#: Rounding of shares that are 0 in truth.
_NEAR = 1e-9


def to_cells(mask: NDArray[np.bool_], cells: tuple[int, int]) -> NDArray[np.bool_]:
    """True where `mask` covers anything of a cell.

    The grids (height, width) need not divide each other. Nothing of a mask gets lost, however thin
    a line is and however coarse the cells are. Finer grids work, too.

    >>> import numpy as np
    >>> line = np.zeros((16, 16), bool)
    >>> line[:, 7:9] = True
    >>> to_cells(line, (2, 2)).tolist()
    [[True, True], [True, True]]
    """
    rows, columns = overlaps(mask.shape[0], cells[0]), overlaps(mask.shape[1], cells[1])
    return np.asarray(rows @ mask.astype(np.float64) @ columns.T >= _NEAR)
