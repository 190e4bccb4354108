"""Differences of two numbers from the same sources."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from medebench.analysis import Bounds, Difference, Mean, mean, share
from medebench.analysis.interval import UNBOUNDED, UNIT

scores = st.floats(0, 1, allow_subnormal=False)


def of(values: object, bounds: Bounds = UNIT, **how: bool) -> Mean:
    one = mean(values, np.arange(len(values)), bounds, **how)  # type: ignore[arg-type]
    assert one is not None
    return one


def test_without_ends_it_is_the_paired_t_test_raised_for_skew() -> None:
    rng = np.random.default_rng(0)
    for correlated in (0.9, 0.0, -2.0):
        a = rng.normal(size=11)
        b = correlated * a + rng.normal(size=11)
        gap, error = (a - b).mean(), np.sqrt(12 / 11) * stats.sem(a - b)
        pair = Difference(of(a, UNBOUNDED), of(b, UNBOUNDED))
        assert pair.interval() == pytest.approx(stats.t.interval(0.95, 10, gap, error), abs=1e-9)
        assert pair.p() == pytest.approx(2 * stats.t.sf(abs(gap) / error, 10), rel=1e-6)


def test_runs_that_agree_but_vary_differently_are_not_taken_for_equal() -> None:
    """Lopsided arms can look alike on one side; what is left must not be next to nothing."""
    first = np.array([0.02, 0.05, 0.2, 0.45])
    second = np.array([0.1, 0.4, 0.7, 0.95])
    low, high = Difference(of(first), of(second)).interval() or (0, 0)
    theirs = stats.ttest_rel(first, second).confidence_interval()
    assert high - low > 0.75 * (theirs.high - theirs.low)


def test_of_independent_shares_it_is_newcombes() -> None:
    """Written out from SciPy's Wilson ends."""
    first = share(np.arange(500) < 450, np.arange(500), 1200)
    second = share(np.arange(700) < 420, np.arange(500, 1200), 1200)
    ends = [
        stats.binomtest(right, n).proportion_ci(method="wilson")
        for right, n in ((450, 500), (420, 700))
    ]
    low = 0.3 - np.hypot(0.9 - ends[0].low, ends[1].high - 0.6)
    high = 0.3 + np.hypot(ends[0].high - 0.9, 0.6 - ends[1].low)
    assert Difference(first, second).interval() == pytest.approx((low, high), abs=3e-4)


@given(st.lists(st.tuples(scores, scores), min_size=4, max_size=20))
def test_turned_round_it_is_the_same_difference(rows: list[tuple[float, float]]) -> None:
    a, b = (of(values) for values in zip(*rows, strict=True))
    there, back = Difference(a, b).interval(), Difference(b, a).interval()
    assert there is not None
    assert back == pytest.approx((-there.high, -there.low), abs=1e-9)
    assert there.low - 1e-9 <= a.value - b.value <= there.high + 1e-9


def test_two_editors_near_the_top_that_fail_on_the_same_images_are_told_apart() -> None:
    hard = 1 - np.random.default_rng(1).gamma(0.8, 0.05, 20)
    worse = hard - 0.02 - 0.005 * np.random.default_rng(2).random(20)
    pair = Difference(of(hard), of(worse))
    low, high = pair.interval()  # type: ignore[misc]
    plain = stats.ttest_rel(hard, worse).confidence_interval()
    assert 0 < low < 0.0225 < high
    # Either mean alone is known to within 0.05 only.
    assert high - low < 0.02
    assert high - low > plain.high - plain.low


def test_a_correlation_that_rests_on_one_source_is_none() -> None:
    a, b = np.zeros(10), np.zeros(10)
    a[3], b[3] = 0.4, 0.8
    assert Difference(of(a), of(b)).correlation == 0
    a[4], b[5] = 0.3, 0.2
    assert Difference(of(a), of(b)).correlation > 0.5


def test_runs_that_differ_by_the_same_everywhere_have_no_interval_but_a_word() -> None:
    values = np.linspace(0.2, 0.8, 20)
    for pair in (Difference(of(values), of(values)), Difference(of(values), of(values + 0.1))):
        assert (pair.interval(), pair.p()) == (None, None)
        assert pair.reason == "no interval: all source images say the same"


def test_two_runs_that_never_vary_may_still_differ_elsewhere() -> None:
    low, high = Difference(of([0.0] * 5), of([0.0] * 5)).interval()  # type: ignore[misc]
    assert low == -high
    assert 0.5 < high < 0.7


def test_a_control_known_exactly_adds_nothing() -> None:
    values = np.array([0.9, 0.8, 0.95, 0.7, 0.85, 0.99])
    model, control = of(values), of(np.ones(6), exact=True)
    ends = model.interval()
    assert ends is not None
    assert Difference(model, control).interval() == pytest.approx((ends.low - 1, ends.high - 1))
    assert Difference(control, control).interval() == (0, 0)


def test_p_is_where_the_interval_begins_to_leave_out_zero() -> None:
    rng = np.random.default_rng(3)
    pair = Difference(of(rng.beta(6, 2, 9)), of(rng.beta(4, 4, 9)))
    p = pair.p()
    assert p is not None
    inside, outside = pair.interval(1 - p * 0.999), pair.interval(1 - p * 1.001)
    assert inside is not None
    assert outside is not None
    assert inside.low <= 0 < outside.low


def test_few_sources_have_neither() -> None:
    pair = Difference(of([0.1, 0.2, 0.3]), of([0.3, 0.2, 0.2]))
    assert (pair.interval(), pair.p(), pair.reason) == (None, None, "no interval: 3 source images")
