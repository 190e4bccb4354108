"""How a score goes with each doubling of the pairs, as a weighted sum of the scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from medebench.analysis.clusters import Floats


def slope_weights(samples: Sequence[int]) -> Floats:
    """Weights whose sum over the scores is the slope of a straight line over log2 of the pairs.

    >>> slope_weights([4, 8, 16]).tolist()
    [-0.5, 0.0, 0.5]
    """
    doublings = np.log2(np.asarray(samples, dtype=np.float64))
    off = doublings - doublings.mean()
    return np.asarray(off / (off**2).sum())
