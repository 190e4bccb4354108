"""Reading any image file into an array with a known data range.

Every picture becomes (height, width, 3) `uint8`, or `uint16` where the file really holds more
than eight bits. Alpha is dropped and colour profiles are ignored, as the published scripts do;
EXIF rotation is applied, because that is what a person sees.
"""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from medebench.errors import (
    DamagedImageError,
    ImageError,
    InputError,
    OversizedImageError,
)
from medebench.files import read_bytes

#: (height, width, 3), uint8 or uint16.
Picture: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[np.uint8]

FORMATS = ("PNG", "JPEG", "WEBP", "TIFF", "BMP")
SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp")
#: Beyond this a file is refused before it is decoded; `MEDEBENCH_MAX_PIXELS` moves the limit.
MAX_PIXELS = 64_000_000

_ORIENTATION = 0x0112
_BITS_PER_SAMPLE = 258

# What Pillow warns of is an error of ours (too many pixels) or does not touch the pixels.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)
warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")


def read_picture(path: Path, data: bytes | None = None) -> Picture:
    """The pixels of `path` (or of `data`, its bytes), three channels, 8 or 16 bits."""
    data = read_file(path) if data is None else data
    if (plain := _plain_png(path, data)) is not None:
        return plain if plain.shape[2] == 3 else np.repeat(plain, 3, axis=2)
    image = open_image(path, data)
    if _is_deep_colour(image, data):
        return _read_deep_colour(path, data)
    pixels = _decoded(path, image, "RGB", "image")
    return _spread(pixels) if pixels.ndim == 2 else pixels


def read_mask(path: Path, data: bytes | None = None) -> Mask:
    """The mask at `path` as (height, width) greys 0-255; the ROI is where it is above 127."""
    data = read_file(path) if data is None else data
    plain = _plain_png(path, data)
    if plain is not None and plain.shape[2] == 1:
        return _label_map(plain[..., 0])
    grey = _decoded(path, open_image(path, data), "L", "mask")
    if grey.dtype == np.uint16:
        grey = (grey if grey.max(initial=0) <= 255 else grey >> 8).astype(np.uint8)
    return _label_map(grey)


def _decoded(path: Path, image: Image.Image, mode: str, kind: str) -> NDArray[Any]:
    """Pixels in this mode of Pillow's; where the file has 16 bits, one plane of them."""
    try:
        image = upright(image)
        if image.mode in ("I;16", "I;16L", "I;16B", "I;16N", "I"):
            return _sixteen_bits(path, image)
        if image.mode == "F":
            raise ImageError(f"{path}: floating-point {kind}; save 8 or 16 bits")
        # Pillow's first conversion of a palette with transparency warns; RGBA does not.
        if image.mode == "P" and "transparency" in image.info:
            image = image.convert("RGBA")
        return np.asarray(image.convert(mode))
    except ImageError:
        raise
    except Exception as error:
        # Decoders raise whatever a damaged file makes them stumble over.
        raise DamagedImageError(f"{path}: damaged or truncated {kind} ({_why(error)})") from error


def _label_map(grey: Mask) -> Mask:
    """Label maps of zeros and ones would else read as empty."""
    return grey * np.uint8(255) if grey.max(initial=0) == 1 else grey


