from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from medebench.analysis import Interval, cluster_interval, macro_interval

scores = st.floats(-1, 1, allow_subnormal=False)
clustered = st.lists(st.tuples(scores, st.integers(0, 5)), min_size=2, max_size=30)
grouped = st.lists(st.tuples(scores, st.integers(0, 2), st.integers(0, 8)), min_size=2, max_size=40)


def width(interval: Interval | None) -> float:
    assert interval is not None
    return interval.high - interval.low


def test_interval_of_singletons_is_scipys_percentile_bootstrap() -> None:
    values = np.random.default_rng(1).gamma(2.0, size=40)
    ours = cluster_interval(values, np.arange(40), resamples=40_000)
    theirs = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=40_000, rng=np.random.default_rng(2)
    ).confidence_interval
    assert ours is not None
    assert np.allclose(ours, theirs, atol=0.02 * (theirs.high - theirs.low))


def test_interval_of_unequal_clusters_is_scipys_bootstrap_of_a_ratio() -> None:
    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(25), rng.integers(1, 6, size=25))
    values = rng.normal(size=25)[clusters] + rng.normal(size=len(clusters))
    sums, counts = np.bincount(clusters, values), np.bincount(clusters)

    def ratio(s: np.ndarray, n: np.ndarray, axis: int = -1) -> Any:
        return s.sum(axis) / n.sum(axis)

    theirs = stats.bootstrap(
        (sums, counts),
        ratio,
        paired=True,
        method="percentile",
        n_resamples=40_000,
        confidence_level=0.9,
        rng=np.random.default_rng(4),
    ).confidence_interval
    ours = cluster_interval(values, clusters, level=0.9, resamples=40_000)
    assert ours is not None
    assert np.allclose(ours, theirs, atol=0.02 * (theirs.high - theirs.low))


def test_intervals_cover_clustered_data_where_a_naive_bootstrap_does_not() -> None:
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(40), 6)
    trials = 400
    hits = naive = 0
    for trial in range(trials):
        values = rng.normal(size=40)[clusters] + 0.3 * rng.normal(size=240)
        clustered_ = cluster_interval(values, clusters, resamples=300, seed=trial)
        cases = cluster_interval(values, np.arange(240), resamples=300, seed=trial)
        assert clustered_ is not None
        assert cases is not None
        hits += clustered_.low <= 0 <= clustered_.high
        naive += cases.low <= 0 <= cases.high
    assert 0.91 <= hits / trials <= 0.98
    assert naive / trials < 0.75


def test_macro_intervals_cover_with_a_handful_of_pictures_per_organ() -> None:
    rng = np.random.default_rng(6)
    organ_of = np.repeat(np.arange(6), [3, 4, 5, 6, 8, 14])
    clusters = np.repeat(np.arange(40), 3)
    truth = np.linspace(-2, 2, 6)
    trials = 400
    hits = 0
    for trial in range(trials):
        values = (truth[organ_of] + rng.normal(size=40))[clusters] + 0.3 * rng.normal(size=120)
        found = macro_interval(values, organ_of[clusters], clusters, resamples=300, seed=trial)
        assert found is not None
        hits += found.low <= truth.mean() <= found.high
    assert 0.88 <= hits / trials <= 0.98  # 0.916 in 2000 trials


def test_macro_spread_is_the_textbook_error_of_a_stratified_mean() -> None:
    rng = np.random.default_rng(7)
    organs = np.repeat([0, 1, 2], [4, 30, 6])
    values = rng.normal(size=40)
    expected = np.sqrt(sum(stats.sem(values[organs == o]) ** 2 for o in range(3))) / 3
    # The normal quantile holds for the middle of the distribution, which is why the level is low.
    found = macro_interval(values, organs, np.arange(40), level=0.68, resamples=20_000)
    assert width(found) / 2 == pytest.approx(expected * stats.norm.ppf(0.84), rel=0.05)


def test_a_picture_used_for_two_organs_is_resampled_whole() -> None:
    # Opposite values cancel within each picture, so the macro mean is 0 in every whole resample.
    noise = np.random.default_rng(8).normal(size=10)
    values = np.concatenate([noise, -noise])
    organs = np.repeat(["lung", "heart"], 10)
    pictures = np.tile(np.arange(10), 2)
    whole = macro_interval(values, organs, pictures)
    torn = macro_interval(values, organs, np.arange(20))
    assert width(whole) == pytest.approx(0, abs=1e-12)
    assert width(torn) > 0.3


