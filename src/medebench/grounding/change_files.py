"""The region that changed, on disk: a black and white PNG that any viewer opens."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.errors import ImageError
from medebench.files import write_bytes
from medebench.grounding.attention_files import decoded, shrunk

Bools = NDArray[np.bool_]


def write_region(path: Path, region: Bools) -> None:
    """Store a region, reduced to the size in which changes are looked for."""
    stored = np.where(shrunk(region.astype(np.uint8) * 255) > 127, 255, 0).astype(np.uint8)
    depth = [cv2.IMWRITE_PNG_BILEVEL, 1]
    write_bytes(path, cv2.imencode(".png", stored, depth)[1].tobytes())


def read_region(path: Path, height: int, width: int) -> Bools:
    """A stored region on a grid of the given size."""
    stored = decoded(path, cv2.IMREAD_GRAYSCALE)
    if stored is None:
        raise ImageError(f"{path}: not a region; ground the run again")
    grown = cv2.resize(stored, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(grown) > 127
