"""What `cp` promises: nothing inside the ROI counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from skimage.metrics import structural_similarity

from medebench.metrics import Undefined
from medebench.metrics.context import MIN_WINDOW_SHARE, cp, cp_published


@st.composite
def scenes(draw):
    """A picture, an output and an ROI of some shape, 8 or 16 bits."""
    seed = draw(st.integers(0, 2**32 - 1))
    height, width = draw(st.integers(12, 48)), draw(st.integers(12, 48))
    dtype = draw(st.sampled_from([np.uint8, np.uint16]))
    generator = np.random.default_rng(seed)
    top = np.iinfo(dtype).max
    previous = generator.integers(0, top + 1, (height, width, 3)).astype(dtype)
    output = generator.integers(0, top + 1, (height, width, 3)).astype(dtype)
    roi = np.zeros((height, width), bool)
    for _ in range(draw(st.integers(1, 3))):
        y, x = generator.integers(0, height), generator.integers(0, width)
        roi[y : y + generator.integers(1, 9), x : x + generator.integers(1, 9)] = True
    return previous, output, roi, int(top), generator


def _cp_or_skip(previous, output, roi, top):
    try:
        return cp(previous, output, roi, top)
    except Undefined:
        assume(False)


@settings(max_examples=150, deadline=None)
@given(scenes())
def test_identical_output_is_exactly_one(scene):
    previous, _, roi, top, _ = scene
    assert _cp_or_skip(previous, previous.copy(), roi, top) == 1.0


@settings(max_examples=150, deadline=None)
@given(scenes())
def test_pixels_inside_the_roi_never_matter(scene):
    previous, output, roi, top, generator = scene
    before = _cp_or_skip(previous, output, roi, top)
    changed = output.copy()
    changed[roi] = generator.integers(0, top + 1, (int(roi.sum()), 3))
    assert cp(previous, changed, roi, top) == before
    other = previous.copy()
    other[roi] = generator.integers(0, top + 1, (int(roi.sum()), 3))
    assert cp(other, changed, roi, top) == before


@settings(max_examples=80, deadline=None)
@given(scenes())
def test_one_pixel_next_to_the_roi_does_matter(scene):
    previous, _, roi, top, _ = scene
    _cp_or_skip(previous, previous, roi, top)
    windows = np.lib.stride_tricks.sliding_window_view(roi, (7, 7)).any(axis=(2, 3))
    y, x = np.argwhere(~windows)[0]
    output = previous.copy()
    output[y + 3, x + 3] = top - output[y + 3, x + 3]
    assert cp(previous, output, roi, top) < 1.0


def test_published_value_flatters_a_large_roi_and_cp_does_not():
    generator = np.random.default_rng(0)
    previous = generator.integers(0, 256, (100, 100, 3), dtype=np.uint8)
    output = generator.integers(0, 256, (100, 100, 3), dtype=np.uint8)
    mask = np.zeros((100, 100), np.uint8)
    mask[:80] = 255
    assert cp_published(previous, output, mask) > 0.75
    assert abs(cp(previous, output, mask > 127)) < 0.1


def test_published_equals_the_reference_procedure_with_greys():
    generator = np.random.default_rng(1)
    previous = generator.integers(0, 256, (40, 50, 3), dtype=np.uint8)
    output = np.clip(previous.astype(int) + generator.integers(-30, 31, previous.shape), 0, 255)
    output = output.astype(np.uint8)
    mask = generator.integers(0, 256, (40, 50), dtype=np.uint8)
    weight = 1 - mask[..., None] / 255
    expected = structural_similarity(
        (previous * weight).astype(np.uint8),
        (output * weight).astype(np.uint8),
        channel_axis=2,
        data_range=255,
    )
    assert cp_published(previous, output, mask) == pytest.approx(expected, abs=1e-9)


def test_too_little_left_is_a_reason_with_figures():
    picture = np.zeros((60, 60, 3), np.uint8)
    roi = np.ones((60, 60), bool)
    roi[:, :7] = False
    with pytest.raises(Undefined, match=r"1\.9% of the windows, 5% are needed"):
        cp(picture, picture, roi)
    roi[:, :10] = False
    assert MIN_WINDOW_SHARE < 4 / 54
    assert cp(picture, picture, roi) == 1.0


def test_sixteen_bits_have_no_published_procedure():
    picture = np.zeros((20, 20, 3), np.uint16)
    with pytest.raises(Undefined, match="8-bit"):
        cp_published(picture, picture, np.zeros((20, 20), np.uint8))


def test_tiny_picture_is_a_reason():
    tiny = np.zeros((5, 5, 3), np.uint8)
    with pytest.raises(Undefined, match="smaller"):
        cp(tiny, tiny, np.zeros((5, 5), bool))
    with pytest.raises(Undefined, match="smaller"):
        cp_published(tiny, tiny, np.zeros((5, 5), np.uint8))
