"""Memorisation: is an output nearer to what was learned from than to what was not?

The distance of two pictures is the root mean square difference of their regions of interest, each
cut out by its bounding box, as grey thumbnails of 32 x 32 from 0 to 1 without their mean. The whole
frame would not do: an edit keeps what its own input shows outside the region, so that no output
could look like a target that was learned by heart. Brightness does not count, since one tone for
all is learned from any pairs. Where a case has no region the whole frame is all there is.

An output is compared with as many targets that were learned from as were not: the nearest of more
would be nearer by chance alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.cases import Case, OpenCase, open_case
from medebench.images.picture import Picture

SIDE = 32

Thumbnail = NDArray[np.float32]


@dataclass(frozen=True)
class Nearest:
    """Distances of one output."""

    case: str
    to_training: float
    to_other: float


def thumbnail(case: OpenCase, picture: Picture) -> Thumbnail:
    """The region of interest of a picture on the case's grid, without its mean."""
    grey = picture.astype(np.float32).reshape(*picture.shape[:2], -1).mean(axis=2)
    rows, columns = _box(case)
    part = np.ascontiguousarray(grey[rows, columns] / case.data_range)
    small = np.asarray(cv2.resize(part, (SIDE, SIDE), interpolation=cv2.INTER_AREA), np.float32)
    centred: Thumbnail = small - small.mean()
    return centred


def _box(case: OpenCase) -> tuple[slice, slice]:
    if case.case.roi is None or not case.roi.any():
        return slice(None), slice(None)
    down, across = (np.flatnonzero(case.roi.any(axis=axis)) for axis in (1, 0))
    return slice(down[0], down[-1] + 1), slice(across[0], across[-1] + 1)


def targets_of(cases: Iterable[Case]) -> list[Thumbnail]:
    opened = (open_case(case) for case in cases)
    return [thumbnail(one, one.reference) for one in opened]


def nearest(
    outputs: Mapping[str, Thumbnail], learned: Sequence[Thumbnail], other: Sequence[Thumbnail]
) -> list[Nearest]:
    """For each output the nearest target of either kind, of equally many; none without both."""
    count = min(len(learned), len(other))
    if not count:
        return []
    return [
        Nearest(case, _least(one, learned[:count]), _least(one, other[:count]))
        for case, one in outputs.items()
    ]


def _least(one: Thumbnail, targets: Sequence[Thumbnail]) -> float:
    return min(float(np.sqrt(np.mean((one - target) ** 2))) for target in targets)
