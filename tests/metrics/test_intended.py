"""How much of the intended change was made, on outputs whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter
from skimage.color import rgb2lab

import medebench as mb
from medebench.metrics import Undefined, find_metrics
from medebench.metrics.intended import HIGH, LOW, edit_completion, edit_residual
from tests.conftest import draw

NAMES = ["edit_completion", "edit_residual"]


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
    assert edit_completion(previous, previous, reference, roi) == 0
    assert edit_residual(previous, previous, reference, roi) == 1
    assert edit_completion(previous, reference, reference, roi) == pytest.approx(1)
    assert edit_residual(previous, reference, reference, roi) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_part_of_the_change(scene, share):
    previous, reference, roi = scene
    output = np.round(previous * (1 - share) + reference * share).astype(np.uint8)
    # Lab bends what is straight in RGB a little.
    assert edit_completion(previous, output, reference, roi) == pytest.approx(share, abs=0.1)
    assert edit_residual(previous, output, reference, roi) == pytest.approx(1 - share, abs=0.1)


def rebuilt(previous, output, reference, roi, top=255):
    """(completion, residual) from the words of docs/metrics.md alone, with scikit-image's Lab."""
    height, width = roi.shape
    cells = min(width, 256)
    grid = (max(1, round(height * cells / width)), cells) if width > 256 else (height, width)

    def shares(length, count):
        """How much of every pixel lies in every cell, over the size of a cell."""
        fine = np.zeros((count, length))
        for cell in range(count):
            low, high = cell * length / count, (cell + 1) * length / count
            for pixel in range(int(low), min(length, int(np.ceil(high)))):
                fine[cell, pixel] = max(0.0, min(high, pixel + 1) - max(low, pixel))
        return fine * count / length

    down, right = shares(height, grid[0]), shares(width, grid[1])
    cover = down @ roi @ right.T
    sigma = 0.02 * grid[1]

    def blur(plane):
        return gaussian_filter(plane, sigma, mode="constant", truncate=4)

    def soft(picture):
        planes = [down @ (roi * picture[..., c] / top) @ right.T for c in range(3)]
        colour = np.stack(planes, -1) / np.where(cover > 0, cover, 1)[..., None]
        lab = rgb2lab(colour)
        total = np.stack([blur(cover * lab[..., c]) for c in range(3)], -1)
        return total[cover > 0] / blur(cover)[cover > 0][:, None]

    weights = cover[cover > 0][:, None]
    before = soft(previous)
    made, intended = soft(output) - before, soft(reference) - before
    whole = (weights * intended**2).sum()
    share = (weights * made * intended).sum() / whole
    left = np.sqrt((weights * (made - intended) ** 2).sum() / whole)
    return min(2.0, max(-1.0, share)), min(2.0, left)


@pytest.mark.parametrize(
    ("height", "width", "top"), [(48, 64, 255), (173, 301, 255), (90, 512, 255), (61, 300, 65535)]
)
def test_it_can_be_rebuilt_from_the_docs(height, width, top):
    """Cells that the mask covers in part, odd sizes, depths: an independent way to the numbers."""
    dtype = np.uint8 if top == 255 else np.uint16
    previous, output = (draw(n, height, width).astype(dtype) * (top // 255) for n in (1, 3))
    down, right = np.indices((height, width))
    roi = (down - 0.4 * height) ** 2 + (right - 0.6 * width) ** 2 < (0.3 * height) ** 2
    reference = previous.copy()
    reference[roi] = draw(7, height, width)[roi].astype(dtype) * (top // 255)
    expected = rebuilt(previous, output, reference, roi, top)
    args = previous, output, reference, roi, top
    found = edit_completion(*args), edit_residual(*args)
    assert found == pytest.approx(expected, abs=1e-6)


def test_no_pixel_outside_the_roi_has_a_say(scene):
    previous, reference, roi = scene
    pasted = np.where(roi[..., None], reference, 255 - previous).astype(np.uint8)
    assert edit_completion(previous, pasted, reference, roi) == 1
    assert edit_residual(previous, pasted, reference, roi) == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31))
def test_bounds_hold_and_completion_is_never_better_than_residual(seed):
    previous, output = draw(1), draw(seed)
    roi = np.zeros(previous.shape[:2], bool)
    roi[10:30, 15:45] = True
    reference = previous.copy()
    reference[roi] = 255 - reference[roi]
    share = edit_completion(previous, output, reference, roi)
    left = edit_residual(previous, output, reference, roi)
    assert LOW <= share <= HIGH and 0 <= left <= HIGH
    assert left == HIGH or left >= abs(1 - share) - 1e-6 or share in (LOW, HIGH)


def test_no_intended_change_is_a_reason(scene):
    previous, _, roi = scene
    with pytest.raises(Undefined, match="alike"):
        edit_completion(previous, draw(2), previous, roi)
    with pytest.raises(Undefined, match="empty"):
        edit_completion(previous, draw(2), draw(3), np.zeros_like(roi))


def test_another_photograph_as_reference_gives_no_distance(scene):
    previous, _, roi = scene
    other = draw(9)
    assert LOW <= edit_completion(previous, other, other, roi) <= HIGH
    with pytest.raises(Undefined, match="another photograph"):
        edit_residual(previous, draw(2), other, roi)


def test_the_metrics_are_the_functions(small_set):
    case = mb.open_case(mb.load_cases(small_set)["2"])
    output = draw(5)
    for metric, function in zip(find_metrics(NAMES), (edit_completion, edit_residual), strict=True):
        expected = function(case.previous, output, case.reference, case.roi)
        assert metric(case, output) == metric(case, output) == expected
