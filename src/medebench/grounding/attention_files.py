"""Attention maps on disk: grey PNG files of 16 bits that any viewer opens."""

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


def shrunk(values: NDArray[Any]) -> NDArray[Any]:
    """No side longer than `STORED_SIDE`."""
    height, width = values.shape
    scale = min(1.0, STORED_SIDE / max(height, width))
    if scale == 1:
        return values
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.asarray(cv2.resize(values, size, interpolation=cv2.INTER_AREA), values.dtype)


def decoded(path: Path, mode: int) -> NDArray[Any] | None:
    """The pixels of an image file; None where it is missing or is not one."""
    try:
        return cv2.imdecode(np.fromfile(path, np.uint8), mode)
    except (OSError, cv2.error):
        return None


def write_map(path: Path, values: NDArray[np.float32]) -> None:
    """Store a map of values in 0..1, reduced to `STORED_SIDE`."""
    levels = np.round(np.clip(shrunk(values), 0, 1) * 65535).astype(np.uint16)
    write_bytes(path, cv2.imencode(".png", levels)[1].tobytes())


def read_map(path: Path, height: int, width: int) -> NDArray[np.float32]:
    """A stored map on a grid of the given size."""
    levels = decoded(path, cv2.IMREAD_UNCHANGED)
    if levels is None or levels.ndim != 2 or levels.dtype != np.uint16:
        raise ImageError(f"{path}: not an attention map; edit the case again")
    grown = cv2.resize(
        levels.astype(np.float32) / 65535, (width, height), interpolation=cv2.INTER_LINEAR
    )
    return np.asarray(grown, np.float32)
