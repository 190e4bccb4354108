"""Arrays that somebody hands to a metric, as the pictures it is defined for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.errors import InputError
from medebench.images.picture import Mask, Picture


def as_pictures(*given: NDArray[Any]) -> tuple[Picture, ...]:
    """(height, width, 3), all of one shape and depth; grey pictures get three equal channels."""
    found = [np.asarray(one) for one in given]
    first = found[0]
    channels = first.shape[2:]
    if (
        first.ndim < 2
        or first.dtype not in (np.uint8, np.uint16)
        or channels not in ((), (1,), (3,))
    ):
        raise InputError(
            f"image: expected height x width x 3 (or height x width) of uint8 or uint16, "
            f"found {_facts(first)}"
        )
    for one in found[1:]:
        if one.shape != first.shape or one.dtype != first.dtype:
            raise InputError(f"images differ: {_facts(first)} and {_facts(one)}; resize one first")
    if channels == (3,):
        return tuple(found)
    return tuple(np.repeat(one.reshape(*first.shape[:2], 1), 3, axis=2) for one in found)


def as_region(roi: NDArray[Any], picture: Picture) -> NDArray[np.bool_]:
    """True inside; of a grey mask the brighter half, as for the mask of a case."""
    mask = np.asarray(roi)
    if mask.shape != picture.shape[:2]:
        raise InputError(f"roi: is {_size(mask)}, the image {_size(picture)}; resize one first")
    return mask if mask.dtype == np.bool_ else np.asarray(mask > 127)


def as_mask(roi: NDArray[Any], picture: Picture) -> Mask:
    """The same with its greys, 0 to 255."""
    inside = as_region(roi, picture)
    mask = np.asarray(roi)
    return mask if mask.dtype == np.uint8 else inside.astype(np.uint8) * 255


def _facts(array: NDArray[Any]) -> str:
    return f"{_size(array)} {array.dtype}"


def _size(array: NDArray[Any]) -> str:
    return " x ".join(map(str, array.shape)) or "a number"
