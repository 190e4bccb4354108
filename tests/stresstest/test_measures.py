"""Measures of predictors against SciPy, scikit-image and plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.ndimage import binary_erosion, generate_binary_structure
from scipy.spatial import cKDTree
from scipy.stats import mannwhitneyu
from skimage.metrics import hausdorff_distance

from medebench.metrics import Undefined
from medebench.stresstest.predictor_measures import (
    auroc,
    average_hausdorff,
    dice,
    outline,
    outline_distances,
    overlap,
)

# Few levels, so that ties are common.
told = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=30)
sizes = st.tuples(st.integers(0, 2**32 - 1), st.integers(3, 24), st.integers(3, 24))


def _blobs(seed, height, width):
    generator = np.random.default_rng(seed)
    return [generator.random((height, width)) < generator.uniform(0.05, 0.9) for _ in range(2)]


def _both(pairs):
    positive = np.array([one for one, _ in pairs])
    assume(positive.any() and not positive.all())
    return positive, np.array([level / 6 for _, level in pairs])


@given(told)
def test_auroc_is_the_rank_sum(pairs):
    positive, score = _both(pairs)
    u = mannwhitneyu(score[positive], score[~positive]).statistic
    pairs_of = positive.sum() * (~positive).sum()
    assert auroc(positive, score) == pytest.approx(u / pairs_of, abs=1e-12)


@given(told)
def test_auroc_knows_no_scale_and_turns_with_sign_and_labels(pairs):
    positive, score = _both(pairs)
    value = auroc(positive, score)
    assert auroc(positive, np.exp(3 * score) - 7) == pytest.approx(value, abs=1e-12)
    assert auroc(positive, -score) == pytest.approx(1 - value, abs=1e-12)
    assert auroc(~positive, score) == pytest.approx(1 - value, abs=1e-12)


@pytest.mark.parametrize(
    ("measure", "positive", "words"),
    [
        (auroc, [True, True], "all pictures are positive"),
        (auroc, [False, False], "all pictures are negative"),
        (auroc, [], "there is no picture"),
    ],
)
def test_what_has_no_number_has_a_reason(measure, positive, words):
    with pytest.raises(Undefined, match=words):
        measure(positive, [0.5] * len(positive))


def test_numbers_that_are_none_are_refused():
    with pytest.raises(ValueError, match="finite"):
        auroc([True, False], [0.5, float("nan")])
    with pytest.raises(ValueError, match="labels"):
        auroc([True, False, True], [0.5, 0.1])


@settings(max_examples=60, deadline=None)
@given(sizes)
def test_outline_is_what_erosion_takes_away(size):
    for region in _blobs(*size):
        cross = generate_binary_structure(2, 1)
        expected = region & ~binary_erosion(region, cross, border_value=0)
        assert np.array_equal(outline(region), expected)


@settings(max_examples=60, deadline=None)
@given(sizes)
def test_average_hausdorff_is_that_of_nearest_points(size):
    predicted, truth = _blobs(*size)
    assume(predicted.any() and truth.any())
    cross = generate_binary_structure(2, 1)
    points = [np.argwhere(one & ~binary_erosion(one, cross)) for one in (predicted, truth)]
    there = cKDTree(points[1]).query(points[0])[0]
    back = cKDTree(points[0]).query(points[1])[0]
    expected = (there.mean() + back.mean()) / 2
    assert average_hausdorff(predicted, truth) == pytest.approx(expected, abs=1e-9)
    assert average_hausdorff(truth, predicted) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(sizes)
def test_distances_hold_both_variants_of_scikit_image(size):
    predicted, truth = _blobs(*size)
    assume(predicted.any() and truth.any())
    there, back = outline_distances(predicted, truth)
    lines = outline(predicted), outline(truth)
    assert max(there.max(), back.max()) == pytest.approx(hausdorff_distance(*lines), abs=1e-9)
    larger = hausdorff_distance(*lines, method="modified")
    assert max(there.mean(), back.mean()) == pytest.approx(larger, abs=1e-9)
    assert average_hausdorff(predicted, truth) <= larger + 1e-9


@settings(max_examples=40, deadline=None)
@given(sizes, st.integers(0, 9), st.integers(0, 9))
def test_overlap_does_not_depend_on_where_the_picture_was_cut(size, up, left):
    predicted, truth = _blobs(*size)
    assume(truth.any())
    larger = [np.pad(one, ((up, 3), (left, 1))) for one in (predicted, truth)]
    assert overlap(*larger) == pytest.approx(overlap(predicted, truth), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(sizes)
def test_dice_follows_from_the_intersection_over_union(size):
    predicted, truth = _blobs(*size)
    assume(truth.any())
    iou = np.count_nonzero(predicted & truth) / np.count_nonzero(predicted | truth)
    assert dice(predicted, truth) == pytest.approx(2 * iou / (1 + iou))
    assert dice(truth, truth) == 1


def test_distances_of_a_large_region_by_hand():
    truth = np.zeros((40, 40), bool)
    truth[10:30, 10:30] = True
    smaller = np.zeros((40, 40), bool)
    smaller[12:28, 12:28] = True
    # Towards the larger square all are 2 away; the way back is longer at its corners.
    there, back = outline_distances(smaller, truth)
    assert set(there.tolist()) == {2.0}
    assert back.max() == pytest.approx(np.sqrt(8))


def test_an_empty_prediction_has_dice_0_and_no_distance():
    truth = np.eye(5, dtype=bool)
    nothing = np.zeros((5, 5), bool)
    assert dice(nothing, truth) == 0
    assert overlap(nothing, truth) == (0.0, None)
    with pytest.raises(Undefined, match="predicted mask is empty"):
        average_hausdorff(nothing, truth)


@pytest.mark.parametrize("measure", [dice, average_hausdorff, overlap])
def test_where_nothing_was_to_be_found_nothing_is_measured(measure):
    with pytest.raises(Undefined, match="true mask is empty"):
        measure(np.eye(4, dtype=bool), np.zeros((4, 4), bool))
    with pytest.raises(ValueError, match="beside one of"):
        measure(np.eye(4, dtype=bool), np.eye(5, dtype=bool))
