"""The SSIM kernel against scikit-image, over depths, shapes and channels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.metrics import structural_similarity

from medebench.metrics.kernel import blacken, window_ssim


def _pictures(seed, height, width, channels, dtype):
    generator = np.random.default_rng(seed)
    top = np.iinfo(dtype).max
    first = generator.integers(0, top + 1, (height, width, channels)).astype(dtype)
    noise = generator.integers(-top // 8, top // 8 + 1, first.shape)
    return first, np.clip(first.astype(np.int64) + noise, 0, top).astype(dtype)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    height=st.integers(7, 40),
    width=st.integers(7, 40),
    channels=st.sampled_from([1, 3]),
    dtype=st.sampled_from([np.uint8, np.uint16]),
)
def test_equals_scikit_image(seed, height, width, channels, dtype):
    first, second = _pictures(seed, height, width, channels, dtype)
    top = int(np.iinfo(dtype).max)
    value, used, total = window_ssim(first, second, top)
    expected = structural_similarity(first, second, data_range=top, channel_axis=2)
    assert used == total == (height - 6) * (width - 6)
    assert value / used == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_extreme_values_do_not_overflow(dtype):
    top = int(np.iinfo(dtype).max)
    white = np.full((20, 30, 3), top, dtype)
    checks = (np.indices((20, 30)).sum(0) % 2 * top).astype(dtype)[..., None].repeat(3, 2)
    for first, second in [(white, white), (white, np.zeros_like(white)), (checks, top - checks)]:
        value, used, _ = window_ssim(first, second, top)
        expected = structural_similarity(first, second, data_range=top, channel_axis=2)
        assert value / used == pytest.approx(expected, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0, 0.4))
def test_masked_windows_equal_a_map_by_scikit_image(seed, share):
    first, second = _pictures(seed, 30, 36, 3, np.uint8)
    inside = np.random.default_rng(seed + 1).random((30, 36)) < share**3
    value, used, _ = window_ssim(first, second, 255, inside)
    _, full = structural_similarity(first, second, data_range=255, channel_axis=2, full=True)
    windows = np.lib.stride_tricks.sliding_window_view(inside, (7, 7)).any(axis=(2, 3))
    expected = full.mean(axis=2)[3:-3, 3:-3][~windows]
    assert used == expected.size
    if used:
        assert value / used == pytest.approx(expected.mean(), abs=1e-9)


def test_picture_smaller_than_a_window_has_none():
    tiny = np.zeros((6, 50, 3), np.uint8)
    assert window_ssim(tiny, tiny, 255) == (0.0, 0, 0)


def test_different_shapes_are_refused():
    with pytest.raises(ValueError, match="differ"):
        window_ssim(np.zeros((9, 9, 3), np.uint8), np.zeros((9, 8, 3), np.uint8), 255)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_blacken_equals_plain_arithmetic(seed):
    generator = np.random.default_rng(seed)
    picture = generator.integers(0, 256, (9, 11, 3), dtype=np.uint8)
    mask = generator.integers(0, 256, (9, 11), dtype=np.uint8)
    mask[generator.random((9, 11)) < 0.3] = 0
    mask[generator.random((9, 11)) < 0.3] = 255
    expected = (picture * (1 - mask[..., None] / 255)).astype(np.uint8)
    assert (blacken(picture, mask) == expected).all()
