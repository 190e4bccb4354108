"""What a system of any origin returned, as everybody else wants it.

An answer of another size than the case is brought to it, or refused: models and services answer in
sizes of their own. The same picture in another resolution can be compared; one of another shape has
been cropped, padded or stretched, and cannot.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.images.picture import Picture, resize
from medebench.outputs import Output, whole
from medebench.outputs.output_files import MOST_TEXT
from medebench.systems.request import Refused


def as_output(made: Any) -> Output:
    """A system's result as an output, or a refusal that says what it was."""
    if isinstance(made, str):
        made = Output(text=made)
    given = whole(made)
    if not isinstance(given.text, str | None):
        raise Refused(f"the system returned a {type(given.text).__name__} as text")
    if given.text is not None and len(given.text) > MOST_TEXT:
        length = len(given.text)
        raise Refused(f"the system returned {length:,} characters; {MOST_TEXT:,} are kept")
    image = None if given.image is None else as_picture(given.image)
    return Output(
        image, given.text, detail=given.detail, attention=given.attention, drafts=given.drafts
    )


def as_picture(made: Any) -> Picture:
    """An editor's result as (height, width, 3) 8 or 16 bits, or a refusal that says what it was."""
    if isinstance(made, Image.Image):
        made = np.asarray(made.convert("RGB"))
    if not isinstance(made, np.ndarray) or made.dtype not in (np.uint8, np.uint16):
        kind = f"{made.dtype} array" if isinstance(made, np.ndarray) else type(made).__name__
        raise Refused(f"the editor returned a {kind}; uint8, uint16 or a PIL image is needed")
    pixels: NDArray[Any] = made
    if pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] == 1):
        pixels = np.repeat(pixels.reshape(*pixels.shape[:2], 1), 3, axis=2)
    if pixels.ndim != 3 or pixels.shape[2] not in (3, 4) or not pixels.size:
        raise Refused(f"the editor returned an array of shape {made.shape}; (h, w, 3) is needed")
    return np.ascontiguousarray(pixels[..., :3])


def as_map(made: Any) -> NDArray[np.float32]:
    """An editor's attention as one number in 0..1 per place, or a refusal that says what it was."""
    values = np.asarray(made)
    if values.ndim != 2 or not values.size or not np.issubdtype(values.dtype, np.number):
        raise Refused(f"the editor's attention has shape {values.shape}; (h, w) is needed")
    heat = values.astype(np.float32)
    if not np.isfinite(heat).all() or heat.min() < 0 or heat.max() > 1:
        raise Refused("the editor's attention holds values outside 0 to 1")
    return heat


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
