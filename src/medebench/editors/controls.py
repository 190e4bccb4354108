"""Editors whose answer is known, so that every scale shows its floor and its ceiling; and one
classical baseline, so that every model has something to beat.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import cv2
import numpy as np
from pydantic import Field

from medebench.cases.image import Picture
from medebench.editors.base import Refused, Request
from medebench.settings import Settings as NoSettings


class _Control:
    Settings: ClassVar[type[NoSettings]] = NoSettings
    sees: ClassVar[tuple[str, ...]] = ()
    control: ClassVar[bool] = True

    def __init__(self, settings: NoSettings) -> None:
        self.settings = settings


class Identity(_Control):
    summary: ClassVar[str] = "does nothing"

    def edit(self, request: Request) -> Picture:
        return request.case.previous


class Reference(_Control):
    summary: ClassVar[str] = "copies the answer"
    sees: ClassVar[tuple[str, ...]] = ("reference",)

    def edit(self, request: Request) -> Picture:
        if request.case.case.reference is None:
            raise Refused("the case has no reference image to copy")
        return request.case.reference


class BlurSettings(NoSettings):
    sigma: float = Field(4.0, gt=0, le=100, description="standard deviation in pixels")


class Blur(_Control):
    summary: ClassVar[str] = "blurs the whole picture"
    Settings: ClassVar[type[NoSettings]] = BlurSettings

    def __init__(self, settings: BlurSettings) -> None:
        super().__init__(settings)
        self.sigma = settings.sigma

    def edit(self, request: Request) -> Picture:
        blurred = cv2.GaussianBlur(request.case.previous, (0, 0), self.sigma)
        return np.asarray(blurred).astype(request.case.previous.dtype)


class NoiseSettings(NoSettings):
    sigma: float = Field(0.15, gt=0, le=1, description="standard deviation, share of the range")


class Noise(_Control):
    summary: ClassVar[str] = "adds noise to the whole picture"
    Settings: ClassVar[type[NoSettings]] = NoiseSettings

    def __init__(self, settings: NoiseSettings) -> None:
        super().__init__(settings)
        self.sigma = settings.sigma

    def edit(self, request: Request) -> Picture:
        previous, top = request.case.previous, request.case.data_range
        noise = request.generator().standard_normal(previous.shape, dtype=np.float32)
        noisy = np.clip(np.round(previous + noise * (self.sigma * top)), 0, top)
        return np.asarray(noisy, previous.dtype)


class InpaintSettings(NoSettings):
    method: Literal["telea", "navier-stokes"] = Field("telea", description="algorithm of OpenCV")
    radius: float = Field(5.0, gt=0, le=50, description="neighbourhood in pixels")


class Inpaint(_Control):
    """The honest baseline: no text, but it is told where to look. How it does is not known."""

    summary: ClassVar[str] = "fills the ROI from its surroundings, without reading the instruction"
    control: ClassVar[bool] = False
    Settings: ClassVar[type[NoSettings]] = InpaintSettings
    sees: ClassVar[tuple[str, ...]] = ("roi",)

    def __init__(self, settings: InpaintSettings) -> None:
        super().__init__(settings)
        self.radius = settings.radius
        self.flag = cv2.INPAINT_TELEA if settings.method == "telea" else cv2.INPAINT_NS

    def edit(self, request: Request) -> Picture:
        if request.case.case.roi is None:
            raise Refused("the case has no ROI to fill")
        roi, previous = request.case.roi, request.case.previous
        if roi.all():
            raise Refused("the ROI is the whole picture: nothing is left to fill it from")
        mask = roi.astype(np.uint8)
        if previous.dtype == np.uint8:
            return np.asarray(cv2.inpaint(previous, mask, self.radius, self.flag), np.uint8)
        # OpenCV fills 16-bit pictures one channel at a time.
        planes = [
            cv2.inpaint(np.ascontiguousarray(previous[..., c]), mask, self.radius, self.flag)
            for c in range(previous.shape[2])
        ]
        return np.stack(planes, axis=-1).astype(previous.dtype)
