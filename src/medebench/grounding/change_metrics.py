"""The change of an output as scores: where it lies relative to the ROI."""

from __future__ import annotations

import hashlib
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from medebench.cases.open_case import OpenCase
from medebench.grounding.change_map import Change, change_map, enough, surroundings
from medebench.grounding.overlap import iou
from medebench.images.picture import Picture
from medebench.metrics.intended import HIGH, intention_of
from medebench.metrics.metric import Metric, Undefined, metric
from medebench.metrics.texture import texture_of

Bools = NDArray[np.bool_]

#: Changes with the way in which pictures are compared: earlier scores are computed anew.
VARIANT = "change-3"


_metric = partial(metric, variant=VARIANT)
_of_roi = partial(_metric, needs=("roi",))
_inside = partial(_metric, needs=("roi", "reference"))


class _Compared:
    """Two pictures, equal to any two of the same content: all measures share one comparison."""

    def __init__(
        self, previous: Picture, output: Picture, data_range: int, roi: Bools | None
    ) -> None:
        self.pictures = previous, output, data_range, roi
        content = hashlib.blake2b(digest_size=16)
        for picture in (previous, output, *([] if roi is None else [roi])):
            content.update(f"{picture.shape} {picture.dtype} {data_range}".encode())
            content.update(np.ascontiguousarray(picture).data)
        self.key = content.digest()

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Compared) and self.key == other.key


@lru_cache(maxsize=4)
def _change(compared: _Compared) -> Change:
    return change_map(*compared.pictures)


def change_of(case: OpenCase, output: Picture) -> Change:
    """The change of an output of the case; asked again for the same pixels, it is at hand."""
    roi = None if case.case.roi is None else case.roi
    return _change(_Compared(case.previous, output, case.data_range, roi))


def _roi_parts(case: OpenCase) -> None:
    if not case.roi.any():
        raise Undefined("the ROI is empty")


@_of_roi("change_iou", "IoU of the changed region with the ROI")
def CHANGE_IOU(case: OpenCase, output: Picture) -> float:
    """|C ∩ R| / |C ∪ R| with the changed region C and the ROI R; 0 where nothing changed."""
    _roi_parts(case)
    return iou(change_of(case, output).region, case.roi)


@_of_roi("change_cover", "share of the ROI that changed", better="neither")
def CHANGE_COVER(case: OpenCase, output: Picture) -> float:
    """|C ∩ R| / |R|."""
    _roi_parts(case)
    return float(change_of(case, output).region[case.roi].mean())


@_of_roi("change_context", "share of the ROI's surroundings that changed", better="lower")
def CHANGE_CONTEXT(case: OpenCase, output: Picture) -> float:
    """|C ∩ S| / |S|, S: beyond the border of the ROI and off the edge of the frame."""
    around = surroundings(case.roi)
    if not enough(around):
        raise Undefined("the ROI fills the image: too little lies around it")
    return float(change_of(case, output).region[around].mean())


@_of_roi(
    "change_spill", "share of the change, by strength, that lies outside the ROI", better="lower"
)
def CHANGE_SPILL(case: OpenCase, output: Picture) -> float:
    """Σ of the change map over C \\ R, divided by its Σ over C."""
    _roi_parts(case)
    change = change_of(case, output)
    if not change.region.any():
        raise Undefined("nothing changed")
    strength = change.map.astype(np.float64) * change.region
    return float(strength[~case.roi].sum() / strength.sum())


@_metric("change_area", "share of the frame that changed", better="neither")
def CHANGE_AREA(case: OpenCase, output: Picture) -> float:
    """|C| / |frame|."""
    return float(change_of(case, output).region.mean())


@_metric(
    "change_tone",
    "shift of tone of the whole picture, not counted as change (CIE76)",
    better="lower",
    high=100.0,
)
def CHANGE_TONE(case: OpenCase, output: Picture) -> float:
    return change_of(case, output).global_shift


@_metric(
    "change_detail",
    "fine detail of output over input where nothing changed; 1 = as sharp as before",
    better="neither",
    high=float("inf"),
)
def CHANGE_DETAIL(case: OpenCase, output: Picture) -> float:
    return change_of(case, output).detail


@_inside(
    "roi_detail",
    "detail inside the ROI over what input and reference span; 1 = within",
    better="neither",
    high=float("inf"),
)
def ROI_DETAIL(case: OpenCase, output: Picture) -> float:
    inside, made = texture_of(case, output)
    return inside.detail(made)


@_inside(
    "roi_grain",
    "how much finer the detail inside the ROI is than in input and reference; 1 = as fine",
    better="neither",
    high=float("inf"),
)
def ROI_GRAIN(case: OpenCase, output: Picture) -> float:
    inside, made = texture_of(case, output)
    return inside.grain(made)


@_inside(
    "roi_structure", "correlation of the structure inside the ROI with the reference's", low=-1.0
)
def ROI_STRUCTURE(case: OpenCase, output: Picture) -> float:
    inside, made = texture_of(case, output)
    return inside.likeness(made)


@_inside(
    "roi_residual",
    "remaining distance from output to reference inside the ROI, by colour, also where the "
    "reference is another photograph",
    better="lower",
    high=HIGH,
)
def ROI_RESIDUAL(case: OpenCase, output: Picture) -> float:
    intended = intention_of(case)
    intended.require()
    return intended.left(output)


GROUNDING_METRICS: tuple[Metric, ...] = (
    CHANGE_IOU,
    CHANGE_COVER,
    CHANGE_CONTEXT,
    CHANGE_SPILL,
    CHANGE_AREA,
    CHANGE_TONE,
    CHANGE_DETAIL,
    ROI_DETAIL,
    ROI_GRAIN,
    ROI_STRUCTURE,
    ROI_RESIDUAL,
)
