"""Checks that a user's pictures and masks are usable, before any work is done."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from medebench.errors import ImageError
from medebench.files import open_file
from medebench.images.picture import FORMATS, Mask, check_size, read_mask, read_picture

#: Where a file of the format ends; one without it was cut off, or has something behind it.
_ENDS = {"PNG": b"IEND", "JPEG": b"\xff\xd9"}
_LOOKED_AT = 1024
_ORIENTATION = 0x0112
#: More than this share between dark and bright, in more levels than that, is no mask; soft edges
#: and the noise of JPEG stay far below.
_GREY, _DARK, _BRIGHT, _FLAT = 0.25, 20, 235, 8


def size_of(path: Path) -> tuple[int, int]:
    """(width, height) from the header alone; ImageError for what is missing, damaged, no picture.

    All of a file is decoded only if it does not end as its format does.
    """
    try:
        with open_file(path) as file, Image.open(file, formats=FORMATS) as image:
            size, kind = _upright_size(image), str(image.format)
    except Exception:
        # Slower, but it knows the words for everything that can be wrong.
        height, width = read_picture(path).shape[:2]
        return width, height
    check_size(path, *size)
    if kind in _ENDS and _ENDS[kind] not in _last_bytes(path):
        read_picture(path)
    return size


def mask_problem(
    path: Path,
    size: tuple[int, int],
    *,
    empty: str | None = None,
    full: str | None = None,
    drawn: bool = True,
) -> str | None:
    """What is wrong with the mask of a picture of this (width, height).

    `empty` is said of one that marks nothing, `full` of one that marks all; None: it may. A
    `drawn` one is black and white.
    """
    try:
        mask = read_mask(path)
    except ImageError as error:
        return str(error)
    if problem := _size_problem(path, (mask.shape[1], mask.shape[0]), size):
        return f"{problem}; save the mask at the picture's size"
    if drawn and (share := _grey_share(mask)) > _GREY:
        return (
            f"{path}: looks like a photograph, not a mask ({share:.0%} of it is neither black nor"
            " white); save it with the values 0 and 255 only"
        )
    if empty is not None and not (mask > 127).any():
        return f"{path}: {empty}"
    if full is not None and (mask > 127).all():
        return f"{path}: {full}"
    return None


def reference_problem(path: Path, size: tuple[int, int]) -> str | None:
    """What is wrong with the picture that says how one of this (width, height) should look."""
    try:
        found = size_of(path)
    except ImageError as error:
        return str(error)
    return _size_problem(path, found, size)


def _size_problem(path: Path, found: tuple[int, int], size: tuple[int, int]) -> str | None:
    if found == size:
        return None
    return f"{path}: is {found[0]} x {found[1]}, but the picture is {size[0]} x {size[1]}"


def _grey_share(mask: Mask) -> float:
    """How much is neither black nor white; 0 for a few flat greys, which a label map may have."""
    counts = np.bincount(mask.ravel(), minlength=256)[_DARK + 1 : _BRIGHT]
    return float(counts.sum()) / mask.size if np.count_nonzero(counts) > _FLAT else 0.0


def _upright_size(image: Image.Image) -> tuple[int, int]:
    # Asked of a PNG that has none, Pillow decodes all of it to look for EXIF at its end.
    if "exif" not in image.info and image.format != "TIFF":
        return image.size
    turned = image.getexif().get(_ORIENTATION, 1) in (5, 6, 7, 8)
    return (image.height, image.width) if turned else image.size


def _last_bytes(path: Path) -> bytes:
    with open_file(path) as file:
        file.seek(0, 2)
        file.seek(max(file.tell() - _LOOKED_AT, 0))
        return file.read()
