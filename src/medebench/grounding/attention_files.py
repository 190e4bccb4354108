"""Attention maps (grey, 16 bits) and changed regions (black and white) on disk, as PNG files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.errors import ImageError
from medebench.files import write_bytes

#: Longest side of a stored map; attention is much coarser than that.
STORED_SIDE = 256


def _shrunk(values: NDArray[Any]) -> NDArray[Any]:
    """No side longer than `STORED_SIDE`."""
    height, width = values.shape
    scale = min(1.0, STORED_SIDE / max(height, width))
    if scale == 1:
        return values
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.asarray(cv2.resize(values, size, interpolation=cv2.INTER_AREA), values.dtype)


def _decoded(path: Path, mode: int) -> NDArray[Any] | None:
    """The pixels of an image file; None where it is missing or is not one."""
    try:
        return cv2.imdecode(np.fromfile(path, np.uint8), mode)
    except (OSError, cv2.error):
        return None


def write_map(path: Path, values: NDArray[np.float32]) -> None:
    """Store a map of values in 0..1, reduced to `STORED_SIDE`."""
    levels = np.round(np.clip(_shrunk(values), 0, 1) * 65535).astype(np.uint16)
    write_bytes(path, cv2.imencode(".png", levels)[1].tobytes())


def read_map(path: Path, height: int, width: int) -> NDArray[np.float32]:
    """A stored map on a grid of the given size."""
    levels = _decoded(path, cv2.IMREAD_UNCHANGED)
    if levels is None or levels.ndim != 2 or levels.dtype != np.uint16:
        raise ImageError(f"{path}: not an attention map; edit the case again")
    grown = cv2.resize(
        levels.astype(np.float32) / 65535, (width, height), interpolation=cv2.INTER_LINEAR
    )
    return np.asarray(grown, np.float32)


def write_region(path: Path, region: NDArray[np.bool_]) -> None:
    """Store a region, reduced to the size in which changes are looked for."""
    stored = np.where(_shrunk(region.astype(np.uint8) * 255) > 127, 255, 0).astype(np.uint8)
    depth = [cv2.IMWRITE_PNG_BILEVEL, 1]
    write_bytes(path, cv2.imencode(".png", stored, depth)[1].tobytes())


def read_region(path: Path, height: int, width: int) -> NDArray[np.bool_]:
    """A stored region on a grid of the given size."""
    stored = _decoded(path, cv2.IMREAD_GRAYSCALE)
    if stored is None:
        raise ImageError(f"{path}: not a region; ground the run again")
    grown = cv2.resize(stored, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(grown) > 127
