"""A pair to be learned from, on the canvas of the model that learns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class TrainPair:
    """Images (height, width, 3) of 8 bits on one canvas; the ROI is a mask of the same size."""

    id: str
    previous: Pixels
    target: Pixels
    prompt: str
    roi: NDArray[np.bool_] | None = None
