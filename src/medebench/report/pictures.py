"""The pictures of the page: small and large views, ROI outlines, maps of what changed.

All views of a case share one grid, that of its previous image: an output of another size is
brought to it as the metrics do, so that outline, map and slider lie exactly over it.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.cases.image import Picture
from medebench.files import write_bytes, write_text

if TYPE_CHECKING:
    from medebench.cases import OpenCase

#: Part of every name: a new way of drawing makes new files.
STYLE = "1"
SMALL = 224
LARGE = 512
MAP = 320
#: A mean difference of this share of the data range is drawn at full strength.
FULL_CHANGE = 0.4

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Names:
    """Where a picture with this key lies, relative to the report."""

    key: str

    @property
    def small(self) -> str:
        return f"assets/small/{self.key}.webp"

    @property
    def large(self) -> str:
        return f"assets/large/{self.key}.webp"

    @property
    def change(self) -> str:
        return f"assets/change/{self.key}.webp"

    @property
    def outline(self) -> str:
        return f"assets/outline/{self.key}.svg"


def key_of(*parts: str) -> str:
    """A name made of content hashes, never of what somebody wrote."""
    return hashlib.sha256("\n".join((STYLE, *parts)).encode()).hexdigest()[:20]


def write_views(out: Path, key: str, picture: Picture, data_range: int) -> None:
    shown = to_bytes(picture, data_range)
    names = Names(key)
    large = shrink(shown, LARGE)
    write_bytes(out / names.large, webp(large, 82))
    write_bytes(out / names.small, webp(shrink(large, SMALL), 74))


def write_change(out: Path, key: str, case: OpenCase, output: Picture) -> None:
    strength = change_map(case.previous, output, case.data_range)
    write_bytes(out / Names(key).change, webp(colour_change(strength), 70))


def write_outline(out: Path, key: str, roi: NDArray[np.bool_]) -> None:
    write_text(out / Names(key).outline, outline_svg(roi))


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
    small = shrink(difference, MAP)
    return np.asarray(small.mean(axis=2, dtype=np.float32) / np.float32(data_range), np.float32)


def colour_change(strength: NDArray[np.float32]) -> Bytes:
    """Black for none to pale yellow for `FULL_CHANGE` and more."""
    scaled = np.clip(strength * (255 / FULL_CHANGE), 0, 255).astype(np.uint8)
    coloured = cv2.applyColorMap(scaled, cv2.COLORMAP_INFERNO)
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


def webp(picture: Bytes, quality: int) -> bytes:
    stream = io.BytesIO()
    # The fastest method: a third of the default's time for a few percent more bytes.
    Image.fromarray(picture).save(stream, "WEBP", quality=quality, method=0)
    return stream.getvalue()
