"""Images as a study shows them, so that nothing tells them apart; ruined images and texts."""

from __future__ import annotations

import io
from hashlib import sha256
from itertools import cycle, islice
from random import Random

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.images.picture import Picture, encode_png
from medebench.page.web_images import shrink, to_bytes

Bytes = NDArray[np.uint8]

#: The outline is two or three pixels wide where the longer side is shown this large.
_SHOWN = 512
_BLOCKS = 8
#: A ruined text has at least so many words: a short one could pass for an answer.
_WORDS = 8


def shown(picture: Picture, data_range: int, largest: int) -> Bytes:
    """An image as people see it: 8 bits, RGB, its longer side at most `largest`."""
    return np.asarray(shrink(to_bytes(picture, data_range), largest), np.uint8)


def png(picture: Bytes) -> bytes:
    """RGB or RGBA as PNG without a single chunk beside the pixels."""
    if picture.shape[2] == 3:
        return encode_png(picture)
    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, "PNG", compress_level=6)
    return stream.getvalue()


def outline(roi: NDArray[np.bool_], width: int, height: int) -> Bytes | None:
    """The border of the ROI, white with a dark edge, on nothing; None if there is no ROI.

    A ROI that fills the picture has the frame as its border.
    """
    if not roi.any():
        return None
    mask = roi.astype(np.uint8)
    if mask.shape != (height, width):
        small = cv2.resize(mask.astype(np.float32), (width, height), interpolation=cv2.INTER_AREA)
        # Half a pixel counts; if there is none, the most: a tiny ROI must not vanish.
        mask = (small >= min(0.5, float(small.max()))).astype(np.uint8)
    lines, _ = cv2.findContours(mask, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    scale = max(width, height) / _SHOWN
    white = max(1, round(1.5 * scale))
    dark = white + 2 * max(1, round(0.75 * scale))
    drawn = np.zeros((height, width, 4), np.uint8)
    cv2.drawContours(drawn, lines, -1, (0, 0, 0, 190), dark)
    cv2.drawContours(drawn, lines, -1, (255, 255, 255, 255), white)
    return drawn


def ruin(picture: Bytes, key: str) -> Bytes:
    """A copy that nobody takes for an edit: blocks in disorder under heavy noise.

    The same picture and key give the same ruin.
    """
    random = np.random.default_rng(int(sha256(key.encode()).hexdigest()[:16], 16))
    height, width = picture.shape[:2]
    rows, columns = min(_BLOCKS, height), min(_BLOCKS, width)
    y = np.arange(height) * rows // height
    x = np.arange(width) * columns // width
    # Where each block comes from; blocks differ by a pixel in size, which the clipping hides.
    order = random.permutation(rows * columns).reshape(rows, columns)
    start_y = np.searchsorted(y, np.arange(rows))
    start_x = np.searchsorted(x, np.arange(columns))
    taken = order[y[:, None], x[None, :]]
    from_y = start_y[taken // columns] + (np.arange(height) - start_y[y])[:, None]
    from_x = start_x[taken % columns] + (np.arange(width) - start_x[x])[None, :]
    mixed = picture[np.minimum(from_y, height - 1), np.minimum(from_x, width - 1)]
    colours = random.integers(0, 256, (rows, columns, 3), np.uint8)
    flat = random.random((rows, columns)) < 0.3
    painted = np.where(flat[y[:, None], x[None, :], None], colours[y[:, None], x[None, :]], mixed)
    noise = random.integers(0, 256, picture.shape, np.uint8)
    return np.asarray(cv2.addWeighted(painted, 0.45, noise, 0.55, 0.0), np.uint8)


def ruin_text(text: str, key: str) -> str:
    """Words in disorder, each with its letters in disorder. The same text and key, the same ruin.

    >>> ruin_text("no", "a") == ruin_text("no", "a") != ruin_text("no", "b")
    True
    """
    random = Random(key)
    given = text.split() or ["?"]
    words = list(islice(cycle(given), max(_WORDS, len(given))))
    return " ".join(
        "".join(random.sample(word, len(word))) for word in random.sample(words, len(words))
    )
