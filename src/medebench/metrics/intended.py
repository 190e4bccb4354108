"""How much of the intended change was made, from pixels and the reference alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from medebench.cases.open_case import OpenCase, once
from medebench.images.picture import Picture
from medebench.images.picture import data_range as full_range
from medebench.metrics.arrays import as_pictures, as_region
from medebench.metrics.colour import Doubles, MaskedView, lengths
from medebench.metrics.metric import Undefined, metric

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
    roi: NDArray[Any],
    data_range: int | None = None,
) -> float:
    """Share of the intended change that was made: <m, t> / <t, t> inside the ROI.

    m = output - previous and t = reference - previous, in softened Lab. What was made beside the
    intended change, at right angles to it, does not count: see `edit_residual`.

    Args:
        previous: the image before the edit, (height, width) or (height, width, 3), uint8 or uint16.
        output: the edited image, of the same shape and depth.
        reference: what was asked for, of the same shape and depth.
        roi: the region of interest, True (or bright) inside.
        data_range: the largest value a pixel can take; by default 255 or 65535.

    Returns:
        0 where nothing of the change was made (the input gives exactly 0), 1 where all of it was;
        above 1: too much; below 0: the contrary. Raises `Undefined` where there is no change.

    >>> import numpy as np
    >>> dark, bright = np.full((8, 8), 40, np.uint8), np.full((8, 8), 200, np.uint8)
    >>> mb.edit_completion(dark, dark, bright, np.ones((8, 8), bool))
    0.0
    """
    return _completion(*_intended(previous, output, reference, roi, data_range))


def edit_residual(
    previous: Picture,
    output: Picture,
    reference: Picture,
    roi: NDArray[Any],
    data_range: int | None = None,
) -> float:
    """Way left from the output to the reference over the whole way: |m - t| / |t| in the ROI.

    Never less than |1 - completion|.

    Args:
        previous: the image before the edit, (height, width) or (height, width, 3), uint8 or uint16.
        output: the edited image, of the same shape and depth.
        reference: what was asked for, of the same shape and depth.
        roi: the region of interest, True (or bright) inside.
        data_range: the largest value a pixel can take; by default 255 or 65535.

    Returns:
        0 for the reference, 1 for the input, above 1 where the output is farther off than the
        input. Raises `Undefined` where the reference is another photograph, that is where it
        differs from the input by 10 (CIE76) on average outside the ROI.

    >>> import numpy as np
    >>> dark, bright = np.full((8, 8), 40, np.uint8), np.full((8, 8), 200, np.uint8)
    >>> mb.edit_residual(dark, bright, bright, np.ones((8, 8), bool))
    0.0
    """
    return _residual(*_intended(previous, output, reference, roi, data_range))


def _intended(
    previous: Picture,
    output: Picture,
    reference: Picture,
    roi: NDArray[Any],
    data_range: int | None,
) -> tuple[Picture, Intention]:
    previous, output, reference = as_pictures(previous, output, reference)
    inside = as_region(roi, previous)
    return output, intend(previous, reference, inside, data_range or full_range(previous))


@dataclass(frozen=True)
class Intention:
    """The intended change, inside the ROI and around it; shared by all outputs of a case."""

    inside: MaskedView
    outside: MaskedView
    before: Doubles
    change: Doubles
    #: Input and reference outside the ROI.
    surroundings: tuple[Doubles, Doubles]
    data_range: int
    _last: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def problem(self) -> str | None:
        """Why there is no intended change to compare an output with."""
        if not self.change.size:
            return "the ROI is empty"
        if self.inside.mean(lengths(self.change)) < MIN_INTENDED:
            return "reference and previous are alike inside the ROI"
        return None

    def require(self) -> None:
        if problem := self.problem():
            raise Undefined(problem)

    @cached_property
    def beside(self) -> float:
        """Mean difference of reference and input outside the ROI."""
        before, after = self.surroundings
        return self.outside.mean(lengths(after - before))

    def made(self, output: Picture) -> Doubles:
        """The change that an output shows inside the ROI; that of the last one is remembered."""
        if self._last.get("output") is not output:
            made = self.inside.soft_lab(output, self.data_range) - self.before
            self._last.update(output=output, made=made)
        return cast(Doubles, self._last["made"])

    def left(self, output: Picture) -> float:
        """|m - t| / |t|: the remaining distance to the reference, same photograph or not."""
        left = self.made(output) - self.change
        size = self.inside.dot(self.change, self.change)
        return min(HIGH, math.sqrt(self.inside.dot(left, left) / size))


def intend(
    previous: Picture, reference: Picture, roi: NDArray[np.bool_], data_range: int
) -> Intention:
    inside, outside = MaskedView(roi), MaskedView(~roi)
    before, after = (inside.soft_lab(one, data_range) for one in (previous, reference))
    beside = (outside.soft_lab(previous, data_range), outside.soft_lab(reference, data_range))
    return Intention(inside, outside, before, after - before, beside, data_range)


def intention_of(case: OpenCase) -> Intention:
    given = case.previous, case.reference, case.roi, case.data_range
    return once(case.memo, "intention", lambda: intend(*given))


def _completion(output: Picture, intended: Intention) -> float:
    intended.require()
    dot, change = intended.inside.dot, intended.change
    return min(HIGH, max(LOW, dot(intended.made(output), change) / dot(change, change)))


def _residual(output: Picture, intended: Intention) -> float:
    intended.require()
    if intended.beside >= OTHER_PHOTOGRAPH:
        off = f"{intended.beside:.0f}"
        raise Undefined(f"the reference is another photograph: around the ROI it differs by {off}")
    return intended.left(output)


_metric = partial(metric, high=HIGH, needs=("roi", "reference"), variant=VARIANT)


@_metric(
    "edit_completion",
    "share of the intended change made inside the ROI, by colour",
    better="neither",
    low=LOW,
)
def EDIT_COMPLETION(case: OpenCase, output: Picture) -> float:
    return _completion(output, intention_of(case))


@_metric(
    "edit_residual",
    "remaining distance from output to reference inside the ROI; 1 = as far as the input; "
    "undefined where the reference is another photograph",
    better="lower",
)
def EDIT_RESIDUAL(case: OpenCase, output: Picture) -> float:
    return _residual(output, intention_of(case))
