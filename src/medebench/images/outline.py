"""A picture as a screen shows it, with a region outlined."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from medebench.images.picture import Mask, Picture

_CYAN = (0, 200, 220)


def on_screen(picture: Picture, largest: int | None = None) -> NDArray[np.uint8]:
    """In eight bits. `largest` is the largest value; by default of as many bits as are used."""
    if picture.dtype == np.uint8:
        return picture
    top = largest or max((1 << int(picture.max()).bit_length()) - 1, 255)
    return np.asarray(picture * (255 / top)).astype(np.uint8)


def outlined(picture: NDArray[np.uint8], mask: Mask | NDArray[np.bool_]) -> NDArray[np.uint8]:
    """With a line around what is True, or in the brighter half, of the mask."""
    inside: Any = mask if mask.dtype == np.bool_ else mask > 127
    found, _ = cv2.findContours(inside.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    drawn = picture.copy()
    cv2.drawContours(drawn, found, -1, _CYAN, 2)
    return drawn
