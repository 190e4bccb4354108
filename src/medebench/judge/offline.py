"""The offline judge: EA and VQ from pixels, for work without network or key.

A stand-in, not a model of a reader: it knows colour and sharpness, nothing of anatomy. It sees the
reference and the ROI. `docs/metrics.md` has the formulas, its limits and how it agrees with the
published judge; its constants were chosen beforehand and are not fitted to any score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.cases.image import Picture
from medebench.cases.opened import OpenCase
from medebench.judge.base import Verdict
from medebench.metrics.colour import Floats, dot, lengths, small_mask, soft_lab, squares
from medebench.metrics.intended import MIN_INTENDED

#: A mean colour difference (CIE76) that is plain to see; it divides VQ by e.
PLAIN_DIFFERENCE = 10.0


@dataclass(frozen=True)
class _Seen:
    """What the judge keeps of a case for all its outputs; pixels are rows of three."""

    inside: NDArray[np.intp]
    outside: NDArray[np.intp]
    previous_inside: Floats
    intended: Floats
    known_outside: tuple[Floats, Floats]
    bands: NDArray[np.float64]


class OfflineJudge:
    name = "offline-1"
    summary = "stand-in from colour and sharpness, no network; not comparable with a model's scores"
    stand_in = True
    scores = ("ea_offline", "vq_offline")

    def judge(self, case: OpenCase, output: Picture) -> dict[str, Verdict]:
        if case.case.reference is None or case.case.roi is None:
            why = "the offline judge needs a reference and an ROI"
            return {name: Verdict(None, why) for name in self.scores}
        seen = case.memo.get("offline") or _look(case)
        case.memo["offline"] = seen
        made = soft_lab(output, case.data_range).reshape(-1, 3)
        stray = _stray(made, seen)
        return {
            "ea_offline": _accuracy(made, seen, stray),
            "vq_offline": _quality(_bands(output, case.data_range), seen, stray),
        }


def _look(case: OpenCase) -> _Seen:
    colours = soft_lab(case.previous, case.data_range)
    roi = small_mask(case.roi, colours)
    inside, outside = np.flatnonzero(roi), np.flatnonzero(~roi)
    previous = colours.reshape(-1, 3)
    reference = soft_lab(case.reference, case.data_range).reshape(-1, 3)
    return _Seen(
        inside,
        outside,
        previous[inside],
        reference[inside] - previous[inside],
        (previous[outside], reference[outside]),
        _bands(case.previous, case.data_range),
    )


def _accuracy(made: Floats, seen: _Seen, stray: Floats) -> Verdict:
    """2<m, t> / (<m, m> + <t, t> + <s, s>): how far the change m made is the change t intended.

    s is what was changed outside the ROI. Doing nothing gives 0, the reference gives 1.
    """
    if not seen.inside.size:
        return Verdict(None, "the ROI is empty")
    if float(lengths(seen.intended).mean()) < MIN_INTENDED:
        return Verdict(None, "reference and previous are alike inside the ROI")
    change = made[seen.inside] - seen.previous_inside
    overlap = dot(change, seen.intended)
    size = dot(change, change) + dot(seen.intended, seen.intended) + dot(stray, stray)
    value = min(1.0, max(0.0, 2 * overlap / size))
    return Verdict(value, detail={"stray": _round(_mean(stray))})


def _quality(bands: NDArray[np.float64], seen: _Seen, stray: Floats) -> Verdict:
    """exp(-(|log ratio of detail to the input's| + stray / 10)): 1 where nothing looks worse."""
    detail = float(np.abs(np.log(bands / seen.bands)).mean())
    harm = _mean(stray) / PLAIN_DIFFERENCE
    return Verdict(float(np.exp(-(detail + harm))), detail={"detail_change": _round(detail)})


def _stray(made: Floats, seen: _Seen) -> Floats:
    """Per pixel outside the ROI, how far the output is from both the input and the reference.

    The nearer of the two counts: real references differ from their input outside the ROI as well.
    """
    output = made[seen.outside]
    nearer = np.minimum(*(squares(output - known) for known in seen.known_outside))
    return np.asarray(np.sqrt(nearer), np.float32)


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else 0.0


def _bands(picture: Picture, data_range: int) -> NDArray[np.float64]:
    """Mean absolute detail in three octaves: noise raises it, blur lowers it."""
    scaled = picture.astype(np.float32) * (255 / data_range)
    grey: NDArray[Any] = cv2.cvtColor(scaled, cv2.COLOR_RGB2GRAY)
    levels = []
    for _ in range(3):
        soft = cv2.GaussianBlur(grey, (0, 0), 1.0)
        # The quarter keeps flat pictures, and rounding to 8 bits, from deciding anything.
        levels.append(float(cv2.absdiff(grey, soft).mean()) + 0.25)
        if min(soft.shape) < 4:
            break
        grey = cv2.resize(soft, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    return np.asarray(levels)


def _round(value: float) -> float:
    return round(value, 4)
