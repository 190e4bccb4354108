"""Resizing and cutting out as torchvision's transforms do it, with Pillow alone."""

from __future__ import annotations

from PIL import Image

from medebench.errors import ImageError

#: A picture of 1 x 5000 pixels, resized by its shorter side, would be a gigabyte.
_MOST_PIXELS = 64_000_000


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


def _resized(
    image: Image.Image, height: int, width: int, resample: Image.Resampling
) -> Image.Image:
    if height * width > _MOST_PIXELS:
        raise ImageError(
            f"a picture of {image.width} x {image.height} pixels is too narrow"
            " to be resized by its shorter side"
        )
    # A very narrow picture, made to fit inside, would lose its shorter side.
    return image.resize((max(width, 1), max(height, 1)), resample)
