"""Ordinal alpha against the package `krippendorff`, and the properties the bootstrap rests on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from medebench.analysis.krippendorff import alpha, coincidences, ordinal_alpha
from medebench.analysis.ranked import midranks
from tests.references import run_reference

REFERENCE = """
import krippendorff
found = []
for number in range(given["count"]):
    table = given[f"table{number}"]
    try:
        found.append(krippendorff.alpha(table, level_of_measurement="ordinal"))
    except ValueError:  # one value, or nothing to pair
        found.append(np.nan)
answer["alpha"] = np.array(found)
"""

TABLES = arrays(
    float,
    st.tuples(st.integers(2, 5), st.integers(1, 12)),
    elements=st.sampled_from([1.0, 1.5, 2.0, 3.5, 7.0, np.nan]),
)


def random_tables(count: int) -> list[np.ndarray]:
    """From two raters and nearly no gaps to many raters and mostly gaps; ranks, levels, numbers."""
    rng = np.random.default_rng(0)
    tables = []
    for number in range(count):
        raters, cases, models = rng.integers(2, 7), rng.integers(1, 15), rng.integers(1, 8)
        latent = rng.normal(size=(cases, models)) * rng.choice([0.0, 0.5, 3.0])
        seen = latent + rng.normal(size=(raters, cases, models))
        if number % 3 == 0:
            table = midranks(np.round(seen))
        elif number % 3 == 1:
            table = np.round(seen)
        else:
            table = seen.round(2) / 7 - 1
        table = table.reshape(raters, -1)
        table[rng.random(table.shape) < rng.choice([0.0, 0.2, 0.7])] = np.nan
        tables.append(table)
    tables.append(np.full((2, 3), 4.0))
    tables.append(np.array([[1.0, np.nan], [np.nan, 2.0]]))
    return tables


def test_as_the_package():
    tables = random_tables(400)
    given_tables = {f"table{number}": table for number, table in enumerate(tables)}
    expected = run_reference(REFERENCE, count=len(tables), **given_tables)["alpha"]
    found = np.array([np.nan if (a := alpha(table)) is None else a for table in tables])
    assert np.isfinite(expected).sum() > 300 and np.isnan(expected[-2:]).all()
    assert found == pytest.approx(expected, abs=1e-9, nan_ok=True)


@given(TABLES, st.data())
@settings(max_examples=200, deadline=None)
def test_weights_repeat_units(table, data):
    weights = data.draw(arrays(int, table.shape[1], elements=st.integers(0, 3)))
    weighted, repeated = alpha(table, weights), alpha(np.repeat(table, weights, axis=1))
    assert (weighted is None) == (repeated is None)
    assert weighted == pytest.approx(repeated, abs=1e-12)


@given(TABLES, st.data())
@settings(max_examples=200, deadline=None)
def test_coincidences_of_groups_add_up(table, data):
    """Drawing groups of units is the same as putting their columns side by side."""
    groups = data.draw(arrays(np.intp, table.shape[1], elements=st.integers(0, 3)))
    drawn = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=6))
    weights = np.bincount(drawn, minlength=4).astype(float)
    by_group = coincidences(table, groups, 4)
    found = float(ordinal_alpha(np.tensordot(weights, by_group, 1)))
    expected = alpha(np.hstack([table[:, groups == group] for group in drawn]))
    assert found == pytest.approx(np.nan if expected is None else expected, abs=1e-12, nan_ok=True)


@given(TABLES)
@settings(max_examples=200, deadline=None)
def test_only_order_counts_and_nobody_comes_first(table):
    found = alpha(table)
    assert alpha(np.exp(table)) == found
    assert alpha(-table) == pytest.approx(found, abs=1e-12)
    assert alpha(table[::-1, ::-1]) == pytest.approx(found, abs=1e-12)


@given(TABLES)
@settings(max_examples=200, deadline=None)
def test_none_exactly_where_nothing_can_disagree(table):
    pairable = table[:, (~np.isnan(table)).sum(axis=0) > 1]
    distinct = np.unique(pairable[~np.isnan(pairable)])
    found = alpha(table)
    assert (found is None) == (len(distinct) < 2)
    assert found is None or (np.isfinite(found) and found <= 1)


@given(TABLES)
@settings(max_examples=100, deadline=None)
def test_full_agreement_is_exactly_one(table):
    same = np.where(np.isnan(table), np.nan, np.nanmax(table, axis=0, initial=1.0))
    assume(alpha(same) is not None)
    assert alpha(same) == 1.0


def test_without_ties_two_raters_are_nearly_spearman():
    """Of two permutations of m ranks, n = 2 m ratings: alpha = 1 - (1 - rho) (n - 1) / n."""
    rng = np.random.default_rng(3)
    for m in (2, 4, 7, 12):
        x, y = rng.permutation(m) + 1.0, rng.permutation(m) + 1.0
        rho = np.corrcoef(x, y)[0, 1]
        assert alpha([x, y]) == pytest.approx(1 - (1 - rho) * (2 * m - 1) / (2 * m), abs=1e-12)


def test_chance_is_zero():
    rng = np.random.default_rng(5)
    assert alpha(rng.integers(0, 5, (3, 20_000)).astype(float)) == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [np.nan, 1.0]])
def test_weights_that_cannot_be(weights):
    with pytest.raises(ValueError, match="weights"):
        alpha([[1, 2], [1, 2]], weights)


@pytest.mark.parametrize("shape", [(0, 0), (2, 0), (0, 2), (1, 3)])
def test_nothing_to_pair(shape):
    assert alpha(np.ones(shape)) is None
