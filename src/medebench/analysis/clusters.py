"""Values that come in clusters: their rows put in order, their sums, and work in small pieces."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Numbers held at once; keeps a chunk near 10 MB however many rows come in.
_CELLS = 1_000_000


def finite_rows(values: ArrayLike, *labels: ArrayLike) -> tuple[Floats, list[Indices]]:
    """Finite values and their labels as numbers 0, 1, ... in label order.

    Rows come back sorted by labels and value, so that sums over them do not depend on the order
    in which they were given.
    """
    data = np.asarray(values, dtype=np.float64).ravel()
    arrays = [np.asarray(label).ravel() for label in labels]
    if any(len(array) != len(data) for array in arrays):
        raise ValueError(f"{len(data)} values, but {[len(a) for a in arrays]} labels")
    keep = np.isfinite(data)
    data = data[keep]
    codes = [np.unique(array[keep], return_inverse=True)[1] for array in arrays]
    order = np.lexsort([data, *reversed(codes)])
    return data[order], [code[order] for code in codes]


def sum_by(codes: Indices, data: Floats, size: int = 0) -> Floats:
    """Sum of `data` for each code 0, 1, ..., at least `size` of them.

    >>> sum_by(np.array([0, 0, 1]), np.array([1.0, 2.0, 4.0])).tolist()
    [3.0, 4.0]
    """
    return np.bincount(codes, weights=data, minlength=size).astype(np.float64, copy=False)


def chunks(rows: int, width: int) -> Iterator[slice]:
    """Slices of `rows` such that a chunk of rows of this width stays small."""
    step = max(1, _CELLS // max(1, width))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))
