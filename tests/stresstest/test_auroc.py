"""Intervals of shares, their losses and AUROC: against SciPy, and whether they hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from medebench.analysis import Difference, share
from medebench.analysis.interval import UNIT, students, unvaried
from medebench.analysis.means import wilson
from medebench.analysis.resampled import resampled_sums
from medebench.stresstest.predictor_measures import _draws, auroc, ranked, ranked_less


def _grouped(rng, p, groups, size, alike):
    """Pictures right with probability p, alike within their group (beta-binomial)."""
    own = rng.beta(p * (1 - alike) / alike, (1 - p) * (1 - alike) / alike, size=(groups, 1))
    return (rng.random((groups, size)) < own).ravel(), np.repeat(np.arange(groups), size)


@pytest.mark.parametrize(("right", "number"), [(0, 60), (1, 60), (30, 60), (60, 60), (97, 100)])
def test_wilson_is_scipys(right, number):
    p = right / number
    # So many degrees of freedom that Student's quantile is the normal one.
    t = students(0.95, 1e9)
    ours = unvaried(p, t, number, UNIT) if p in (0, 1) else wilson(p, p * (1 - p) / number, t)
    theirs = stats.binomtest(right, number).proportion_ci(method="wilson")
    assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-6)


def test_variance_of_a_share_is_that_of_the_bootstrap_of_groups():
    rng = np.random.default_rng(0)
    right, groups = _grouped(rng, 0.7, 60, 5, 0.4)
    keep = rng.random(300) < 0.7
    right, groups = right[keep], groups[keep]
    one = share(right, groups, 60)
    columns = np.column_stack([right, np.ones(len(right))])
    sums = resampled_sums(columns, [str(group) for group in groups], resamples=20_000)
    spread = (sums[:, 0] / sums[:, 1]).std()
    assert np.sqrt((one.influence**2).sum()) == pytest.approx(spread, rel=0.03)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), min_size=4, max_size=60))
def test_a_share_lies_in_its_interval_and_wrong_ones_mirror_right_ones(rows):
    right = np.array([one for one, _ in rows])
    groups = np.array([group for _, group in rows])
    one, other = share(right, groups, 10), share(~right, groups, 10)
    assert one.value == pytest.approx(right.mean())
    assert (one.interval() is None) == (len(set(groups.tolist())) < 4)
    if one.interval() and other.interval():
        assert 0 <= one.interval().low <= one.value <= one.interval().high <= 1
        assert one.interval() == pytest.approx(
            (1 - other.interval().high, 1 - other.interval().low)
        )


def test_pictures_shown_twice_are_no_more_evidence():
    right = np.random.default_rng(1).random(80) < 0.8
    once = share(right, np.arange(80), 80)
    twice = share(np.repeat(right, 2), np.repeat(np.arange(80), 2), 80)
    assert twice.interval() == pytest.approx(once.interval(), abs=1e-9)


def test_weights_of_whole_numbers_are_repeated_pictures():
    rng = np.random.default_rng(2)
    right, groups = rng.random(90) < 0.6, rng.integers(0, 30, 90)
    times = rng.integers(1, 4, 90)
    weighted = share(right, groups, 30, times.astype(float))
    repeated = share(np.repeat(right, times), np.repeat(groups, times), 30)
    assert weighted.value == pytest.approx(repeated.value)
    assert np.allclose(weighted.influence, repeated.influence)


@pytest.mark.parametrize("p", [0.7, 0.95, 0.98])
@pytest.mark.parametrize(("groups", "size", "alike"), [(60, 1, 0.001), (40, 4, 0.4)])
def test_intervals_of_shares_hold_the_truth(p, groups, size, alike):
    rng = np.random.default_rng(3)
    trials = 400
    held = 0
    for _ in range(trials):
        low, high = share(*_grouped(rng, p, groups, size, alike), groups).interval()
        held += low <= p <= high
    assert held / trials > 0.93


@pytest.mark.parametrize(("before", "after"), [(0.99, 0.05), (0.95, 0.9), (0.8, 0.6)])
def test_intervals_of_losses_hold_the_truth(before, after):
    """Each patient has four pictures and one edit, and patients differ."""
    rng = np.random.default_rng(5)
    trials, patients = 300, 50
    groups, edited = np.repeat(np.arange(patients), 4), np.arange(patients)
    held = 0
    for _ in range(trials):
        hard = rng.normal(size=patients) * np.sqrt(0.4)
        first = hard[groups] + np.sqrt(0.6) * rng.normal(size=4 * patients)
        second = hard + np.sqrt(0.6) * rng.normal(size=patients)
        loss = Difference(
            share(first < stats.norm.ppf(before), groups, patients),
            share(second < stats.norm.ppf(after), edited, patients),
        )
        held += loss.interval().low <= before - after <= loss.interval().high
    assert held / trials > 0.93


def test_a_loss_of_everything_is_not_certain():
    groups = np.arange(40)
    all_right, all_wrong = np.ones(40, bool), np.zeros(40, bool)
    loss = Difference(share(all_right, groups, 40), share(all_wrong, groups, 40))
    assert loss.value == 1
    assert 0.8 < loss.interval().low < 0.95
    assert loss.interval().high == 1


def test_the_same_pictures_cancel_in_a_difference():
    rng = np.random.default_rng(6)
    right = rng.random(100) < 0.7
    one = share(right, np.arange(100), 100)
    other = right.copy()
    other[:3] ^= True
    paired = Difference(one, share(other, np.arange(100), 100))
    apart = Difference(one, share(rng.permutation(other), np.arange(100), 100))
    assert Difference(one, one).interval() is None
    assert np.diff(paired.interval()) < np.diff(apart.interval()) / 2


def test_resampled_auroc_is_that_of_the_repeated_pictures():
    rng = np.random.default_rng(7)
    positive, score = rng.random(40) < 0.5, rng.integers(0, 8, 40) / 8
    groups = rng.integers(0, 12, 40)
    found = ranked(positive, score, groups, 12, seed=9, resamples=50)
    assert found.value == auroc(positive, score)
    drawn = _draws(12, 50, 9)
    assert (drawn.sum(axis=1) == 12).all()
    for each, value in zip(drawn, found.draws, strict=True):
        times = each[groups]
        repeated = np.repeat(positive, times)
        if repeated.any() and not repeated.all():
            assert value == pytest.approx(auroc(repeated, np.repeat(score, times)), abs=1e-12)
        else:
            assert np.isnan(value)


def test_interval_of_auroc_is_scipys_bootstrap():
    rng = np.random.default_rng(8)
    positive = np.arange(120) < 60
    score = rng.normal(size=120) + positive
    ours = ranked(positive, score, np.arange(120), 120).interval

    def area(first, second):
        return np.mean(first[:, None] > second)

    theirs = stats.bootstrap(
        (score[positive], score[~positive]),
        area,
        n_resamples=1500,
        vectorized=False,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_a_perfect_auroc_is_not_certain_and_few_groups_have_no_interval():
    score, positive = np.arange(40) / 40, np.arange(40) >= 20
    low, high = ranked(positive, score, np.arange(40), 40).interval
    assert 0.75 < low < 0.9
    assert high == 1
    assert ranked(positive, score, np.arange(40) % 3, 3).interval is None


def test_difference_of_aurocs_of_the_same_pictures_is_sure():
    rng = np.random.default_rng(9)
    positive = np.arange(80) < 40
    score = rng.normal(size=80) + positive
    one = ranked(positive, score, np.arange(80), 80)
    other = ranked(positive, score + rng.normal(size=80), np.arange(80), 80)
    assert ranked_less(one, one) == pytest.approx((0, 0))
    low, high = ranked_less(one, other)
    assert low < one.value - other.value < high
    perfect = ranked(positive, positive.astype(float), np.arange(80), 80)
    low, high = ranked_less(perfect, other)
    assert low < 1 - other.value < high


def test_every_group_is_as_likely_as_any_other():
    drawn = _draws(30, 2000, 1).astype(float)
    assert drawn.mean(axis=0) == pytest.approx(np.ones(30), abs=0.1)
    # Multinomial: variance 1 - 1/30, whichever group.
    assert drawn.var(axis=0).mean() == pytest.approx(29 / 30, abs=0.03)
