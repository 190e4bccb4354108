"""The region that changed, on disk: a black and white PNG that any viewer opens."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.errors import ImageError
from medebench.files import write_bytes
from medebench.grounding.maps import STORED_SIDE

Bools = NDArray[np.bool_]


def write_region(path: Path, region: Bools) -> None:
    """Store a region, reduced to the size in which changes are looked for."""
    height, width = region.shape
    scale = min(1.0, STORED_SIDE / max(height, width))
    stored = region.astype(np.uint8) * 255
    if scale < 1:
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        shrunk = cv2.resize(stored, size, interpolation=cv2.INTER_AREA)
        stored = np.where(np.asarray(shrunk) > 127, 255, 0).astype(np.uint8)
    depth = [cv2.IMWRITE_PNG_BILEVEL, 1]
    write_bytes(path, cv2.imencode(".png", stored, depth)[1].tobytes())


def read_region(path: Path, height: int, width: int) -> Bools:
    """A stored region on a grid of the given size."""
    try:
        stored = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_GRAYSCALE)
    except (OSError, cv2.error):
        stored = None
    if stored is None:
        raise ImageError(f"{path}: not a region; ground the run again")
    grown = cv2.resize(stored, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(grown) > 127
