"""Reference and output as the published code sees them: their own sizes, 8 bits, no case's grid."""

from __future__ import annotations

import numpy as np
from PIL import Image

from medebench.cases.open_case import OpenCase, once
from medebench.images.picture import Picture, read_picture
from medebench.metrics.metric import Undefined
from medebench.reason import Reason


def reference_as_published(case: OpenCase) -> Image.Image:
    """The reference in its own size, in RGB."""
    path = case.case.reference
    if path is None:
        raise Undefined("the case has no reference")
    return once(case.memo, "reference as published", lambda: _rgb(read_picture(path)))


def output_as_published(came: Picture | None) -> Image.Image:
    """The output in the size it came in, in RGB."""
    if came is None:
        raise Undefined(Reason("no-part", "the output has no image"))
    return _rgb(came)


def pair_as_published(case: OpenCase, came: Picture | None) -> tuple[Image.Image, Image.Image]:
    """Both, the output stretched to the size of the reference, whatever its shape was."""
    made, reference = output_as_published(came), reference_as_published(case)
    if made.size != reference.size:
        made = made.resize(reference.size, Image.Resampling.LANCZOS)
    return reference, made


def _rgb(picture: Picture) -> Image.Image:
    """What Pillow's conversion leaves of 16 bits: of grey the lowest 255 values, of colour the
    upper eight bits.
    """
    if picture.dtype == np.uint16:
        grey = bool((picture == picture[..., :1]).all())
        picture = (picture.clip(0, 255) if grey else picture >> 8).astype(np.uint8)
    return Image.fromarray(np.ascontiguousarray(picture))
