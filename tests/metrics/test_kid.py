"""KID against sums written out, other packages, and what its groups are for."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medebench.errors import InputError
from medebench.metrics import Undefined
from medebench.metrics.realism.kid import kid
from tests.metrics.test_fid import features
from tests.references import run_reference


def written_out(outputs, references, groups, others):
    """Every pair of different groups, one after the other."""

    def mean(a, b, of_a, of_b):
        values = [
            (float(x.astype(float) @ y.astype(float)) / len(x) + 1) ** 3
            for x, i in zip(a, of_a, strict=True)
            for y, j in zip(b, of_b, strict=True)
            if i != j
        ]
        return np.mean(values)

    return (
        mean(outputs, outputs, groups, groups)
        + mean(references, references, others, others)
        - 2 * mean(outputs, references, groups, others)
    )


@pytest.fixture
def grouped():
    generator = np.random.default_rng(5)
    outputs, references = features(22, 30, 1), features(17, 30, 2, shift=0.2)
    return outputs, references, generator.integers(0, 9, 22), generator.integers(2, 11, 17)


def test_it_is_what_it_is_written_out(grouped):
    assert kid(*grouped).value == pytest.approx(written_out(*grouped), rel=1e-10)


def test_the_standard_error_is_that_of_leaving_groups_out(grouped):
    outputs, references, groups, others = grouped
    names = np.unique(np.concatenate([groups, others]))
    values = [
        written_out(
            outputs[groups != one],
            references[others != one],
            groups[groups != one],
            others[others != one],
        )
        for one in names
    ]
    spread = np.sum((values - np.mean(values)) ** 2) * (len(names) - 1) / len(names)
    found = kid(*grouped)
    assert found.se == pytest.approx(np.sqrt(spread), rel=1e-8)
    low, high = found.interval
    assert low < found.value < high
    # Student's quantile for 11 - 1 degrees of freedom.
    assert (high - low) / 2 == pytest.approx(2.228 * found.se, rel=1e-3)
    assert (found.n, found.m, len(names)) == (22, 17, 11)


REFERENCE = """
from torch_fidelity.metric_kid import kid_features_to_metric
from torchmetrics.image.kid import poly_mmd
first, second = (torch.from_numpy(given[name]).double() for name in ("first", "second"))
answer["torchmetrics"] = poly_mmd(first, second).numpy()
answer["fidelity"] = kid_features_to_metric(
    first, second, kid_subsets=1, kid_subset_size=len(first), verbose=False
)["kernel_inception_distance_mean"]
"""


def test_without_groups_it_is_that_of_torchmetrics_and_torch_fidelity():
    first, second = features(70, 90, 1), features(70, 90, 2, shift=0.1)
    answer = run_reference(REFERENCE, first=first, second=second)
    found = kid(first, second).value
    assert answer["torchmetrics"] == pytest.approx(found, rel=1e-6)
    assert answer["fidelity"] == pytest.approx(found, rel=1e-6)


def test_tiles_do_not_matter(grouped, monkeypatch):
    whole = kid(*grouped)
    monkeypatch.setattr(sys.modules[kid.__module__], "_TILE", 5)
    cut = kid(*grouped)
    assert cut.value == pytest.approx(whole.value, rel=1e-10)
    assert cut.se == pytest.approx(whole.se, rel=1e-8)


@settings(deadline=None, max_examples=30)
@given(st.integers(3, 30), st.integers(1, 40), st.randoms(use_true_random=False))
def test_equal_sets_are_exactly_alike(n, d, random):
    """Whatever their order; some pictures share a source image."""
    vectors, groups = features(n, d, n), np.arange(n)
    order = list(range(n))
    random.shuffle(order)
    found = kid(vectors[order], vectors, groups[order], groups)
    assert found.value == 0.0 and found.se in (0.0, None)
    shared = groups // 2
    assert kid(vectors, vectors, shared, shared).value == 0.0


def test_pairs_do_not_flatter():
    """An output beside its own reference would else pull the distance down, even below 0."""
    references = features(40, 60, 1)
    outputs = references + np.float32(0.05) * features(40, 60, 2)
    groups = np.arange(40)
    with_groups, without = kid(outputs, references, groups, groups), kid(outputs, references)
    far = kid(
        features(3000, 60, 3) + np.float32(0.05) * features(3000, 60, 4), features(3000, 60, 5)
    )
    assert without.value < 0 < with_groups.value
    assert abs(with_groups.value - far.value) < 3 * with_groups.se + 3 * far.se


def test_order_does_not_matter(grouped):
    outputs, references, groups, others = grouped
    order, turn = np.random.default_rng(0).permutation(22), np.arange(17)[::-1]
    found = kid(outputs[order], references[turn], groups[order], others[turn])
    expected = kid(*grouped)
    assert found.value == pytest.approx(expected.value, rel=1e-10)
    assert found.se == pytest.approx(expected.se, rel=1e-8)


def test_names_of_groups_do_not_matter(grouped):
    outputs, references, groups, others = grouped
    assert kid(outputs, references, groups * 7 - 3, others * 7 - 3) == kid(*grouped)


def test_intervals_hold_about_as_often_as_they_say():
    """94 % of 200 samples of 25 sources; tools/set_intervals.py does it at length."""
    drawn, values = [], []
    for seed in range(200):
        groups = np.repeat(np.arange(25), np.random.default_rng(seed).integers(1, 4, 25))
        references = features(25, 20, seed)[groups] + 0.1 * features(len(groups), 20, seed + 500)
        outputs = references + 0.15 * features(len(groups), 20, seed + 1000)
        found = kid(outputs, references, groups, groups)
        drawn.append(found.interval)
        values.append(found)
    # Unbiased: the mean of so many is near the truth.
    truth = np.mean([one.value for one in values])
    held = np.mean([low <= truth <= high for low, high in drawn])
    assert 0.88 <= held <= 0.99
    spread = np.std([one.value for one in values], ddof=1)
    assert np.mean([one.se for one in values]) == pytest.approx(spread, rel=0.25)


def test_what_cannot_be_had_is_a_reason():
    good = features(6, 4, 1)
    same = np.zeros(6, int)
    with pytest.raises(Undefined, match="2 different source images"):
        kid(good, good, same, same)
    with pytest.raises(Undefined, match="2 different source images"):
        kid(good[:1], good)
    bad = good.copy()
    bad[0, 0] = np.inf
    with pytest.raises(Undefined, match="not a finite number"):
        kid(bad, good)
    two = np.array([0, 0, 0, 1, 1, 1])
    found = kid(good, good + 1, two, two)
    assert found.value > 0 and found.se is None and found.interval is None
    with pytest.raises(InputError, match="or neither"):
        kid(good, good, two)
