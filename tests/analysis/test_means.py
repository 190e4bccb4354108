"""Means of clustered scores: against textbook forms, and whether their intervals hold the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from medebench.analysis import Bounds, Mean, mean
from medebench.analysis.interval import UNBOUNDED, UNIT

scores = st.floats(0, 1, allow_subnormal=False)
clustered = st.lists(st.tuples(scores, st.integers(0, 7)), min_size=4, max_size=30)


def found(values: object, clusters: object, bounds: Bounds = UNIT, **how: bool) -> Mean:
    one = mean(values, clusters, bounds, **how)  # type: ignore[arg-type]
    assert one is not None
    return one


def width(one: Mean, level: float = 0.95) -> float:
    ends = one.interval(level)
    assert ends is not None
    return ends.high - ends.low


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_without_ends_it_is_students_interval_raised_for_skew(level: float) -> None:
    values = np.random.default_rng(0).normal(size=12)
    error = math.sqrt(1 + 1 / 12) * stats.sem(values)
    theirs = stats.t.interval(level, 11, values.mean(), error)
    ours = found(values, np.arange(12), UNBOUNDED).interval(level)
    assert ours == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("right", [0, 1, 30, 57, 60])
def test_of_yes_and_no_it_is_wilsons_interval_but_for_few_sources_and_skew(right: int) -> None:
    n = 4000
    values = np.arange(n) < right * n // 60
    theirs = stats.binomtest(int(values.sum()), n).proportion_ci(method="wilson")
    ours = found(values, np.arange(n)).interval()
    assert ours == pytest.approx((theirs.low, theirs.high), abs=2e-4)


def test_every_mean_inside_is_as_far_as_the_quantile_allows() -> None:
    """The definition itself, solved for by trying means one by one."""
    values = np.random.default_rng(1).beta(6, 1, 9)
    for bounds, variance in (
        (Bounds(-1, 1), lambda m: (m + 1) * (1 - m)),
        (Bounds(low=0.0), lambda m: m),
        (Bounds(high=1.0), lambda m: 1 - m),
    ):
        one = found(values, np.arange(9), bounds)
        tried = np.linspace(max(bounds.low, -3), min(bounds.high, 3), 200_001)
        t = stats.t.ppf(0.975, 8)
        limit = t**2 * one.variance * variance(tried) / variance(one.value)
        inside = tried[(one.value - tried) ** 2 <= limit]
        assert one.interval() == pytest.approx((inside.min(), inside.max()), abs=1e-4)


def test_the_variance_is_the_jackknifes_but_for_the_factor() -> None:
    rng = np.random.default_rng(2)
    clusters = np.repeat(np.arange(8), rng.integers(1, 5, 8))
    values = rng.normal(size=len(clusters))
    one = found(values, clusters, UNBOUNDED)
    without = [values[clusters != c].mean() for c in range(8)]
    shares = np.bincount(clusters) / len(clusters)
    expected = sum(
        (w - values.mean()) ** 2 * (1 - share) for w, share in zip(without, shares, strict=True)
    )
    assert one.effective == pytest.approx(1 / (shares**2).sum())
    assert one.variance == pytest.approx(expected * (1 + 1 / one.effective), rel=1e-12)


def test_it_is_no_news_that_the_exceptions_are_small_pictures() -> None:
    """Ten pictures of 1 to 10 cases, all 0 but one: a small one must not make the mean sure."""
    clusters = np.repeat(np.arange(10), np.arange(1, 11))
    none = found(np.zeros(55), clusters).interval()
    least = found(np.where(clusters == 0, 0.5, 0.0), clusters).interval()
    assert none is not None
    assert least is not None
    assert least.high == pytest.approx(none.high, abs=0.1)
    # Pictures of one size each say as much as any other.
    equal = found(np.arange(10) < 2, np.arange(10))
    assert equal.variance == pytest.approx(0.16 / 9 * 1.25)


@given(clustered)
def test_the_interval_holds_the_mean_and_stays_in_range(rows: list[tuple[float, int]]) -> None:
    values, clusters = zip(*rows, strict=True)
    one = found(values, clusters)
    assert one.value == pytest.approx(np.mean(values))
    ends = one.interval()
    assert (ends is None) == (len(set(clusters)) < 4)
    if ends:
        assert 0 <= ends.low <= one.value + 1e-12
        assert one.value - 1e-12 <= ends.high <= 1


@given(clustered, st.randoms(use_true_random=False))
def test_row_order_does_not_matter(rows: list[tuple[float, int]], random: object) -> None:
    mixed = list(rows)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    one, other = (found(*zip(*some, strict=True)) for some in (rows, mixed))
    assert one == other


@given(clustered)
def test_scores_turned_round_have_the_interval_turned_round(rows: list[tuple[float, int]]) -> None:
    values, clusters = zip(*rows, strict=True)
    ends = found(values, clusters).interval()
    turned = found([1 - value for value in values], clusters).interval()
    if ends and turned:
        assert turned == pytest.approx((1 - ends.high, 1 - ends.low), abs=1e-9)


@given(clustered)
def test_copies_of_cases_in_the_same_picture_are_no_evidence(rows: list[tuple[float, int]]) -> None:
    once = found(*zip(*rows, strict=True)).interval()
    twice = found(*zip(*rows, *rows, strict=True)).interval()
    assert twice == (None if once is None else pytest.approx(once, abs=1e-9))


@given(st.floats(-50, 50, allow_subnormal=False), st.floats(0.1, 40))
def test_the_scale_does_not_matter(shift: float, size: float) -> None:
    values = np.array([0.1, 0.4, 0.35, 0.9, 1.0])
    ends = found(values, np.arange(5)).interval()
    assert ends is not None
    moved = found(shift + size * values, np.arange(5), Bounds(shift, shift + size)).interval()
    assert moved == pytest.approx([shift + size * end for end in ends], abs=1e-6)


@pytest.mark.parametrize("sources", [1, 2, 3])
def test_fewer_than_four_sources_have_no_interval_but_a_word(sources: int) -> None:
    one = found(np.linspace(0, 1, 12), np.arange(12) % sources)
    assert one.interval() is None
    assert one.reason.startswith(f"no interval: {sources} source image")


def test_equal_scores_are_not_certain() -> None:
    for value in (0.0, 0.4, 1.0):
        one = found([value] * 5, np.arange(5))
        low, high = one.interval()  # type: ignore[misc]
        assert low <= value <= high
        assert 0.5 < high - low < 0.7
        # Five sources without a failure are consistent with one source in three failing.
        assert stats.binom.pmf(0, 5, high - low) < 0.025
    assert width(found([1.0] * 500, np.arange(500))) < 0.01


def test_equal_scores_without_ends_have_a_word_instead() -> None:
    one = found([7.0] * 9, np.arange(9), UNBOUNDED)
    assert (one.interval(), one.reason) == (None, "no interval: all source images say the same")


def test_a_control_that_never_varies_is_known_exactly() -> None:
    assert found([1.0] * 9, np.arange(9), exact=True).interval() == (1.0, 1.0)
    assert found([1.0, 1.0], ["a", "a"], exact=True).interval() == (1.0, 1.0)
    varied = [1.0] * 8 + [0.5]
    assert (
        found(varied, np.arange(9), exact=True).interval() == found(varied, np.arange(9)).interval()
    )


def test_values_beyond_the_ends_show_that_there_are_none() -> None:
    values = [0.5, 0.9, 1.4, 0.7, 0.2]
    assert found(values, np.arange(5)).bounds == Bounds(0.0, math.inf)


def test_values_that_are_not_finite_do_not_enter() -> None:
    clean = found([1.0, 2.0, 4.0, 3.0], list("abcd"), UNBOUNDED)
    dirty = found([1.0, np.nan, 2.0, np.inf, 4.0, 3.0], list("aabdcd"), UNBOUNDED)
    assert clean.interval() == dirty.interval()
    assert dirty.n == 4
    assert mean([np.nan], ["a"]) is None


@pytest.mark.parametrize("level", [0.0, 1.0, 95])
def test_senseless_levels_are_refused(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        found([1, 2, 3, 4], [1, 2, 3, 4], UNBOUNDED).interval(level)


def test_labels_must_match_the_values() -> None:
    with pytest.raises(ValueError, match="2 values"):
        mean([1, 2], [1])
