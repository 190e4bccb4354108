"""Systems whose answer is known, so that every scale shows its floor and its ceiling; and one
classical baseline, so that every model has something to beat.
"""

from __future__ import annotations

from typing import Literal

import cv2
import numpy as np
from pydantic import Field

from medebench.images.picture import Picture
from medebench.outputs import Output
from medebench.settings import Settings as NoSettings
from medebench.systems.request import Refused, Request
from medebench.systems.system import Editor


class _Control(Editor):
    control = True


class Identity(_Control):
    summary = "does nothing"

    def edit(self, request: Request) -> Output:
        return Output(request.case.previous)


class Blank(_Control):
    summary = "gives an empty picture"

    def edit(self, request: Request) -> Output:
        previous = request.case.previous
        return Output(np.full_like(previous, (request.case.data_range + 1) // 2))


class Reference(_Control):
    """Of a task that asks for a text, too."""

    summary = "copies the answer"
    gives = ("image", "text")
    sees = ("reference",)

    def edit(self, request: Request) -> Output:
        # A reference that is sharper than the input is copied as it is.
        if not (answer := request.case.compared().expected).parts:
            raise Refused("the case has no reference to copy")
        return answer


class Blur(_Control):
    summary = "blurs the whole picture"

    class Settings(NoSettings):
        sigma: float = Field(4.0, gt=0, le=100, description="standard deviation in pixels")

    settings: Settings

    def edit(self, request: Request) -> Output:
        previous = request.case.previous
        blurred = cv2.GaussianBlur(previous, (0, 0), self.settings.sigma)
        return Output(np.asarray(blurred).astype(previous.dtype))


class Noise(_Control):
    summary = "adds noise to the whole picture"

    class Settings(NoSettings):
        sigma: float = Field(0.15, gt=0, le=1, description="standard deviation, share of the range")

    settings: Settings

    def edit(self, request: Request) -> Output:
        previous, top = request.case.previous, request.case.data_range
        noise = request.generator().standard_normal(previous.shape, dtype=np.float32)
        noisy = np.clip(np.round(previous + noise * (self.settings.sigma * top)), 0, top)
        return Output(np.asarray(noisy, previous.dtype))


class Inpaint(Editor):
    """The honest baseline: no text, but it is told where to look. How it does is not known."""

    summary = "fills the ROI from its surroundings, without reading the instruction"
    sees = ("roi",)

    class Settings(NoSettings):
        method: Literal["telea", "navier-stokes"] = Field(
            "telea", description="algorithm of OpenCV"
        )
        radius: float = Field(5.0, gt=0, le=50, description="neighbourhood in pixels")

    settings: Settings

    def edit(self, request: Request) -> Output:
        if request.case.case.roi is None:
            raise Refused("the case has no ROI to fill")
        roi, previous = request.case.roi, request.case.previous
        if roi.all():
            raise Refused("the ROI is the whole picture: nothing is left to fill it from")
        mask = roi.astype(np.uint8)
        if previous.dtype == np.uint8:
            return Output(self._filled(previous, mask))
        # OpenCV fills 16-bit pictures one channel at a time.
        planes = np.moveaxis(previous, -1, 0)
        filled = [self._filled(np.ascontiguousarray(one), mask) for one in planes]
        return Output(np.stack(filled, axis=-1))

    def _filled(self, pixels: Picture, mask: Picture) -> Picture:
        flag = cv2.INPAINT_TELEA if self.settings.method == "telea" else cv2.INPAINT_NS
        return np.asarray(cv2.inpaint(pixels, mask, self.settings.radius, flag), pixels.dtype)
