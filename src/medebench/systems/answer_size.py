"""An answer of another size than the case: brought to it, or refused.

Models and services answer in sizes of their own. The same picture in another resolution can be
compared; one of another shape has been cropped, padded or stretched, and cannot.
"""

from __future__ import annotations

from typing import Any

from PIL import Image

from medebench.images.picture import Picture, resize
from medebench.systems.request import Refused


def fit_answer(
    picture: Picture, own_width: int, own_height: int, tolerance: float = 0.02
) -> tuple[Picture, dict[str, Any]]:
    """`picture` in the case's own size (Lanczos), and what to note of it: the size it came in.

    `tolerance`: by how much, as a share, its aspect ratio may differ from the case's.
    """
    height, width = picture.shape[:2]
    if (width, height) == (own_width, own_height):
        return picture, {}
    returned = {"returned": [width, height]}
    # Cross products, so that the rule is the same for either picture and has no rounding.
    one, other = width * own_height, height * own_width
    if max(one, other) > (1 + tolerance) * min(one, other) or not one:
        raise Refused(
            f"returned {width} x {height} for a picture of {own_width} x {own_height}", returned
        )
    return resize(picture, own_width, own_height, Image.Resampling.LANCZOS), returned
