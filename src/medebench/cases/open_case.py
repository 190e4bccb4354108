"""A case with its pictures in memory, decoded once, on one grid: that of the previous image."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from medebench.cases.case import Case
from medebench.cases.source_clusters import SEPARATOR
from medebench.errors import ImageError, InputError
from medebench.files import sha256
from medebench.images.picture import (
    Mask,
    Picture,
    data_range,
    match,
    read_mask,
    read_picture,
    resize_mask,
)
from medebench.outputs import Output

Made = TypeVar("Made")


class OpenCase:
    """A case with its images in memory: what editors and metrics are given. Not thread-safe."""

    def __init__(self, case: Case) -> None:
        self.case = case
        #: Where a metric or judge keeps what serves all outputs of the case.
        self.memo: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"Open{self.case!r}"

    def _repr_html_(self) -> str:
        from medebench.cases.case_view import case_html

        return case_html(self)

    @cached_property
    def previous(self) -> Picture:
        if self.case.previous is None:
            raise InputError(f"case {self.case.id}: has no input image")
        picture = read_picture(self.case.previous)
        if picture.dtype == np.uint16 and int(picture.max()) > data_range(picture, self.case.bits):
            raise ImageError(
                f"{self.case.previous}: has values above {self.case.bits} bits; correct 'bits'"
            )
        return _locked(picture)

    def image(self, role: str) -> Picture:
        """An input image: the previous one, or another on its own grid."""
        if role == "previous":
            return self.previous
        if role not in self.case.images:
            raise InputError(f"case {self.case.id}: has no image '{role}'")
        kept: dict[str, Picture] = self.memo.setdefault("images", {})
        return once(kept, role, lambda: _locked(read_picture(self.case.images[role])))

    @cached_property
    def sheet(self) -> Picture:
        """All input images on one numbered sheet, for what takes a single image."""
        from medebench.images.input_sheet import input_sheet

        roles = list(self.case.inputs())
        if not roles:
            raise InputError(f"case {self.case.id}: has no input image")
        return _locked(input_sheet([self.image(role) for role in roles]))

    @cached_property
    def source(self) -> str:
        """Hashes of the inputs' pixels: cases that share one are not independent."""
        if not (roles := list(self.case.inputs())):
            return sha256(self.case.prompt.encode())[:16]
        images = (np.ascontiguousarray(self.image(role)).tobytes() for role in roles)
        return SEPARATOR.join(dict.fromkeys(sha256(pixels)[:16] for pixels in images))

    @cached_property
    def reference(self) -> Picture:
        if self.case.reference is None:
            raise InputError(f"case {self.case.id}: has no reference image")
        picture = read_picture(self.case.reference)
        return _locked(picture if self.case.previous is None else self.fit(picture))

    @property
    def expected(self) -> Output:
        """The reference as what a perfect system would give: image, text or both."""
        image = None if self.case.reference is None else self.reference
        return Output(image, self.case.answer or None)

    @cached_property
    def grid(self) -> Picture | None:
        """The image whose size and depth outputs are brought to."""
        if self.case.previous is not None:
            return self.previous
        return None if self.case.reference is None else self.reference

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
        return _locked(np.ascontiguousarray(resize_mask(read_mask(path), width, height)))

    @property
    def data_range(self) -> int:
        return 255 if self.grid is None else data_range(self.grid, self.case.bits)

    def compared(self) -> OpenCase:
        """The case as scores see it: where outputs are compared on the reference's grid, on that.

        Systems are given the images as they are.
        """
        own = self.case.grid == "reference" and self.case.reference is not None
        return _OnReferenceGrid(self) if own else self

    def fit(self, picture: Picture) -> Picture:
        """Another picture, brought to the size and depth of the previous image.

        Without one, to those of the reference; without either it stays as it is.
        """
        return picture if self.grid is None else match(picture, self.grid, self.case.bits)


class _OnReferenceGrid(OpenCase):
    """A case whose reference is sharper than its input, or of another shape: all on its grid."""

    def __init__(self, given: OpenCase) -> None:
        super().__init__(given.case)
        self._given = given

    @property
    def source(self) -> str:
        return self._given.source

    @cached_property
    def reference(self) -> Picture:
        assert self.case.reference is not None
        return _locked(read_picture(self.case.reference))

    @cached_property
    def previous(self) -> Picture:
        return _locked(self.fit(self._given.previous))

    @cached_property
    def grid(self) -> Picture | None:
        return self.reference


def _locked(picture: NDArray[Any]) -> NDArray[Any]:
    """Many metrics share a picture: none may write into it."""
    picture.setflags(write=False)
    return picture


def once(memo: dict[Any, Any], key: Any, make: Callable[[], Made]) -> Made:
    """What a memo holds under `key`, made where it is not there yet."""
    if key not in memo:
        memo[key] = make()
    return cast(Made, memo[key])


def open_case(case: Case) -> OpenCase:
    """Read the images of a case when they are first looked at.

    Args:
        case: of a set that `load_cases` gave.

    Returns:
        The case with `previous`, `reference`, `roi`, ... as arrays on one grid.

    >>> case = next(iter(mb.load_cases("phantoms:count=2")))
    >>> mb.open_case(case).previous.dtype
    dtype('uint8')
    """
    return OpenCase(case)
