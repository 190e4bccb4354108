"""What people's ranks look like to the statistics: annotators, cases and models in one array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from medebench.analysis.clusters import Floats


@dataclass(frozen=True)
class Ranked:
    """The ranks of one dimension.

    `ranks[a, c, m]` is the midrank that annotator a gave model m in case c: 1 is best, ties share
    the mean of their places, NaN is what was not ranked. `sources[c]` is the picture that case c
    was made from: cases that share it are not independent.
    """

    annotators: tuple[str, ...]
    cases: tuple[str, ...]
    models: tuple[str, ...]
    sources: tuple[str, ...]
    ranks: Floats

    def __post_init__(self) -> None:
        shape = (len(self.annotators), len(self.cases), len(self.models))
        if self.ranks.shape != shape or len(self.sources) != len(self.cases):
            raise ValueError(f"ranks of shape {self.ranks.shape}, expected {shape}")

    def of(self, models: Sequence[str]) -> Ranked:
        """Only these models, ranked anew among themselves."""
        columns = [self.models.index(name) for name in models]
        ranks = midranks(self.ranks[:, :, columns])
        return Ranked(self.annotators, self.cases, tuple(models), self.sources, ranks)


def midranks(values: ArrayLike) -> Floats:
    """Places 1, 2, ... of the values along the last axis, smallest first; ties share their mean.

    NaN stays NaN and takes no place.

    >>> midranks([[10.0, 30.0, 30.0, np.nan]]).tolist()
    [[1.0, 2.5, 2.5, nan]]
    """
    x = np.asarray(values, np.float64)
    below: NDArray[np.bool_] = x[..., None, :] < x[..., :, None]
    same: NDArray[np.bool_] = x[..., None, :] == x[..., :, None]
    ranks = below.sum(axis=-1) + (same.sum(axis=-1) + 1) / 2
    return np.where(np.isnan(x), np.nan, ranks)
