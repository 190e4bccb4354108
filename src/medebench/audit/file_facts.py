"""The small facts kept of each file: read, hashed and decoded once, then let go."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.audit.likeness import THUMB, perceptual_hash
from medebench.audit.privacy import personal_kinds
from medebench.errors import DamagedImageError, ImageError, OversizedImageError
from medebench.images.picture import (
    Mask,
    Picture,
    open_image,
    read_file,
    read_mask,
    read_picture,
)
from medebench.metrics.colour import TOLERANCE, to_lab

#: Side of the small square pictures on which pairs are compared for alignment.
VIEW = 64
#: Side of the window in which preservation is measured.
WINDOW = 7
_ORIENTATION = 0x0112


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why a file cannot be used at all; the message does not repeat its path."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Look:
    """What two pictures are compared by: a hash (None if too flat for one) and a thumbnail."""

    hash: int | None
    thumb: bytes


@dataclass(frozen=True, slots=True)
class Region:
    """What a mask says about its region of interest."""

    share: float
    #: Share of the 7 x 7 windows that lie wholly outside the region.
    free: float
    #: Share of the pixels that are neither 0 nor 255.
    greys: float
    #: Stored as zeros and ones, so that other programs see an empty mask.
    zero_one: bool


@dataclass(frozen=True, slots=True)
class FileFacts:
    path: Path
    flaw: Flaw | None = None
    format: str = ""
    mode: str = ""
    #: Width and height, upright.
    size: tuple[int, int] = (0, 0)
    #: Hash of the pixels as medebench reads them (of the region, for a mask).
    pixels: bytes = b""
    sixteen_bit: bool = False
    rotated: bool = False
    transparent: bool = False
    frames: int = 1
    #: Kinds of metadata that may say something about a person, never their values.
    personal: tuple[str, ...] = ()
    look: Look | None = None
    region: Region | None = None


class View(NamedTuple):
    """A picture on `VIEW` x `VIEW` cells: its greys, and its softened colours (CIE Lab)."""

    grey: NDArray[np.uint8]
    lab: NDArray[np.float32]


class Gathered(NamedTuple):
    """The facts to keep, and what is dropped once the pair is compared."""

    facts: FileFacts
    view: View | None = None
    #: Of a mask, the share of every cell of a view that it covers.
    cover: NDArray[np.float32] | None = None


def gather(path: Path, mask: bool, data: bytes | None = None) -> Gathered:
    """Everything the audit needs to know about a file; a bad file is a fact too."""
    try:
        if data is None:
            data = read_file(path)
        header = open_image(path, data)
        return _mask(path, data, header) if mask else _picture(path, data, header)
    except ImageError as error:
        message = str(error).removeprefix(f"{path}: ")
        return Gathered(FileFacts(path, Flaw(_code(path, error), message)))
    except Exception as error:  # a decoder can fail in any way on a hostile file
        message = f"cannot be read ({type(error).__name__})"
        return Gathered(FileFacts(path, Flaw("unreadable-image", message)))


def _picture(path: Path, data: bytes, header: Image.Image) -> Gathered:
    picture = read_picture(path, data)
    thumb = _grey(picture, THUMB)
    facts = replace(
        _header_facts(path, data, header),
        size=(picture.shape[1], picture.shape[0]),
        pixels=digest(picture),
        sixteen_bit=picture.dtype == np.uint16,
        look=Look(perceptual_hash(thumb), thumb.tobytes()),
    )
    return Gathered(facts, _view(picture))


def _mask(path: Path, data: bytes, header: Image.Image) -> Gathered:
    mask = read_mask(path, data)
    inside = mask > 127
    facts = replace(
        _header_facts(path, data, header),
        size=(mask.shape[1], mask.shape[0]),
        pixels=digest(inside),
        region=region_of(mask, _is_zero_one(header)),
    )
    cells = cv2.resize(inside.astype(np.float32), (VIEW, VIEW), interpolation=cv2.INTER_AREA)
    return Gathered(facts, cover=np.asarray(cells, np.float32))


def region_of(mask: Mask, zero_one: bool = False) -> Region:
    inside = mask > 127
    return Region(
        share=float(inside.mean()),
        free=free_windows(inside),
        greys=float(((mask != 0) & (mask != 255)).mean()),
        zero_one=zero_one,
    )


def free_windows(inside: NDArray[np.bool_]) -> float:
    """The share of all `WINDOW` x `WINDOW` windows that hold no pixel of the region."""
    if min(inside.shape) < WINDOW:
        return 0.0
    touched = cv2.dilate(inside.astype(np.uint8), np.ones((WINDOW, WINDOW), np.uint8))
    edge = WINDOW // 2
    return float((touched[edge:-edge, edge:-edge] == 0).mean())


def digest(pixels: NDArray[np.generic]) -> bytes:
    summary = hashlib.blake2b(f"{pixels.shape}{pixels.dtype}".encode(), digest_size=16)
    summary.update(np.ascontiguousarray(pixels).data)
    return summary.digest()


def _view(picture: Picture) -> View:
    small = cv2.resize(picture, (VIEW, VIEW), interpolation=cv2.INTER_AREA)
    # Of a 16-bit file the bits in use, as it is shown on a screen.
    deep = picture.dtype == np.uint16
    top = (1 << max(int(picture.max()).bit_length(), 8)) - 1 if deep else 255
    lab = to_lab(small.astype(np.float32) / top)
    soft = np.asarray(cv2.GaussianBlur(lab, (0, 0), TOLERANCE * VIEW), np.float32)
    return View(_grey(picture, VIEW), soft)


def _grey(picture: Picture, side: int) -> NDArray[np.uint8]:
    small = cv2.resize(picture, (side, side), interpolation=cv2.INTER_AREA)
    grey = np.asarray(cv2.cvtColor(small.astype(np.float32), cv2.COLOR_RGB2GRAY))
    if picture.dtype == np.uint16:
        # Twelve bits in a 16-bit file would be all but black.
        grey = grey * (255 / max(float(grey.max()), 1.0))
    return np.round(grey).clip(0, 255).astype(np.uint8)


def _header_facts(path: Path, data: bytes, header: Image.Image) -> FileFacts:
    may_rotate = "exif" in header.info or header.format == "TIFF"
    return FileFacts(
        path=path,
        format=header.format or "",
        mode=header.mode,
        rotated=may_rotate and header.getexif().get(_ORIENTATION, 1) != 1,
        frames=int(getattr(header, "n_frames", 1)),
        personal=personal_kinds(data, header),
        # Last: it decodes, and the decoder moves things in the header.
        transparent=_is_transparent(header),
    )


def _is_transparent(header: Image.Image) -> bool:
    if "A" not in header.getbands() and "transparency" not in header.info:
        return False
    lowest = header.convert("RGBA").getchannel("A").getextrema()[0]
    return isinstance(lowest, int | float) and lowest < 255


def _is_zero_one(header: Image.Image) -> bool:
    if header.mode not in ("L", "RGB", "I", "I;16", "I;16B", "I;16L"):
        return False
    return bool(np.max(header.getextrema()) == 1)


def _code(path: Path, error: ImageError) -> str:
    if not path.exists():
        return "missing-file"
    if isinstance(error, OversizedImageError):
        return "oversized-image"
    return "truncated-image" if isinstance(error, DamagedImageError) else "unreadable-image"
