from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from medebench.analysis import reliability


def test_icc_is_that_of_the_analysis_of_variance() -> None:
    """Worked by hand: group means 2, 4, 9, grand mean 5, MSB = 52 / 2 * 3, MSW = 6 / 6."""
    found = reliability([[1, 2, 3], [3, 4, 5], [8, 9, 10]])
    assert found is not None
    between, within = 3 * (9 + 1 + 16) / 2, (2 + 2 + 2) / 6
    assert found.icc == pytest.approx((between - within) / (between + 2 * within))
    assert found.sd == pytest.approx(1.0)
    assert (found.outputs, found.values) == (3, 9)


def test_shrout_and_fleiss() -> None:
    """Table 2 of Shrout and Fleiss 1979: ICC(1,1) = 0.17."""
    ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    found = reliability(ratings)
    assert found is not None and found.icc == pytest.approx(0.17, abs=0.005)


def test_groups_of_different_size_follow_the_f_statistic() -> None:
    rng = np.random.default_rng(0)
    groups = [rng.normal(rng.normal(), 0.5, n).tolist() for n in (2, 3, 3, 5, 4)]
    f = stats.f_oneway(*groups).statistic
    sizes = np.array([len(one) for one in groups])
    n0 = (sizes.sum() - (sizes**2).sum() / sizes.sum()) / (len(groups) - 1)
    found = reliability([*groups, [0.3], []])
    assert found is not None
    assert found.icc == pytest.approx((f - 1) / (f - 1 + n0))
    assert found.outputs == 5


def test_what_cannot_be_had_is_none() -> None:
    assert reliability([]) is None
    assert reliability([[0.5], [0.6]]) is None
    one = reliability([[0.5, 0.7]])
    assert one is not None and one.icc is None
    same = reliability([[0.5, 0.5], [0.5, 0.5]])
    assert same is not None and (same.sd, same.icc) == (0.0, None)
    perfect = reliability([[0.5, 0.5], [0.7, 0.7]])
    assert perfect is not None and perfect.icc == pytest.approx(1.0)
    opposite = reliability([[0.0, 1.0], [0.0, 1.0]])
    assert opposite is not None and opposite.icc == pytest.approx(-1.0)