def read_file(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except FileNotFoundError:
        raise ImageError(f"{path}: no such file") from None
    except OSError as error:
        raise ImageError(f"{path}: cannot be read ({error.strerror})") from error


def open_image(path: Path, data: bytes) -> Image.Image:
    """The header of an image, checked for size before any pixel is decoded."""
    if not data:
        raise ImageError(f"{path}: empty file")
    try:
        image = Image.open(io.BytesIO(data), formats=FORMATS)
    except Image.DecompressionBombError:
        raise OversizedImageError(
            f"{path}: larger than {_max_pixels():,} pixels; {_SMALLER}"
        ) from None
    except UnidentifiedImageError:
        raise ImageError(f"{path}: not an image ({', '.join(FORMATS)} are read)") from None
    except Exception as error:
        raise DamagedImageError(f"{path}: damaged image ({_why(error)})") from error
    check_size(path, *image.size)
    return image


_SMALLER = "make it smaller or raise MEDEBENCH_MAX_PIXELS"


def check_size(path: Path, width: int, height: int) -> None:
    if width * height > _max_pixels():
        raise OversizedImageError(
            f"{path}: {width} x {height} is more than {_max_pixels():,} pixels; {_SMALLER}"
        )
    if not width * height:
        raise ImageError(f"{path}: has no pixels")


def upright(image: Image.Image) -> Image.Image:
    """The picture as a viewer shows it: EXIF rotation applied."""
    if "exif" not in image.info and image.format != "TIFF":
        return image
    if image.getexif().get(_ORIENTATION, 1) == 1:
        return image
    return ImageOps.exif_transpose(image)


def data_range(picture: Picture, bits: int | None = None) -> int:
    """The largest value a pixel can take: 255, 65535, or what the case's `bits` say."""
    if picture.dtype == np.uint8:
        return 255
    return 65535 if bits is None else (1 << bits) - 1


def match(picture: Picture, like: Picture, bits: int | None = None) -> Picture:
    """`picture` in the size (bicubic) and the depth of `like`, so that the two can be compared."""
    if picture.dtype != like.dtype:
        top, given = data_range(like, bits), data_range(picture, bits)
        scaled = np.round(picture.astype(np.float64) * (top / given))
        picture = np.clip(scaled, 0, top).astype(like.dtype)
    if picture.shape[:2] != like.shape[:2]:
        picture = resize(picture, like.shape[1], like.shape[0])
    return np.ascontiguousarray(picture)


def resize(
    picture: Picture, width: int, height: int, kind: Image.Resampling = Image.Resampling.BICUBIC
) -> Picture:
    """Antialiased when shrinking (Pillow's), for 8 and for 16 bits."""
    if picture.dtype == np.uint8:
        image = Image.fromarray(picture)
        return np.asarray(image.resize((width, height), kind))
    planes = [
        np.asarray(Image.fromarray(plane).resize((width, height), kind))
        for plane in np.moveaxis(picture.astype(np.float32), -1, 0)
    ]
    return np.clip(np.round(np.stack(planes, axis=-1)), 0, 65535).astype(np.uint16)


def resize_mask(mask: Mask, width: int, height: int) -> Mask:
    """Nearest neighbour: no new greys."""
    if mask.shape == (height, width):
        return mask
    return np.asarray(Image.fromarray(mask).resize((width, height), Image.Resampling.NEAREST))


def encode_png(picture: Picture) -> bytes:
    """PNG bytes without any metadata, 8 or 16 bits."""
    if picture.dtype == np.uint16:
        import cv2

        grey = (picture == picture[..., :1]).all()
        plane = picture[..., 0] if grey else picture[..., ::-1]
        done, buffer = cv2.imencode(".png", np.ascontiguousarray(plane))
        if not done:
            raise ImageError("a 16-bit picture could not be encoded as PNG")
        return bytes(buffer.tobytes())
    stream = io.BytesIO()
    # Level 1 is four times as fast as Pillow's default for a tenth more bytes.
    Image.fromarray(picture).save(stream, "PNG", compress_level=1)
    return stream.getvalue()


def _max_pixels() -> int:
    given = os.environ.get("MEDEBENCH_MAX_PIXELS")
    if given is None:
        return MAX_PIXELS
    if not given.isdecimal():
        raise InputError(f"MEDEBENCH_MAX_PIXELS: expected a whole number, found '{given}'")
    # Pillow has a limit of its own, which must not undercut the user's.
    Image.MAX_IMAGE_PIXELS = max(Image.MAX_IMAGE_PIXELS or 0, int(given))
    return int(given)


def _plain_png(path: Path, data: bytes) -> NDArray[np.uint8] | None:
    """The pixels of a plain PNG, without the time that Pillow takes to look at its header."""
    # Compiled code, imported only once there is a picture to decode.
    from medebench.images.png import plain_size, read_plain_png

    if (size := plain_size(data)) is None or not size[0] * size[1]:
        return None
    check_size(path, *size)
    return read_plain_png(data)


def _is_deep_colour(image: Image.Image, data: bytes) -> bool:
    """16 bits in more than one channel: what Pillow silently cuts to eight."""
    if image.format == "PNG":
        return data[24] == 16 and data[25] in (2, 4, 6)
    if image.format == "TIFF" and image.mode in ("RGB", "RGBA", "RGBX"):
        depths = getattr(image, "tag_v2", {}).get(_BITS_PER_SAMPLE, (8,))
        return bool(max(depths) > 8)
    return False


def _read_deep_colour(path: Path, data: bytes) -> Picture:
    import cv2

    try:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error as error:
        raise DamagedImageError(f"{path}: damaged or truncated image ({error.err})") from error
    if pixels is None or pixels.ndim != 3 or pixels.dtype != np.uint16 or pixels.shape[2] < 3:
        raise DamagedImageError(f"{path}: damaged or truncated image")
    return np.ascontiguousarray(pixels[..., 2::-1])


def _sixteen_bits(path: Path, image: Image.Image) -> NDArray[np.uint16]:
    plane = np.asarray(image)
    if plane.min(initial=0) < 0 or plane.max(initial=0) > 65535:
        raise ImageError(f"{path}: more than 16 bits per pixel; save 8 or 16 bits")
    return plane.astype(np.uint16)


def _spread(plane: NDArray[np.uint16]) -> NDArray[np.uint16]:
    return np.repeat(plane[..., None], 3, axis=2)


def _why(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
