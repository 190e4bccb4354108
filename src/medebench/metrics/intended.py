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
from medebench.metrics.colour import Doubles, MaskedView, lengths

#: Below this mean difference (CIE76) inside the ROI there is no intended change to measure.
MIN_INTENDED = 1.0
#: A mean difference outside the ROI from which on the reference is another photograph (or light),
#: and its distance to an output says nothing about the edit.
OTHER_PHOTOGRAPH = 10.0
#: Values are cut to this range: beyond it they say how odd the colours are, not how much was done.
LOW, HIGH = -1.0, 2.0
#: Changes with the definition: scores of an earlier one are computed anew.
VARIANT = "intended-2"


def edit_completion(
    previous: Picture,
    output: Picture,
    reference: Picture,
    roi: NDArray[np.bool_],
    data_range: int = 255,
) -> float:
    """<m, t> / <t, t> with m = output - previous and t = reference - previous inside the ROI.

    All three in softened Lab. 0: nothing of the change was made (the input gives exactly 0);
    1: all of it (the reference gives 1); above 1: too much; below 0: the contrary. What was made
    beside the intended change, at right angles to it, does not count: see `edit_residual`.
    """
    return _completion(output, intend(previous, reference, roi, data_range))


def edit_residual(
    previous: Picture,
    output: Picture,
    reference: Picture,
    roi: NDArray[np.bool_],
    data_range: int = 255,
) -> float:
    """|m - t| / |t|: the way that is left to the reference, over the whole way from the input.

    0 for the reference, 1 for the input, above 1 where the output is farther off than the input;
    never less than |1 - completion|. Undefined where the reference is another photograph, that is
    where it differs from the input by `OTHER_PHOTOGRAPH` on average outside the ROI.
    """
    return _residual(output, intend(previous, reference, roi, data_range))


@dataclass(frozen=True)
class Intention:
    """The change that was asked for, inside the ROI and beside it; serves all outputs of a case."""

    inside: MaskedView
    outside: MaskedView
    before: Doubles
    change: Doubles
    #: Input and reference outside the ROI.
    surroundings: tuple[Doubles, Doubles]
    data_range: int

    def problem(self) -> str | None:
        """Why there is no change to measure an output by."""
        if not self.change.size:
            return "the ROI is empty"
        if self.inside.mean(lengths(self.change)) < MIN_INTENDED:
            return "reference and previous are alike inside the ROI"
        return None

    @property
    def beside(self) -> float:
        """Mean difference of reference and input outside the ROI."""
        before, after = self.surroundings
        return self.outside.mean(lengths(after - before))

    @property
    def other_photograph(self) -> bool:
        return self.beside >= OTHER_PHOTOGRAPH

    def made(self, output: Picture) -> Doubles:
        return np.asarray(self.inside.soft_lab(output, self.data_range) - self.before)


def intend(
    previous: Picture, reference: Picture, roi: NDArray[np.bool_], data_range: int
) -> Intention:
    inside, outside = MaskedView(roi), MaskedView(~roi)
    before, after = (inside.soft_lab(one, data_range) for one in (previous, reference))
    beside = (outside.soft_lab(previous, data_range), outside.soft_lab(reference, data_range))
    return Intention(inside, outside, before, after - before, beside, data_range)


def intention_of(case: OpenCase) -> Intention:
    kept = case.memo.get("intention")
    if kept is None:
        kept = intend(case.previous, case.reference, case.roi, case.data_range)
        case.memo["intention"] = kept
    return cast(Intention, kept)


def _completion(output: Picture, intended: Intention) -> float:
    if problem := intended.problem():
        raise Undefined(problem)
    dot, change = intended.inside.dot, intended.change
    return min(HIGH, max(LOW, dot(intended.made(output), change) / dot(change, change)))


def _residual(output: Picture, intended: Intention) -> float:
    if problem := intended.problem():
        raise Undefined(problem)
    if intended.other_photograph:
        off = f"{intended.beside:.0f}"
        raise Undefined(f"the reference is another photograph: around the ROI it differs by {off}")
    dot, change = intended.inside.dot, intended.change
    left = intended.made(output) - change
    return min(HIGH, math.sqrt(dot(left, left) / dot(change, change)))


@metric(
    "edit_completion",
    "share of the intended change that was made inside the ROI, by colour",
    better="neither",
    low=LOW,
    high=HIGH,
    needs=("roi", "reference"),
    variant=VARIANT,
)
def EDIT_COMPLETION(case: OpenCase, output: Picture) -> float:
    return _completion(output, intention_of(case))


@metric(
    "edit_residual",
    "way left from the output to the reference inside the ROI; 1 = as far as the input; undefined "
    "where the reference is another photograph",
    better="lower",
    high=HIGH,
    needs=("roi", "reference"),
    variant=VARIANT,
)
def EDIT_RESIDUAL(case: OpenCase, output: Picture) -> float:
    return _residual(output, intention_of(case))
