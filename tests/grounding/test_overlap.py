"""Agreement of maps and regions with the ROI, against scikit-image and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.filters import threshold_otsu

from medebench.grounding import chance, energy_inside, hot_region, iou, otsu, pointing_hit
from medebench.metrics import Undefined


def _square(y, x, side, size=20):
    mask = np.zeros((size, size), bool)
    mask[y : y + side, x : x + side] = True
    return mask


def _blob(seed, height, width):
    """A smooth map with one hill and some ripple."""
    generator = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    centre = generator.uniform(0, (height, width))
    hill = np.exp(-((y - centre[0]) ** 2 + (x - centre[1]) ** 2) / (0.05 * height * width))
    return hill + 0.1 * generator.random((height, width))


sizes = st.tuples(st.integers(0, 2**32 - 1), st.integers(8, 40), st.integers(8, 40))


@settings(max_examples=100, deadline=None)
@given(sizes, st.sampled_from(["hill", "uniform", "skewed"]))
def test_otsu_equals_scikit_image(size, kind):
    seed, height, width = size
    generator = np.random.default_rng(seed)
    heat = {
        "hill": lambda: _blob(seed, height, width),
        "uniform": lambda: generator.random((height, width)),
        "skewed": lambda: generator.exponential(5, (height, width)),
    }[kind]()
    assert otsu(heat) == pytest.approx(threshold_otsu(heat, nbins=256), abs=1e-12)


def test_otsu_parts_two_groups():
    values = np.concatenate([np.full(60, 0.1), np.full(40, 0.9)])
    values += np.linspace(-0.02, 0.02, 100)
    assert 0.1 < otsu(values) < 0.9


@settings(max_examples=50, deadline=None)
@given(sizes, st.floats(0.1, 50), st.floats(-20, 20))
def test_hot_region_is_the_published_rule_and_knows_no_scale(size, gain, offset):
    heat = _blob(*size)
    scaled = (heat - heat.min()) / (heat.max() - heat.min())
    threshold = 1.3 * threshold_otsu(scaled, nbins=256)
    if threshold >= 1:
        return
    # Pixels on the threshold itself may fall to either side after rescaling.
    clear = np.abs(scaled - threshold) > 1e-6
    hot = hot_region(heat)
    assert (hot == (scaled > threshold)).all()
    assert (hot_region(gain * heat + offset) == hot)[clear].mean() > 0.99


def test_hot_region_of_a_map_that_is_high_everywhere_is_a_reason():
    heat = np.full((20, 20), 0.8)
    heat[10:] = 1
    heat[0, 0] = 0
    assert 1.3 * threshold_otsu(heat) > 1
    with pytest.raises(Undefined, match="nearly everywhere"):
        hot_region(heat)


def test_iou_by_hand():
    assert iou(_square(0, 0, 4), _square(0, 0, 4)) == 1
    assert iou(_square(0, 0, 4), _square(10, 10, 4)) == 0
    assert iou(_square(0, 0, 4), _square(0, 2, 4)) == pytest.approx(8 / 24)
    assert iou(_square(0, 0, 4), np.zeros((20, 20), bool)) == 0
    with pytest.raises(Undefined, match="empty"):
        iou(np.zeros((20, 20), bool), np.zeros((20, 20), bool))


def test_pointing_by_hand():
    heat = np.zeros((20, 20))
    heat[5, 5] = 1
    assert pointing_hit(heat, _square(4, 4, 3)) == 1
    assert pointing_hit(heat, _square(10, 4, 3)) == 0
    heat[15, 15] = 1
    assert pointing_hit(heat, _square(4, 4, 3)) == 0.5


def test_energy_by_hand():
    heat = np.ones((20, 20))
    assert energy_inside(heat, _square(0, 0, 10)) == 0.25
    heat[:10, :10] = 3
    assert energy_inside(heat, _square(0, 0, 10)) == 0.5


@pytest.mark.parametrize("measure", [pointing_hit, energy_inside])
def test_degenerate_input_is_a_reason(measure):
    heat = _blob(0, 20, 20)
    with pytest.raises(Undefined, match="ROI is empty"):
        measure(heat, np.zeros((20, 20), bool))
    with pytest.raises(Undefined, match="whole image"):
        measure(heat, np.ones((20, 20), bool))
    broken = heat.copy()
    broken[3, 3] = np.nan
    with pytest.raises(Undefined, match="not numbers"):
        measure(broken, _square(2, 2, 5))


def test_constant_and_negative_maps_are_reasons():
    flat = np.full((20, 20), 0.5)
    for measure in (otsu, hot_region, lambda heat: pointing_hit(heat, _square(2, 2, 5))):
        with pytest.raises(Undefined, match="same everywhere"):
            measure(flat)
    with pytest.raises(Undefined, match="zero everywhere"):
        energy_inside(0 * flat, _square(2, 2, 5))
    with pytest.raises(Undefined, match="negative"):
        energy_inside(-flat, _square(2, 2, 5))
    with pytest.raises(ValueError, match="grids differ"):
        iou(_square(0, 0, 3), _square(0, 0, 3, 21))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(6, 14), st.integers(6, 14))
def test_chance_equals_shifting_by_hand(seed, height, width):
    generator = np.random.default_rng(seed)
    region = generator.random((height, width)) < 0.3
    roi = np.zeros((height, width), bool)
    roi[1:4, 2:5] = True
    heat = generator.random((height, width))
    found = chance(region, roi)
    shifted = [np.roll(roi, (y, x), (0, 1)) for y in range(height) for x in range(width)]
    each = [iou(region, one) for one in shifted]
    assert found.iou == pytest.approx(np.mean(each))
    assert found.iou_reached == pytest.approx(np.mean(np.array(each) >= each[0] - 1e-12))
    assert found.pointing == pytest.approx(np.mean([pointing_hit(heat, one) for one in shifted]))
    assert found.energy == pytest.approx(np.mean([energy_inside(heat, one) for one in shifted]))


def test_a_perfect_region_is_far_above_chance():
    roi = _square(5, 5, 4)
    found = chance(roi, roi)
    assert found.iou < 0.1 and found.iou_reached == 1 / 400
    assert found.pointing == found.energy == 16 / 400
