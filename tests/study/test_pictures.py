"""What people see: on one grid, in one mode, with nothing written between the pixels."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.ndimage import binary_dilation
from skimage.metrics import structural_similarity

from medebench.study.case_drawings import outline, png, ruin, shown
from tests.conftest import draw


def chunks(data: bytes) -> list[bytes]:
    """The names of the chunks of a PNG, read by hand."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    found, at = [], 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        found.append(data[at + 4 : at + 8])
        at += 12 + length
    assert at == len(data)
    return found


@pytest.mark.parametrize("channels", [3, 4])
def test_png_holds_pixels_and_nothing_else(channels):
    picture = np.random.default_rng(0).integers(0, 256, (40, 30, channels), dtype=np.uint8)
    data = png(picture)
    assert set(chunks(data)) == {b"IHDR", b"IDAT", b"IEND"}
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(data))), picture)


def test_small_pictures_stay_as_they_are():
    assert np.array_equal(shown(draw(1), 255, 64), draw(1))


def test_large_pictures_shrink_by_area():
    picture = draw(1, 96, 128)
    blocks = picture.reshape(48, 2, 64, 2, 3).mean(axis=(1, 3))
    small = shown(picture, 255, 64)
    assert small.shape == (48, 64, 3) and small.dtype == np.uint8
    assert np.abs(small - blocks).max() <= 0.5
    assert shown(draw(1, 900, 10), 255, 90).shape == (90, 1, 3)


@pytest.mark.parametrize(("top", "data_range"), [(4095, 4095), (65535, 65535)])
def test_deep_pictures_are_windowed_from_their_whole_range(top, data_range):
    picture = np.linspace(0, top, 30 * 40 * 3).reshape(30, 40, 3).round().astype(np.uint16)
    eight = shown(picture, data_range, 64)
    assert eight.dtype == np.uint8 and eight.min() == 0 and eight.max() == 255
    assert np.abs(eight - picture * (255 / top)).max() <= 0.5 + 1e-3


def _grown(mask, width):
    return binary_dilation(mask, np.ones((3, 3)), iterations=width)


def _near_border(mask, width):
    """Pixels that have pixels of both kinds within `width`."""
    return _grown(mask, width) & _grown(~mask, width)


def test_the_outline_lies_on_the_border_and_nowhere_else():
    roi = np.zeros((300, 400), bool)
    roi[60:200, 80:300] = True
    roi[100:150, 120:200] = False
    drawn = outline(roi, 400, 300)
    assert drawn is not None and drawn.shape == (300, 400, 4)
    near, on = _near_border(roi, 3), _near_border(roi, 1)
    assert not drawn[..., 3][~near].any()
    white = (drawn[..., :3] == 255).all(axis=2) & (drawn[..., 3] == 255)
    dark = (drawn[..., :3] == 0).all(axis=2) & (drawn[..., 3] > 127)
    assert not (white & ~on).any()
    assert np.array_equal(white | dark, drawn[..., 3] > 0)
    # Light on dark and dark on light: every piece of the line has both, also around the hole.
    assert not (dark & ~_grown(white, 2)).any()
    assert not (white & ~_grown(dark, 1)).any()
    assert not (on & ~_grown(white, 1)).any()


def test_the_line_grows_with_the_picture():
    def white(size):
        roi = np.zeros((size, size), bool)
        roi[size // 4 : size // 2, size // 4 : size // 2] = True
        drawn = outline(roi, size, size)
        assert drawn is not None
        return int((drawn[3 * size // 8, : 3 * size // 8, 0] == 255).sum())

    assert white(64) == 1 and 2 <= white(512) <= 3 and 4 <= white(1536) <= 6


def test_masks_without_a_border():
    assert outline(np.zeros((30, 40), bool), 40, 30) is None
    frame = outline(np.ones((30, 40), bool), 40, 30)
    assert frame is not None and frame[0, :, 3].all() and frame[:, -1, 3].all()
    assert not frame[8:-8, 8:-8, 3].any()


@settings(deadline=None)
@given(st.integers(1, 80), st.integers(1, 80), st.integers(1, 80), st.data())
def test_any_roi_has_an_outline(height, width, largest, data):
    pixels = st.tuples(st.integers(0, height - 1), st.integers(0, width - 1))
    roi = np.zeros((height, width), bool)
    for y, x in data.draw(st.lists(pixels, min_size=1, max_size=5)):
        roi[y, x] = True
    scale = min(1.0, largest / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    drawn = outline(roi, *size)
    assert drawn is not None and drawn.shape == (size[1], size[0], 4)
    assert drawn[..., 3].any()


@pytest.mark.parametrize(
    "picture",
    [
        draw(3, 128, 160),
        np.zeros((128, 160, 3), np.uint8),
        np.full((128, 160, 3), 255, np.uint8),
        np.random.default_rng(1).integers(0, 256, (128, 160, 3), dtype=np.uint8),
    ],
    ids=["smooth", "black", "white", "noise"],
)
def test_a_ruin_cannot_be_taken_for_an_edit(picture):
    destroyed = ruin(picture, "a")
    assert destroyed.shape == picture.shape and destroyed.dtype == np.uint8
    assert structural_similarity(picture, destroyed, channel_axis=2) < 0.15
    assert destroyed.astype(float).std() > 30
    assert np.array_equal(destroyed, ruin(picture, "a"))
    assert not np.array_equal(destroyed, ruin(picture, "b"))


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 40))
def test_pictures_of_any_size_can_be_ruined(height, width):
    picture = np.full((height, width, 3), 90, np.uint8)
    assert ruin(picture, "a").shape == picture.shape
