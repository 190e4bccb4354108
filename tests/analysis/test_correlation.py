"""Spearman's rho against SciPy's, and its interval."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from medebench.analysis import cluster_spearman
from medebench.analysis.correlation import _rho


@pytest.mark.parametrize("digits", [1, 8])  # with one digit, many ties
def test_as_scipy(digits):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60).round(digits)
    y = (0.5 * x + rng.normal(size=60)).round(digits)
    found = cluster_spearman(x, y, np.arange(60) // 2)
    assert found.rho == pytest.approx(spearmanr(x, y).statistic, abs=1e-12) and found.n == 60
    low, high = found.interval
    assert low < found.rho < high


def test_weights_count_as_repeats():
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 6, (2, 20)).astype(float)
    weights = rng.integers(0, 3, 20)
    repeated = spearmanr(np.repeat(x, weights), np.repeat(y, weights)).statistic
    assert _rho(x, y, weights[None].astype(float))[0] == pytest.approx(repeated, abs=1e-12)


def test_order_does_not_matter():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 30))
    sources = np.arange(30) // 3
    order = rng.permutation(30)
    assert cluster_spearman(x, y, sources) == cluster_spearman(x[order], y[order], sources[order])


def test_whole_sources_are_drawn():
    """Ten copies of each pair say no more than one."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 12))
    once = cluster_spearman(x, y, np.arange(12))
    often = cluster_spearman(np.tile(x, 10), np.tile(y, 10), np.tile(np.arange(12), 10))
    assert often.interval == pytest.approx(once.interval, abs=1e-9)


def test_too_few_have_no_interval():
    assert cluster_spearman([1, 2, 3], [3, 1, 2], list("abc")).interval is None
    assert cluster_spearman([], [], []) is None
    assert cluster_spearman([1, np.nan], [np.nan, 1], list("ab")) is None
