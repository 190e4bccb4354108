from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from medebench.analysis import holm, sign_flip_test

rows = st.lists(
    st.tuples(st.floats(-1, 1, allow_subnormal=False), st.integers(0, 15)), min_size=1, max_size=30
)
pvalues = st.lists(st.floats(0, 1), max_size=12)


@pytest.mark.parametrize("n", [2, 3, 7, 12])
def test_exact_test_is_scipys(n: int) -> None:
    a, b = np.random.default_rng(n).normal(0.3, 1, size=(2, n))
    theirs = stats.permutation_test(
        (a, b),
        lambda x, y, axis: (x - y).mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    ).pvalue
    assert sign_flip_test(a - b, np.arange(n)) == pytest.approx(theirs, abs=1e-12)


def test_exact_test_of_clusters_is_scipys_of_their_sums() -> None:
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(9), rng.integers(1, 5, size=9))
    x = rng.normal(0.4, 1, size=len(clusters))
    theirs = stats.permutation_test(
        (np.bincount(clusters, x),),
        lambda s, axis: s.sum(axis=axis) / len(x),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    ).pvalue
    assert sign_flip_test(x, clusters) == pytest.approx(theirs, abs=1e-12)


def test_exact_test_counts_ties_like_exact_arithmetic() -> None:
    # 0.1 + 0.2 + 0.3 in floats depends on the order; of 8 patterns only all plus and all minus
    # reach 0.6, but {0.1, 0.2 | 0.3} and its mirror tie at 0, which must count against T = 0.
    assert sign_flip_test([0.1, 0.2, 0.3], [1, 2, 3]) == 0.25
    assert sign_flip_test([0.1, 0.2, -0.3], [1, 2, 3]) == 1.0


def test_random_flips_approach_the_t_test_and_scipy() -> None:
    x = np.random.default_rng(2).normal(0.25, 1, size=60)
    ours = sign_flip_test(x, np.arange(60), resamples=40_000)
    theirs = stats.permutation_test(
        (x,),
        lambda s, axis: s.mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=20_000,
        rng=np.random.default_rng(3),
    ).pvalue
    assert ours == pytest.approx(theirs, abs=0.01)
    assert ours == pytest.approx(stats.ttest_1samp(x, 0).pvalue, abs=0.02)


def test_random_flips_never_give_zero() -> None:
    assert sign_flip_test(np.ones(50), np.arange(50), resamples=999) == 1 / 1000


def test_cases_of_one_picture_are_one_piece_of_evidence() -> None:
    x = np.ones(40)
    assert sign_flip_test(x, np.zeros(40)) == 1.0
    assert sign_flip_test(x, np.arange(40) % 3) == 0.25


def test_false_alarms_keep_the_level_with_clusters() -> None:
    rng = np.random.default_rng(4)
    clusters = np.repeat(np.arange(20), 5)
    trials = 300
    alarms = naive = 0
    for trial in range(trials):
        x = rng.normal(size=20)[clusters] + 0.3 * rng.normal(size=100)
        p = sign_flip_test(x, clusters, resamples=399, seed=trial)
        q = sign_flip_test(x, np.arange(100), resamples=399, seed=trial)
        assert p is not None
        assert q is not None
        alarms += p <= 0.05
        naive += q <= 0.05
    assert alarms / trials <= 0.09
    assert naive / trials > 0.25


def test_nothing_to_test_is_undefined() -> None:
    assert sign_flip_test([], []) is None
    assert sign_flip_test([float("nan")], ["a"]) is None


@settings(max_examples=50, deadline=None)
@given(rows, st.randoms(use_true_random=False))
def test_p_lies_above_zero_and_does_not_depend_on_order_or_sign(
    data: list[tuple[float, int]], random: object
) -> None:
    p = sign_flip_test(*zip(*data, strict=True), resamples=99)
    assert p is not None
    assert 0 < p <= 1
    mixed = list(data)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert sign_flip_test(*zip(*mixed, strict=True), resamples=99) == p
    values, clusters = zip(*data, strict=True)
    if len(set(clusters)) <= 12:
        assert sign_flip_test([-v for v in values], clusters) == p


def holm_by_definition(p: list[float]) -> list[float]:
    """Smallest level at which Holm's procedure, taken literally, rejects each hypothesis."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted = [0.0] * len(p)
    for place, i in enumerate(order):
        adjusted[i] = max(min(1.0, (len(p) - j) * p[order[j]]) for j in range(place + 1))
    return adjusted


@given(pvalues)
def test_holm_is_its_definition(p: list[float]) -> None:
    assert holm(p) == pytest.approx(holm_by_definition(p), abs=1e-15)


@given(pvalues)
def test_holm_is_monotone_and_never_below_the_p_it_corrects(p: list[float]) -> None:
    adjusted = holm(p)
    assert all(before <= after <= 1 for before, after in zip(p, adjusted, strict=True))
    pairs = sorted(zip(p, adjusted, strict=True))
    assert all(one[1] <= two[1] for one, two in pairwise(pairs))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.sampled_from([0.01, 0.05, 0.2]))
def test_holm_rejects_what_the_step_down_procedure_rejects(p: list[float], alpha: float) -> None:
    rejected = set()
    for step, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        if (len(p) - step) * p[i] > alpha:
            break
        rejected.add(i)
    assert {i for i, q in enumerate(holm(p)) if q <= alpha} == rejected


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_holm_refuses_what_is_no_p_value(wrong: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, wrong])
