"""The pictures of the page: small and large views, ROI outlines, maps of what changed.

All views of a case share one grid, that of its previous image: an output of another size is
brought to it as the metrics do, so that outline, map and slider lie exactly over it.
"""

from __future__ import annotations

import hashlib
import io
from functools import cache
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.images.picture import Picture
from medebench.page.image_packs import as_text

if TYPE_CHECKING:
    from medebench.cases import OpenCase

#: Part of every name: a new way of drawing makes new files.
STYLE = "2"
#: Up to here JPEG: a quarter of the time, and WebP would save little of so few bytes.
SMALL = 224
LARGE = 512
MAP = 320
#: A mean difference of this share of the data range is drawn at full strength.
FULL_CHANGE = 0.4

Bytes = NDArray[np.uint8]


def key_of(*parts: str) -> str:
    """A name made of content hashes, never of what somebody wrote."""
    return hashlib.sha256("\n".join((STYLE, *parts)).encode()).hexdigest()[:20]


def draw_views(picture: Picture, data_range: int) -> tuple[str, str | None]:
    """The small and the large view; no large one where the picture itself is small."""
    shown = to_bytes(picture, data_range)
    if max(shown.shape[:2]) <= SMALL:
        return encode(shown, 82), None
    large = shrink(shown, LARGE)
    return encode(shrink(large, SMALL), 74), encode(large, 82)


def draw_change(case: OpenCase, output: Picture) -> str:
    return encode(colour_change(change_map(case.previous, output, case.data_range)), 70)


def to_bytes(picture: Picture, data_range: int) -> Bytes:
    """Eight bits for the screen; deep pictures are scaled from their whole range."""
    if picture.dtype == np.uint8:
        return np.ascontiguousarray(picture, np.uint8)
    scaled = picture.astype(np.float32) * np.float32(255 / data_range)
    return np.clip(np.round(scaled), 0, 255).astype(np.uint8)


def shrink(picture: NDArray[Any], longest: int) -> NDArray[Any]:
    height, width = picture.shape[:2]
    scale = longest / max(height, width)
    if scale >= 1:
        return picture
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), picture.dtype)


def change_map(previous: Picture, output: Picture, data_range: int) -> NDArray[np.float32]:
    """Mean over channels of |output - previous|, as a share of the range, at most `MAP` wide."""
    difference = cv2.absdiff(np.ascontiguousarray(previous), np.ascontiguousarray(output))
    # Averaging pixels and averaging channels may change places, and small is faster.
    mean = cv2.transform(shrink(difference, MAP).astype(np.float32), _CHANNEL_MEAN)
    return np.asarray(mean / np.float32(data_range), np.float32)


_CHANNEL_MEAN = np.full((1, 3), 1 / 3, np.float32)


def colour_change(strength: NDArray[np.float32]) -> Bytes:
    """Black for none to pale yellow for `FULL_CHANGE` and more."""
    scaled = np.clip(strength * (255 / FULL_CHANGE), 0, 255).astype(np.uint8)
    return np.asarray(cv2.applyColorMap(scaled, _inferno()), np.uint8)


@cache
def _inferno() -> Bytes:
    """The colours of the strengths 0 to 255, RGB; OpenCV would work them out for every map."""
    every = np.arange(256, dtype=np.uint8).reshape(256, 1)
    coloured = cv2.applyColorMap(every, cv2.COLORMAP_INFERNO)
    return np.asarray(cv2.cvtColor(coloured, cv2.COLOR_BGR2RGB), np.uint8)


def outline_svg(roi: NDArray[np.bool_]) -> str:
    """The border of the ROI as a vector: sharp at every size, light on dark and dark on light."""
    height, width = roi.shape
    stroke = 'fill="none" stroke-linejoin="round" vector-effect="non-scaling-stroke"'
    line = contour_path(roi)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-.5 -.5 {width} {height}" '
        'preserveAspectRatio="none">'
        f'<path d="{line}" {stroke} stroke="#000" stroke-opacity=".65" stroke-width="3.5"/>'
        f'<path d="{line}" {stroke} stroke="#5ff" stroke-width="1.6"/></svg>\n'
    )


def contour_path(mask: NDArray[np.bool_], least: float = 0.0) -> str:
    """The borders of a mask, holes included, as the data of an SVG path.

    Parts and holes below the share `least` of the frame are left out.
    """
    height, width = mask.shape
    contours, _ = cv2.findContours(
        mask.astype(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_TC89_KCOS
    )
    path = []
    for contour in contours:
        if least and cv2.contourArea(contour) < least * mask.size:
            continue
        points = cv2.approxPolyDP(contour, max(height, width) / 600, True).reshape(-1, 2)
        path.append("M" + "L".join(f"{x} {y}" for x, y in points.tolist()) + "Z")
    return "".join(path)


def encode(picture: Bytes, quality: int) -> str:
    """A picture for a pack, of this quality on the scale of WebP; that of JPEG is 6 higher."""
    if max(picture.shape[:2]) > SMALL:
        return as_text("webp", webp(picture, quality))
    options = [cv2.IMWRITE_JPEG_QUALITY, quality + 6, cv2.IMWRITE_JPEG_OPTIMIZE, 1]
    _, data = cv2.imencode(".jpg", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), options)
    return as_text("jpeg", data.tobytes())


def webp(picture: Bytes, quality: int) -> bytes:
    stream = io.BytesIO()
    # The fastest method: a third of the default's time for a few percent more bytes.
    Image.fromarray(picture).save(stream, "WEBP", quality=quality, method=0)
    return stream.getvalue()
