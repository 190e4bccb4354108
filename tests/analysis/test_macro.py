"""Means over organs of their means."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from medebench.analysis import Bounds, Mean, macro_mean, mean
from medebench.analysis.interval import UNBOUNDED, UNIT

scores = st.floats(0, 1, allow_subnormal=False)
grouped = st.lists(st.tuples(scores, st.integers(0, 2), st.integers(0, 8)), min_size=2, max_size=40)


def found(values: object, organs: object, pictures: object, bounds: Bounds = UNIT) -> Mean:
    one = macro_mean(values, organs, pictures, bounds)  # type: ignore[arg-type]
    assert one is not None
    return one


def width(one: Mean) -> float:
    ends = one.interval()
    assert ends is not None
    return ends.high - ends.low


def test_of_equally_varied_organs_it_is_the_textbook_interval() -> None:
    """Stratified means: variances add up, and so do degrees of freedom where they are equal."""
    rng = np.random.default_rng(7)
    values = stats.zscore(rng.normal(size=(3, 10)), axis=1, ddof=1) + np.arange(3)[:, None]
    one = found(values.ravel(), np.repeat([0, 1, 2], 10), np.arange(30), UNBOUNDED)
    error = np.sqrt(3 * 1 / 10) / 3 * np.sqrt(1 + 1 / 28)
    expected = stats.t.interval(0.95, 27, values.mean(), error)
    assert one.interval() == pytest.approx(expected, abs=1e-9)


def test_freedom_is_between_that_of_the_plan_and_that_of_what_was_seen() -> None:
    """Satterthwaite's, as SciPy's Welch test has it for two samples."""
    rng = np.random.default_rng(8)
    first, second = rng.normal(size=8), 5 * rng.normal(size=8)
    one = found(np.append(first, second), np.repeat([0, 1], 8), np.arange(16), UNBOUNDED)
    welch = stats.ttest_ind(first, second, equal_var=False).df
    assert one.freedom == pytest.approx((14 + welch) / 2)


def test_a_picture_used_for_two_organs_stays_whole() -> None:
    # Opposite values cancel within each picture, so the macro mean does not vary with them.
    noise = np.random.default_rng(8).random(10) / 2
    values = np.concatenate([0.5 + noise, 0.5 - noise])
    organs, pictures = np.repeat(["lung", "heart"], 10), np.tile(np.arange(10), 2)
    torn = found(values, organs, np.arange(20))
    assert found(values, organs, pictures).variance == pytest.approx(0, abs=1e-12)
    assert width(torn) > 0.05


def test_an_organ_seen_only_in_shared_pictures_keeps_their_spread() -> None:
    values = [0.0] * 103 + [-1.0, 0.0, 1.0]
    organs = ["aorta"] * 103 + ["heart"] * 3
    pictures = [*range(103), 100, 101, 102]
    one = found(values, organs, pictures, Bounds(-1, 1))
    # Half of the heart's mean, of three pictures with the variance 1; skew adds a little.
    assert 1 / 12 < one.variance < 1.1 / 12
    assert one.reason == "no interval: too few source images per group"


def test_a_lone_picture_of_two_organs_does_not_make_the_interval_undefined() -> None:
    organs = ["lung"] * 5 + ["heart"] * 5
    pictures = [0, 1, 2, 3, 9, 4, 5, 6, 7, 9]
    low, high = found(np.arange(10.0), organs, pictures, UNBOUNDED).interval()  # type: ignore[misc]
    assert low < 4.5 < high


def test_one_organ_gives_the_plain_mean() -> None:
    values, pictures = np.arange(9.0), np.arange(9) // 2
    assert macro_mean(values, np.zeros(9), pictures) == mean(values, pictures)


def test_too_few_pictures_have_no_interval_but_a_word() -> None:
    lone = found([0.1, 0.2, 0.3, 0.4, 0.5], ["lung"] * 4 + ["eye"], list("abcde"))
    few = found(np.linspace(0, 1, 6), np.repeat([0, 1, 2], 2), np.arange(6))
    enough = found(np.linspace(0, 1, 8), np.repeat([0, 1, 2, 3], 2), np.arange(8))
    assert (lone.interval(), lone.reason) == (
        None,
        "no interval: a group with a single source image",
    )
    assert (few.interval(), few.reason) == (None, "no interval: too few source images per group")
    assert (enough.reason, enough.interval() is not None) == ("", True)


@given(grouped, st.randoms(use_true_random=False))
def test_row_order_does_not_matter(rows: list[tuple[float, int, int]], random: object) -> None:
    mixed = list(rows)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    one, other = (found(*zip(*some, strict=True)) for some in (rows, mixed))
    assert one == other
    if ends := one.interval():
        assert 0 <= ends.low <= one.value + 1e-9
        assert one.value - 1e-9 <= ends.high <= 1