def test_an_organ_seen_only_in_shared_pictures_keeps_their_number() -> None:
    # Two of the three shared pictures are drawn each time, so that the heart's mean is -1, -1/2,
    # 0, 1/2 or 1, and the macro mean half of it. A single resample shows its mean.
    values = [0.0] * 103 + [-1.0, 0.0, 1.0]
    organs = ["aorta"] * 103 + ["heart"] * 3
    pictures = [*range(103), 100, 101, 102]
    means = {macro_interval(values, organs, pictures, resamples=1, seed=s) for s in range(100)}
    assert means == {(end, end) for end in (-0.5, -0.25, 0.0, 0.25, 0.5)}


def test_a_lone_picture_of_two_organs_does_not_make_the_interval_undefined() -> None:
    organs = ["lung"] * 5 + ["heart"] * 5
    pictures = [0, 1, 2, 3, 9, 4, 5, 6, 7, 9]
    found = macro_interval(np.arange(10.0), organs, pictures)
    assert found is not None
    assert found.low < 4.5 < found.high


def test_one_organ_gives_the_plain_interval() -> None:
    values = np.arange(9.0)
    pictures = values // 2
    assert macro_interval(values, np.zeros(9), pictures) == cluster_interval(values, pictures)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0], [1.0, float("nan")]])
def test_fewer_than_two_clusters_have_no_interval(values: list[float]) -> None:
    clusters = ["a"] * len(values) if len(values) < 2 or values[1] == 2.0 else ["a", "b"]
    assert cluster_interval(values, clusters) is None
    assert macro_interval(values, ["lung"] * len(values), clusters) is None


def test_an_organ_with_one_picture_has_no_macro_interval() -> None:
    assert macro_interval([1, 2, 3], ["lung", "lung", "eye"], ["a", "b", "c"]) is None


def test_values_that_are_not_finite_do_not_enter() -> None:
    clean = cluster_interval([1.0, 2.0, 4.0], ["a", "b", "c"])
    dirty = cluster_interval([1.0, np.nan, 2.0, np.inf, 4.0], ["a", "a", "b", "d", "c"])
    assert clean == dirty


def test_seed_decides_the_interval() -> None:
    values = np.random.default_rng(9).normal(size=30)
    first, again, other = (cluster_interval(values, np.arange(30), seed=s) for s in (1, 1, 2))
    assert first == again != other


def test_memory_stays_small_with_many_rows() -> None:
    values = np.random.default_rng(10).random(100_000)
    tracemalloc.start()
    try:
        cluster_interval(values, np.arange(100_000), resamples=100)
        macro_interval(values, np.arange(100_000) % 13, np.arange(100_000), resamples=100)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6


@pytest.mark.parametrize("wrong", [{"level": 1.0}, {"level": 0.0}, {"resamples": 0}])
def test_senseless_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        cluster_interval([1, 2], [1, 2], **wrong)  # type: ignore[arg-type]


def test_labels_must_match_the_values() -> None:
    with pytest.raises(ValueError, match="2 values"):
        cluster_interval([1, 2], [1])


@settings(max_examples=50, deadline=None)
@given(clustered, st.randoms(use_true_random=False))
def test_row_order_does_not_matter(rows: list[tuple[float, int]], random: object) -> None:
    mixed = list(rows)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert cluster_interval(*zip(*rows, strict=True), resamples=50) == cluster_interval(
        *zip(*mixed, strict=True), resamples=50
    )


@settings(max_examples=50, deadline=None)
@given(grouped, st.randoms(use_true_random=False))
def test_row_order_does_not_matter_for_macro(
    rows: list[tuple[float, int, int]], random: object
) -> None:
    mixed = list(rows)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    found = macro_interval(*zip(*rows, strict=True), resamples=50)
    assert found == macro_interval(*zip(*mixed, strict=True), resamples=50)
    if found is not None:
        values = [value for value, _, _ in rows]
        assert min(values) - 1e-12 <= found.low <= found.high <= max(values) + 1e-12


@settings(max_examples=50, deadline=None)
@given(clustered)
def test_copies_of_cases_in_the_same_picture_are_no_evidence(
    rows: list[tuple[float, int]],
) -> None:
    once = cluster_interval(*zip(*rows, strict=True), resamples=50)
    twice = cluster_interval(*zip(*rows, *rows, strict=True), resamples=50)
    if once is None:
        assert twice is None
    else:
        assert twice == pytest.approx(once, abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(scores, st.lists(st.integers(0, 9), min_size=2, max_size=30))
def test_constant_values_give_zero_width(value: float, clusters: list[int]) -> None:
    found = cluster_interval([value] * len(clusters), clusters, resamples=50)
    assert found == (None if len(set(clusters)) < 2 else Interval(value, value))
