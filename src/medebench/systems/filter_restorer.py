"""A classical baseline for restoring tasks: plain filters, chosen by words of the instruction."""

from __future__ import annotations

import re

import cv2
import numpy as np
from PIL import Image

from medebench.images.picture import Picture, resize
from medebench.outputs import Output
from medebench.systems.request import Request
from medebench.systems.system import Editor

#: A picture is enlarged by this factor at most.
_LARGEST = 8
#: Share of pixels that a stretch of the contrast lets go at either end.
_TAILS = 0.5


class FilterRestorer(Editor):
    """It removes noise, enlarges, stretches contrast and mends lines.

    It reads a few words only; where they ask for nothing of this, the picture stays as it is.
    """

    summary = "plain filters: removes noise and lines, enlarges, stretches contrast"
    example = "filter-restorer"

    def edit(self, request: Request) -> Output:
        previous = request.case.previous
        if (picture := restored(previous, request.instruction)) is None:
            return Output(previous, detail={"filter": "none: the instruction names none"})
        return Output(picture)


def restored(picture: Picture, instruction: str) -> Picture | None:
    """The picture through the filter that the instruction asks for, or None if it names none.

    >>> grey = np.full((8, 8, 3), 100, np.uint8)
    >>> restored(grey, "Raise the resolution 2 times.").shape
    (16, 16, 3)
    """
    words = instruction.lower()
    if "noise" in words:
        return without_noise(picture, single="salt" in words or "impulse" in words)
    if "resolution" in words:
        times = re.search(r"\b(\d)\s*(?:x|times|-fold)", words)
        return enlarged(picture, int(times.group(1)) if times else 2)
    if "contrast" in words:
        return stretched(picture)
    if "artifact" in words or "artefact" in words:
        return without_lines(picture)
    return None


def without_noise(picture: Picture, single: bool = False) -> Picture:
    """A median where `single` pixels are wrong, else a bilateral filter as wide as the noise."""
    top = np.iinfo(picture.dtype).max
    if single:
        median = np.asarray(cv2.medianBlur(picture, 3))
        return np.where((picture == 0) | (picture == top), median, picture)
    values = picture.astype(np.float32) / top
    # Of white noise, the difference of neighbours spreads by the root of 2.
    spread = 1.4826 * float(np.median(np.abs(np.diff(values, axis=1)))) / np.sqrt(2)
    smooth = cv2.bilateralFilter(values, 9, max(0.02, 4.0 * spread), 2.0)
    return _back(np.asarray(smooth) * top, picture)


def enlarged(picture: Picture, times: int) -> Picture:
    high, wide = picture.shape[:2]
    times = max(1, min(times, _LARGEST))
    return resize(picture, wide * times, high * times, Image.Resampling.LANCZOS)


def stretched(picture: Picture) -> Picture:
    """From the darkest to the brightest pixels of all channels over the whole range."""
    low, high = np.percentile(picture, (_TAILS, 100 - _TAILS))
    top = np.iinfo(picture.dtype).max
    return _back((picture - low) * (top / max(float(high - low), 1.0)), picture)


def without_lines(picture: Picture) -> Picture:
    """Rows that differ from those around them, and waves that run down the picture."""
    values = picture.astype(np.float64)
    rows = values.mean(axis=(1, 2))
    rough = np.abs(np.diff(values, axis=1)).mean(axis=(1, 2))
    around = np.array([np.median(rough[max(0, n - 12) : n + 13]) for n in range(len(rough))])
    broken = rough > 3.0 * around + 0.02 * np.iinfo(picture.dtype).max
    if 0 < int(broken.sum()) <= 12:
        mask = np.repeat(broken[:, None], picture.shape[1], axis=1).astype(np.uint8)
        planes = np.moveaxis(picture, -1, 0)
        filled = [cv2.inpaint(np.ascontiguousarray(one), mask, 3, cv2.INPAINT_TELEA)
                  for one in planes]  # fmt: skip
        return np.stack(filled, axis=-1)
    spectrum = np.fft.rfft(rows - rows.mean())
    size = np.abs(spectrum)
    size[: len(rows) // 32] = 0.0
    peak = int(size.argmax())
    if size[peak] < 6.0 * np.median(size[len(rows) // 32 :]):
        return picture
    kept = np.zeros_like(spectrum)
    near = slice(max(0, peak - 1), peak + 2)
    kept[near] = spectrum[near]
    return _back(values - np.fft.irfft(kept, len(rows))[:, None, None], picture)


def _back(values: np.ndarray, like: Picture) -> Picture:
    top = np.iinfo(like.dtype).max
    return np.clip(np.round(values), 0, top).astype(like.dtype)
