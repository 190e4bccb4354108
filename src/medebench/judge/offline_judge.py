"""The offline judge: what pixels say about an edit, for work without network or key.

A stand-in, not a model of a reader: it knows colour and sharpness, nothing of anatomy. It sees the
reference and the ROI. `docs/metrics.md` has the formulas, its limits and how it agrees with the
published judge; its constants were chosen beforehand and are not fitted to any score.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.cases.open_case import OpenCase, once
from medebench.images.picture import Picture
from medebench.judge.judge import Verdict
from medebench.metrics.colour import Doubles, lengths
from medebench.metrics.intended import Intention, intention_of
from medebench.metrics.metric import Undefined
from medebench.metrics.texture import texture_of

#: A mean colour difference (CIE76) that is plain to see; it divides VQ by e.
PLAIN_DIFFERENCE = 10.0


class OfflineJudge:
    name = "offline-2"
    summary = "stand-in from colour and sharpness, no network; not comparable with a model's scores"
    stand_in = True
    #: What a model calls editing accuracy, pixels cannot know: they know how much was made of the
    #: change that the reference shows.
    scores = ("intended_offline", "vq_offline")

    def judge(self, case: OpenCase, output: Picture) -> dict[str, Verdict]:
        if case.case.reference is None or case.case.roi is None:
            why = "the offline judge needs a reference and an ROI"
            return {name: Verdict(None, why) for name in self.scores}
        intended = intention_of(case)
        stray = _stray(output, intended)
        return {
            "intended_offline": _made(output, intended, stray),
            "vq_offline": _quality(case, output, intended.outside.mean(stray)),
        }


def _made(output: Picture, intended: Intention, stray: Doubles) -> Verdict:
    """2<m, t> / (<m, m> + <t, t> + <s, s>): how far the change m made is the change t intended.

    s is what was changed outside the ROI. Doing nothing gives 0, the reference gives 1.
    """
    if problem := intended.problem():
        return Verdict(None, problem)
    dot, change, made = intended.inside.dot, intended.change, intended.made(output)
    beside = float(intended.outside.weights @ stray**2)
    size = dot(made, made) + dot(change, change) + beside
    value = min(1.0, max(0.0, 2 * dot(made, change) / size))
    return Verdict(value, detail={"stray": _round(intended.outside.mean(stray))})


def _quality(case: OpenCase, output: Picture, stray: float) -> Verdict:
    """exp(-(d + stray / 10)): 1 where nothing looks worse.

    d: the greatest of |log ratio of detail to the input's| over the frame, and |log| of detail and
    of grain inside the ROI, where all that lies between input and reference is as it may be.
    """
    bands = once(case.memo, "bands", lambda: _bands(case.previous, case.data_range))
    frame = float(np.abs(np.log(_bands(output, case.data_range) / bands)).mean())
    try:
        roi, made = texture_of(case, output)
        inside = float(max(abs(np.log(roi.detail(made))), abs(np.log(roi.grain(made)))))
    except Undefined:
        inside = 0.0
    value = float(np.exp(-(max(frame, inside) + stray / PLAIN_DIFFERENCE)))
    detail = {"detail_change": _round(frame), "detail_change_inside": _round(inside)}
    return Verdict(value, detail=detail)


def _stray(output: Picture, intended: Intention) -> Doubles:
    """Per cell outside the ROI, how far the output is from both the input and the reference.

    The nearer of the two counts: real references differ from their input outside the ROI as well.
    """
    there = intended.outside.soft_lab(output, intended.data_range)
    first, second = (lengths(there - known) for known in intended.surroundings)
    return np.asarray(np.minimum(first, second), np.float64)


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
