"""Pixel metrics against scikit-image and against arithmetic by hand."""

from __future__ import annotations

import numpy as np
import pytest
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from medebench.metrics import Undefined, find_metrics
from medebench.metrics.pixel import mean_change, psnr, ssim


@pytest.fixture(params=[np.uint8, np.uint16])
def pair(request):
    generator = np.random.default_rng(3)
    top = int(np.iinfo(request.param).max)
    first = generator.integers(0, top + 1, (33, 41, 3)).astype(request.param)
    second = generator.integers(0, top + 1, (33, 41, 3)).astype(request.param)
    return first, second, top


def test_psnr_equals_scikit_image(pair):
    first, second, top = pair
    expected = peak_signal_noise_ratio(first, second, data_range=top)
    assert psnr(first, second, top) == pytest.approx(expected, abs=1e-9)


def test_ssim_equals_scikit_image(pair):
    first, second, top = pair
    expected = structural_similarity(first, second, channel_axis=2, data_range=top)
    assert ssim(first, second, top) == pytest.approx(expected, abs=1e-9)


def test_psnr_of_equal_pictures_is_a_reason(pair):
    first, _, top = pair
    with pytest.raises(Undefined, match="infinite"):
        psnr(first, first, top)


def test_twelve_bits_count_on_their_own_range():
    deep = np.full((10, 10, 3), 1000, np.uint16)
    other = deep + 410
    assert psnr(deep, other, 4095) == pytest.approx(20 * np.log10(4095 / 410))


def test_change_inside_and_outside(pair):
    first, second, top = pair
    where = np.zeros(first.shape[:2], bool)
    where[3:9, 5:11] = True
    expected = np.abs(first.astype(float) - second)[where].mean() / top
    assert mean_change(first, second, where, top) == pytest.approx(expected, rel=1e-12)
    assert mean_change(first, first, where, top) == 0.0


def test_change_over_nothing_is_a_reason(pair):
    first, second, top = pair
    with pytest.raises(Undefined):
        mean_change(first, second, np.zeros(first.shape[:2], bool), top)


def test_all_built_in_metrics_are_named_and_described():
    names = [metric.name for metric in find_metrics()]
    assert names[:4] == ["cp_published", "cp", "ssim", "psnr"]
    assert names[4:] == ["change_inside", "change_outside", "edit_completion", "edit_residual"]
    assert all(metric.summary for metric in find_metrics())
