"""How much of the intended change was made, from pixels and the reference alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from medebench.cases.image import Picture
from medebench.cases.opened import OpenCase
from medebench.metrics.base import Undefined, metric
from medebench.metrics.colour import Floats, dot, lengths, small_mask, soft_lab

#: Below this mean difference (CIE76) inside the ROI there is no intended change to measure.
MIN_INTENDED = 1.0
#: A mean difference outside the ROI from which on the reference is another photograph (or light),
#: and its distance to an output says nothing about the edit.
OTHER_PHOTOGRAPH = 10.0
#: Values are cut to this range: beyond it they say how odd the colours are, not how much was done.
LOW, HIGH = -1.0, 2.0


def done(
    previous: Picture,
    output: Picture,
    reference: Picture,
    roi: NDArray[np.bool_],
    data_range: int = 255,
) -> float:
    """<m, t> / <t, t> with m = output - previous and t = reference - previous inside the ROI.

    All three in softened Lab. 0: nothing of the change was made (the input gives exactly 0);
    1: all of it (the reference gives 1); above 1: too much; below 0: the contrary. What was made
    beside the intended change, at right angles to it, does not count: see `missed`.
    """
    return _done(output, _intend(previous, reference, roi, data_range))


def missed(
    previous: Picture,
    output: Picture,
    reference: Picture,
    roi: NDArray[np.bool_],
    data_range: int = 255,
) -> float:
    """|m - t| / |t|: the way that is left to the reference, over the whole way from the input.

    0 for the reference, 1 for the input, above 1 where the output is farther off than the input;
    never less than |1 - done|. Undefined where the reference is another photograph, that is where
    it differs from the input by `OTHER_PHOTOGRAPH` on average outside the ROI.
    """
    return _missed(output, _intend(previous, reference, roi, data_range))


@dataclass(frozen=True)
class _Intention:
    """What serves all outputs of a case; pixels are rows of three."""

    inside: NDArray[np.bool_]
    before: Floats
    change: Floats
    #: Mean difference of reference and input outside the ROI.
    beside: float
    data_range: int

    def made(self, output: Picture) -> Floats:
        there = soft_lab(output, self.data_range)[self.inside]
        return np.asarray(there - self.before, np.float32)


def _intend(
    previous: Picture, reference: Picture, roi: NDArray[np.bool_], data_range: int
) -> _Intention:
    whole = soft_lab(previous, data_range)
    inside = small_mask(roi, whole)
    before = whole[inside]
    differs = soft_lab(reference, data_range) - whole
    change, surroundings = differs[inside], lengths(differs[~inside])
    beside = float(surroundings.mean()) if surroundings.size else 0.0
    if not change.size:
        raise Undefined("the ROI is empty")
    if float(lengths(change).mean()) < MIN_INTENDED:
        raise Undefined("reference and previous are alike inside the ROI")
    return _Intention(inside, before, change, beside, data_range)


def _done(output: Picture, intended: _Intention) -> float:
    share = dot(intended.made(output), intended.change) / dot(intended.change, intended.change)
    return min(HIGH, max(LOW, share))


def _missed(output: Picture, intended: _Intention) -> float:
    if intended.beside >= OTHER_PHOTOGRAPH:
        off = f"{intended.beside:.0f}"
        raise Undefined(f"the reference is another photograph: around the ROI it differs by {off}")
    left = intended.made(output) - intended.change
    return min(HIGH, math.sqrt(dot(left, left) / dot(intended.change, intended.change)))


def _of(case: OpenCase) -> _Intention:
    kept = case.memo.get("intention")
    if kept is None:
        kept = _intend(case.previous, case.reference, case.roi, case.data_range)
        case.memo["intention"] = kept
    return cast(_Intention, kept)


@metric(
    "done",
    "share of the intended change that was made inside the ROI, by colour",
    better="neither",
    low=LOW,
    high=HIGH,
    needs=("roi", "reference"),
)
def DONE(case: OpenCase, output: Picture) -> float:
    return _done(output, _of(case))


@metric(
    "missed",
    "way left from the output to the reference inside the ROI; 1 = as far as the input",
    better="lower",
    high=HIGH,
    needs=("roi", "reference"),
)
def MISSED(case: OpenCase, output: Picture) -> float:
    return _missed(output, _of(case))
