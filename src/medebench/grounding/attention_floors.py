"""Floors of attention: what a map reaches without ever seeing the image.

Subjects lie in the middle, and many ROIs are large, so chance (`overlap.chance`) is easily beaten
without seeing anything. A map that looks must do better than each of these.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from medebench.cases import Case, open_case
from medebench.errors import MedebenchError, one_line
from medebench.files import sha256
from medebench.grounding.overlap import Bools, energy_inside, hot_region, iou, pointing_hit
from medebench.images.picture import resize_mask
from medebench.metrics.metric import Undefined
from medebench.parallel import in_parallel

FloorName = Literal["blob", "frame", "other"]

#: Key and label, in the order of every table.
FLOORS: dict[FloorName, str] = {
    "blob": "centred blob",
    "frame": "whole frame",
    "other": "another case’s ROI",
}
#: Standard deviations of the blob, as a share of the frame's height and of its width.
SPREAD = 0.25
#: How many ROIs stand for "another case" at most; of smaller sets all are taken.
DRAWN = 64


@dataclass(frozen=True)
class Floor:
    """The three measures of a map, see `overlap`."""

    iou: float
    pointing: float
    energy: float


Floors = dict[FloorName, Floor]


@lru_cache(maxsize=16)
def blob(height: int, width: int) -> NDArray[np.float64]:
    """A Gaussian in the middle of the frame, with a quarter of its sides as standard deviations.

    Read-only. The published rule (`hot_region`) leaves of it an ellipse of 22 % of the frame.

    >>> round(float(hot_region(blob(512, 384)).mean()), 2)
    0.22
    """

    def along(side: int) -> NDArray[np.float64]:
        away = (np.arange(side) - (side - 1) / 2) / (SPREAD * side)
        return np.exp(-(away**2) / 2)

    heat = np.outer(along(height), along(width))
    heat.setflags(write=False)
    return heat


def floors(roi: Bools, others: Sequence[Bools] = ()) -> Floors:
    """What the floors reach for this ROI; "other" is the mean over `others`, absent without any.

    The blob is treated as every map is. The whole frame and another ROI are regions: maps of 1
    inside and 0 outside. Other ROIs are stretched to this frame, by nearest neighbour.
    """
    heat = blob(*roi.shape)
    share = float(roi.mean())
    found: Floors = {
        "blob": Floor(
            iou(hot_region(heat), roi), pointing_hit(heat, roi), energy_inside(heat, roi)
        ),
        "frame": Floor(share, share, share),
    }
    if others:
        height, width = roi.shape
        placed = [resize_mask(one.astype(np.uint8), width, height) > 0 for one in others]
        inside = float(np.mean([roi[one].mean() if one.any() else 0.0 for one in placed]))
        overlap = float(np.mean([iou(one, roi) for one in placed]))
        found["other"] = Floor(overlap, inside, inside)
    return found


def case_floors(
    cases: Mapping[str, Case], wanted: Collection[str] | None = None, workers: int | None = None
) -> dict[str, Floors | str]:
    """The floors of each of the `wanted` cases (default: all), or why there are none.

    "Another case" is any of `cases` with an ROI that shows another input. Of large sets `DRAWN`
    stand for all: those whose keys have the least SHA-256, which depends on no order and no seed.
    """
    marked = [key for key, case in cases.items() if case.roi is not None]
    drawn = sorted(marked, key=lambda key: sha256(key.encode()))[:DRAWN]
    others = [one for key in drawn if (one := _read(cases[key])) is not None]
    todo = list(cases if wanted is None else wanted)

    def measured(key: str) -> tuple[str, Floors | str]:
        return key, _floors_of(cases[key], others)

    found = dict(in_parallel(measured, todo, workers))
    return {key: found[key] for key in todo}


def _read(case: Case) -> tuple[str, Bools] | None:
    """Input and ROI, unless the one cannot be read or the other is empty."""
    try:
        opened = open_case(case)
        return (opened.source, opened.roi) if opened.roi.any() else None
    except MedebenchError:
        return None


def _floors_of(case: Case, others: Sequence[tuple[str, Bools]]) -> Floors | str:
    try:
        opened = open_case(case)
        apart = [roi for source, roi in others if source != opened.source]
        return floors(opened.roi, apart)
    except (MedebenchError, Undefined) as error:
        return one_line(str(error))
