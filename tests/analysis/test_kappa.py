"""Cohen's kappa, against a count over pairs of raters' tables and the textbook's own example."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medebench.analysis.kappa import cohen_kappa


def test_a_table_done_by_hand():
    # 20 both yes, 5 and 10 apart, 15 both no: o = 0.7, e = 0.5 * 0.6 + 0.5 * 0.4 = 0.5.
    first = "y" * 25 + "n" * 25
    second = "y" * 20 + "n" * 5 + "y" * 10 + "n" * 15
    found = cohen_kappa(first, second, range(50))
    assert (found.n, found.same) == (50, 35)
    assert found.value == pytest.approx(0.4)
    assert found.interval is not None and found.interval[0] < 0.4 < found.interval[1]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30))
def test_against_matrices(pairs):
    first, second = zip(*pairs, strict=True)
    table = np.zeros((3, 3))
    for one, other in pairs:
        table["abc".index(one), "abc".index(other)] += 1 / len(pairs)
    by_chance = float(table.sum(0) @ table.sum(1))
    found = cohen_kappa(first, second, range(len(pairs))).value
    if by_chance > 1 - 1e-9:
        assert math.isnan(found)
    else:
        assert found == pytest.approx((np.trace(table) - by_chance) / (1 - by_chance), abs=1e-9)


def test_sources_that_repeat_themselves_are_no_new_evidence():
    first, second = "aabbccaabb", "aabbcbaaba"
    alone = cohen_kappa(first, second, range(10))
    twice = cohen_kappa(first * 2, second * 2, [*range(10), *range(10)])
    assert alone.interval is not None and twice.interval is not None
    assert twice.value == pytest.approx(alone.value)
    assert twice.interval == pytest.approx(alone.interval)


def test_too_few_sources_is_a_reason():
    found = cohen_kappa("aabb", "aaba", "1122")
    assert found.interval is None and found.reason == "no interval: 2 source images"
    with pytest.raises(ValueError, match="4, 3 types"):
        cohen_kappa("aabb", "aab", "1122")
