"""The region of a box, as the mask file that cases have: drawn once into the cache folder."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

from medebench.errors import ImageError
from medebench.files import cache_folder, sha256, unwritable, write_bytes
from medebench.images.picture import open_image, read_file, upright

Box = tuple[float, float, float, float]


def box_edges(box: Box, width: int, height: int) -> tuple[int, int, int, int]:
    """Left, top, right and bottom in pixels, cut at the image's border.

    >>> box_edges((0.5, 0.5, 0.5, 1.0), 100, 60)
    (25, 0, 75, 60)
    """
    across, down, wide, tall = box
    left, right = (across - wide / 2) * width, (across + wide / 2) * width
    top, bottom = (down - tall / 2) * height, (down + tall / 2) * height
    return (
        round(min(max(left, 0), width)),
        round(min(max(top, 0), height)),
        round(min(max(right, 0), width)),
        round(min(max(bottom, 0), height)),
    )


def box_mask(image: Path, box: Box) -> Path | None:
    """A mask of the image's size with the box in it; None where nothing of it lies in the image.

    Its name is made of what it shows, so that equal masks are one file.
    """
    try:
        width, height = upright(open_image(image, read_file(image))).size
    except ImageError:
        return None  # the audit says what is wrong with the image
    left, top, right, bottom = box_edges(box, width, height)
    if left >= right or top >= bottom:
        return None
    name = sha256(f"{width} {height} {left} {top} {right} {bottom}".encode())[:32]
    path = cache_folder() / "medgen-boxes" / f"{name}.png"
    if not path.is_file():
        mask = np.zeros((height, width), np.uint8)
        mask[top:bottom, left:right] = 255
        stream = io.BytesIO()
        Image.fromarray(mask).save(stream, "PNG")
        try:
            write_bytes(path, stream.getvalue())
        except OSError as error:
            raise unwritable(path, error) from error
    return path
