"""A case with its pictures in memory, decoded once, on one grid: that of the previous image."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.cases.case import Case
from medebench.cases.image import (
    Mask,
    Picture,
    data_range,
    match,
    read_file,
    read_mask,
    read_picture,
    resize_mask,
)
from medebench.errors import ImageError, InputError
from medebench.files import sha256


class OpenCase:
    """What editors and metrics are given. Not shared between threads."""

    def __init__(self, case: Case) -> None:
        self.case = case
        #: Where a metric or judge keeps what serves all outputs of the case.
        self.memo: dict[str, Any] = {}

    @cached_property
    def previous(self) -> Picture:
        picture = read_picture(self.case.previous, self._previous_bytes)
        if picture.dtype == np.uint16 and int(picture.max()) > data_range(picture, self.case.bits):
            raise ImageError(
                f"{self.case.previous}: has values above {self.case.bits} bits; correct 'bits'"
            )
        picture.setflags(write=False)
        return picture

    @cached_property
    def _previous_bytes(self) -> bytes:
        return read_file(self.case.previous)

    @cached_property
    def source(self) -> str:
        """Hash of the input's pixels: cases that share it are not independent."""
        return sha256(np.ascontiguousarray(self.previous).tobytes())[:16]

    @cached_property
    def reference(self) -> Picture:
        if self.case.reference is None:
            raise InputError(f"case {self.case.id}: has no reference image")
        picture = self.fit(read_picture(self.case.reference))
        picture.setflags(write=False)
        return picture

    @cached_property
    def mask(self) -> Mask:
        """The ROI mask as released, greys included."""
        if self.case.roi is None:
            raise InputError(f"case {self.case.id}: has no ROI mask")
        return self._mask(self.case.roi)

    @cached_property
    def roi(self) -> NDArray[np.bool_]:
        """True inside the region of interest."""
        return self.mask > 127

    @cached_property
    def keep(self) -> NDArray[np.bool_] | None:
        """True where nothing may change; None where the case does not say."""
        return None if self.case.keep is None else self._mask(self.case.keep) > 127

    def _mask(self, path: Path) -> Mask:
        height, width = self.previous.shape[:2]
        mask = np.ascontiguousarray(resize_mask(read_mask(path), width, height))
        mask.setflags(write=False)
        return mask

    @property
    def data_range(self) -> int:
        return data_range(self.previous, self.case.bits)

    def fit(self, picture: Picture) -> Picture:
        """Another picture, brought to the size and depth of the previous image."""
        return match(picture, self.previous, self.case.bits)


def open_case(case: Case) -> OpenCase:
    return OpenCase(case)
