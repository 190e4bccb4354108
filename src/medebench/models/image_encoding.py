"""Images as sent to models: 8 bits, no larger than needed, without metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from medebench.errors import InputError
from medebench.models.ask import Image

if TYPE_CHECKING:
    from medebench.images.picture import Picture


def encode_for_model(picture: Picture, max_side: int = 768, bits: int | None = None) -> Image:
    """`picture` shrunk to `max_side` (never enlarged), cut to 8 bits and encoded.

    `bits` is the depth a 16-bit picture really uses (12 for many scanners). The same pixels
    always give the same bytes.
    """
    import numpy as np

    from medebench.images.picture import data_range, encode_png, resize

    if max_side < 1:
        raise InputError(f"max_side: expected at least 1, found {max_side}")
    if picture.ndim == 2:
        picture = np.repeat(picture[..., None], 3, axis=2)
    height, width = picture.shape[:2]
    if max(height, width) > max_side:
        scale = max_side / max(height, width)
        picture = resize(picture, max(1, round(width * scale)), max(1, round(height * scale)))
    if picture.dtype != np.uint8:
        top = data_range(picture, bits)
        picture = np.clip(np.round(picture * (255.0 / top)), 0, 255).astype(np.uint8)
    return Image(encode_png(np.ascontiguousarray(picture)), "image/png")
