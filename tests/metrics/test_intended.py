"""How much of the intended change was made, on outputs whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.color import rgb2lab
from skimage.filters import gaussian

import medebench as mb
from medebench.metrics import Undefined, find_metrics
from medebench.metrics.intended import HIGH, LOW, done, missed
from tests.conftest import draw


@pytest.fixture
def scene():
    previous = draw(1)
    roi = np.zeros(previous.shape[:2], bool)
    roi[10:30, 15:45] = True
    reference = previous.copy()
    reference[roi] = draw(7)[roi]
    return previous, reference, roi


def test_doing_nothing_and_doing_all(scene):
    previous, reference, roi = scene
    assert done(previous, previous, reference, roi) == 0
    assert missed(previous, previous, reference, roi) == 1
    assert done(previous, reference, reference, roi) == pytest.approx(1)
    assert missed(previous, reference, reference, roi) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_part_of_the_change(scene, share):
    previous, reference, roi = scene
    output = np.round(previous * (1 - share) + reference * share).astype(np.uint8)
    # Lab bends what is straight in RGB a little.
    assert done(previous, output, reference, roi) == pytest.approx(share, abs=0.1)
    assert missed(previous, output, reference, roi) == pytest.approx(1 - share, abs=0.1)


def test_equals_scikit_image(scene):
    previous, reference, roi = scene
    output = draw(3)
    soft = [
        gaussian(rgb2lab(picture), 0.02 * 64, channel_axis=2, mode="mirror", truncate=5)[roi]
        for picture in (previous, output, reference)
    ]
    made, intended = soft[1] - soft[0], soft[2] - soft[0]
    share = (made * intended).sum() / (intended**2).sum()
    left = np.sqrt(((made - intended) ** 2).sum() / (intended**2).sum())
    assert done(previous, output, reference, roi) == pytest.approx(share, abs=0.02)
    assert missed(previous, output, reference, roi) == pytest.approx(left, abs=0.02)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31))
def test_bounds_hold_and_done_is_never_better_than_missed(seed):
    previous, output = draw(1), draw(seed)
    roi = np.zeros(previous.shape[:2], bool)
    roi[10:30, 15:45] = True
    reference = previous.copy()
    reference[roi] = 255 - reference[roi]
    share = done(previous, output, reference, roi)
    left = missed(previous, output, reference, roi)
    assert LOW <= share <= HIGH and 0 <= left <= HIGH
    assert left == HIGH or left >= abs(1 - share) - 1e-6 or share in (LOW, HIGH)


def test_no_intended_change_is_a_reason(scene):
    previous, _, roi = scene
    with pytest.raises(Undefined, match="alike"):
        done(previous, draw(2), previous, roi)
    with pytest.raises(Undefined, match="empty"):
        done(previous, draw(2), draw(3), np.zeros_like(roi))


def test_another_photograph_as_reference_gives_no_distance(scene):
    previous, _, roi = scene
    other = draw(9)
    assert LOW <= done(previous, other, other, roi) <= HIGH
    with pytest.raises(Undefined, match="another photograph"):
        missed(previous, draw(2), other, roi)


def test_the_metrics_are_the_functions(small_set):
    case = mb.open_case(mb.load_cases(small_set)["2"])
    output = draw(5)
    for metric, function in zip(find_metrics(["done", "missed"]), (done, missed), strict=True):
        expected = function(case.previous, output, case.reference, case.roi)
        assert metric(case, output) == metric(case, output) == expected
