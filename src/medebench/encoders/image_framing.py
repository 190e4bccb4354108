"""How much of an image a network sees, and how it is resized.

Resizing and cutting out are those of torchvision's transforms, with Pillow alone.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.errors import ImageError

#: own: as the model's files say, which may cut off what lies outside the middle.
#: whole: the same where all of the picture is seen so; else all of it, squashed into the frame.
#: published: all of it, squashed without antialiasing, as the script of the MedEBench paper does.
Framing: TypeAlias = Literal["own", "whole", "published"]

#: Of the encoders, what tells vectors of pictures that are framed in another way than their own.
MARKS: dict[Framing, str] = {
    "whole": "whole picture squashed",
    "published": "whole picture squashed without antialiasing",
}
#: Mean and deviation of the colours of the pictures that CLIP was trained on.
CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
CLIP_STD = (0.26862954, 0.26130258, 0.27577711)
#: A picture of 1 x 5000 pixels, resized by its shorter side, would be a gigabyte.
_MOST_PIXELS = 64_000_000
#: The slope of the cubic in torch's interpolation; Pillow's has -0.5.
_SLOPE = -0.75


def shorter_side(
    image: Image.Image, length: int, resample: Image.Resampling = Image.Resampling.BILINEAR
) -> Image.Image:
    """Resized, in proportion, so that the shorter side has this length."""
    width, height = image.size
    longer = int(length * max(width, height) / min(width, height))
    return _resized(image, *((longer, length) if width <= height else (length, longer)), resample)


def in_proportion(
    image: Image.Image,
    height: int,
    width: int,
    resample: Image.Resampling,
    *,
    inside: bool,
) -> Image.Image:
    """Resized, in proportion, to lie just inside of this frame, or to just cover it."""
    ratios = image.height / height, image.width / width
    ratio = max(ratios) if inside else min(ratios)
    return _resized(image, round(image.height / ratio), round(image.width / ratio), resample)


def middle(image: Image.Image, height: int, width: int, fill: int = 0) -> Image.Image:
    """The middle of a picture; where it is smaller than the frame, `fill` around it."""
    if image.width < width or image.height < height:
        wider, higher = max(image.width, width), max(image.height, height)
        canvas = Image.new(image.mode, (wider, higher), (fill,) * len(image.getbands()))
        canvas.paste(image, ((wider - image.width) // 2, (higher - image.height) // 2))
        image = canvas
    # Python rounds halves to the even number, and so does torchvision.
    left, top = round((image.width - width) / 2), round((image.height - height) / 2)
    return image.crop((left, top, left + width, top + height))


def pointwise(pixels: NDArray[np.uint8], height: int, width: int) -> NDArray[np.float32]:
    """(3, height, width) in about 0 ... 255, by a cubic through the four nearest pixels a side.

    It is what `torch.nn.functional.interpolate` does without antialiasing: fine detail aliases in
    a picture that is made smaller, and beside edges values overshoot.
    """
    planes = pixels.transpose(2, 0, 1).astype(np.float64)
    for axis, length in ((1, height), (2, width)):
        places, weights = _taps(planes.shape[axis], length)
        weights = weights[..., None] if axis == 1 else weights
        parts = (planes.take(places[k], axis) * weights[k] for k in range(4))
        planes = sum(parts, start=np.zeros(1))
    return planes.astype(np.float32)


def _taps(length: int, wanted: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """(4, wanted) each: which pixels a new one is made of, and how much of each."""
    centres = (np.arange(wanted) + 0.5) * (length / wanted) - 0.5
    first = np.floor(centres)
    steps = np.arange(-1, 3)[:, None]
    away = np.abs(centres - (first + steps))
    near = ((_SLOPE + 2) * away - (_SLOPE + 3)) * away**2 + 1
    far = _SLOPE * (((away - 5) * away + 8) * away - 4)
    places = (first + steps).clip(0, length - 1).astype(np.intp)
    return places, np.where(away <= 1, near, far)


def _resized(
    image: Image.Image, height: int, width: int, resample: Image.Resampling
) -> Image.Image:
    if height * width > _MOST_PIXELS:
        raise ImageError(
            f"a picture of {image.width} x {image.height} pixels is too narrow"
            " to be resized to its shorter side"
        )
    # A very narrow picture, made to fit inside, would lose its shorter side.
    return image.resize((max(width, 1), max(height, 1)), resample)
