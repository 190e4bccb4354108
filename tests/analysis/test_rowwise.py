"""Row-wise rank statistics against SciPy's, row by row, and against the paper's formula."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import ConstantInputWarning, kendalltau, spearmanr

from medebench.analysis.rowwise import (
    common_rows,
    kendall_rows,
    same_order_rows,
    spearman_rows,
)

LEVELS = st.sampled_from([1.0, 2.0, 3.0, 4.5, 7.25, np.nan])  # few, so that many tie


@st.composite
def tables(draw):
    shape = (draw(st.integers(1, 5)), draw(st.integers(1, 8)))
    return draw(arrays(float, shape, elements=LEVELS)), draw(arrays(float, shape, elements=LEVELS))


def by_scipy(function, x, y):
    keep = ~np.isnan(x) & ~np.isnan(y)
    if keep.sum() < 2:
        return np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantInputWarning)
        return function(x[keep], y[keep]).statistic


@given(tables())
@settings(max_examples=300, deadline=None)
def test_as_scipy_with_ties_and_gaps(pair):
    x, y = pair
    rho = [by_scipy(spearmanr, *rows) for rows in zip(x, y, strict=True)]
    tau = [by_scipy(kendalltau, *rows) for rows in zip(x, y, strict=True)]
    assert spearman_rows(x, y) == pytest.approx(rho, abs=1e-12, nan_ok=True)
    assert kendall_rows(x, y) == pytest.approx(tau, abs=1e-12, nan_ok=True)


@given(tables())
@settings(max_examples=200, deadline=None)
def test_pairs_counted_one_by_one(pair):
    x, y = pair
    shares, common = [], []
    for a, b in zip(x, y, strict=True):
        both = [(p, q) for p, q in zip(a, b, strict=True) if p == p and q == q]
        same = [
            (p[0] < q[0], p[0] > q[0]) == (p[1] < q[1], p[1] > q[1])
            for p, q in itertools.combinations(both, 2)
        ]
        common.append(len(both))
        shares.append(sum(same) / len(same) if same else np.nan)
    assert same_order_rows(x, y) == pytest.approx(shares, abs=1e-15, nan_ok=True)
    assert common_rows(x, y).tolist() == common


@given(st.integers(2, 26), st.integers(0, 2**32 - 1))
@settings(max_examples=200, deadline=None)
def test_paper_formula_without_ties(m, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.permutation(m) + 1.0, rng.permutation(m) + 1.0
    formula = 1 - 6 * ((x - y) ** 2).sum() / (m * (m**2 - 1))
    assert spearman_rows(x[None], y[None])[0] == pytest.approx(formula, abs=1e-12)


@given(tables())
@settings(max_examples=200, deadline=None)
def test_equal_and_reversed_are_exactly_one(pair):
    x, _ = pair
    for statistic in (spearman_rows, kendall_rows):
        equal, reverse = statistic(x, x), statistic(x, -x)
        assert np.all(np.isnan(equal) | (equal == 1.0))
        assert np.all(np.isnan(reverse) | (reverse == -1.0))
        assert np.array_equal(np.isnan(equal), np.isnan(reverse))


@given(tables())
@settings(max_examples=100, deadline=None)
def test_only_order_counts_and_sides_can_be_swapped(pair):
    x, y = pair
    for statistic in (spearman_rows, kendall_rows, same_order_rows):
        found = statistic(x, y)
        assert np.array_equal(found, statistic(np.exp(x), y**3), equal_nan=True)
        assert np.array_equal(found, statistic(y, x), equal_nan=True)


def test_undefined_where_a_side_ties_everything_that_is_left():
    x = np.array([[1.0, 1.0, 3.0], [1.0, np.nan, np.nan], [2.0, 2.0, 2.0]])
    y = np.array([[1.0, 2.0, np.nan], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    assert np.isnan(spearman_rows(x, y)).all() and np.isnan(kendall_rows(x, y)).all()
    assert same_order_rows(x, y) == pytest.approx([0.0, np.nan, 0.0], nan_ok=True)


def test_infinite_values_are_values():
    x = np.array([[np.inf, np.inf, 1.0, -np.inf]])
    y = np.array([[9.0, 9.0, 2.0, 1.0]])
    for statistic in (spearman_rows, kendall_rows, same_order_rows):
        assert statistic(x, y).tolist() == [1.0]


def test_leading_axes_are_broadcast():
    rng = np.random.default_rng(0)
    people, metric = rng.normal(size=(3, 4, 5)), rng.normal(size=(4, 5))
    found = spearman_rows(people, metric)
    assert found.shape == (3, 4)
    assert found[2, 1] == spearman_rows(people[2, 1][None], metric[1][None])[0]


@pytest.mark.parametrize("shape", [(0, 4), (2, 0), (2, 1)])
def test_nothing_to_compare(shape):
    empty = np.ones(shape)
    for statistic in (spearman_rows, kendall_rows, same_order_rows):
        assert statistic(empty, empty).shape == shape[:1]
        assert np.isnan(statistic(empty, empty)).all()


def test_rows_in_chunks_are_the_same_rows():
    """More rows than fit into one chunk."""
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 5, (2, 3000, 26)).astype(float)
    for statistic in (spearman_rows, kendall_rows):
        found = statistic(x, y)
        assert np.array_equal(found[-7:], statistic(x[-7:], y[-7:]))
