from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from medebench.analysis import Bounds, compare_runs, holm
from tests.analysis.conftest import Frame


def runs_of(frame: Frame, n: int = 10, runs: str = "abc") -> pl.DataFrame:
    rng = np.random.default_rng(0)
    return frame(
        {"run": run, "case": f"c{i}", "k": k, "value": rng.normal(j * 0.5, 1)}
        for j, run in enumerate(runs)
        for i in range(n)
        for k in range(2)
    )


def test_all_pairs_are_compared_as_scipy_does_and_corrected_together(frame: Frame) -> None:
    scores = runs_of(frame)
    pairs = compare_runs(scores, "cp")
    assert [(pair.run_a, pair.run_b) for pair in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    values = {
        run: np.array(scores.filter(pl.col("run") == run)["value"]).reshape(10, 2).mean(axis=1)
        for run in "abc"
    }
    for pair in pairs:
        a, b = values[pair.run_a], values[pair.run_b]
        theirs = stats.permutation_test(
            (a, b),
            lambda x, y, axis: (x - y).mean(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=np.inf,
        )
        assert pair.difference == pytest.approx(theirs.statistic, abs=1e-12)
        # The paired t test, raised for skew.
        gap, error = (a - b).mean(), np.sqrt(11 / 10) * stats.sem(a - b)
        paired = 2 * stats.t.sf(abs(gap) / error, 9)
        assert pair.p == pytest.approx(max(theirs.pvalue, paired), abs=1e-6)
        assert pair.interval == pytest.approx(stats.t.interval(0.95, 9, gap, error), abs=1e-9)
        assert (pair.n_cases, pair.n_clusters, pair.n_dropped) == (10, 10, 0)
    assert [pair.p_holm for pair in pairs] == holm([pair.p or 0 for pair in pairs])


def test_chosen_runs_are_compared_in_the_order_given(frame: Frame) -> None:
    scores = runs_of(frame)
    [there] = compare_runs(scores, "cp", ["a", "c"])
    [back] = compare_runs(scores, "cp", ["c", "a"])
    assert (back.run_a, back.run_b) == ("c", "a")
    assert there.p == there.p_holm == back.p
    assert there.difference == -(back.difference or 0)
    assert {there.direction, back.direction} == {"lower", "higher"}


def test_row_order_does_not_matter(frame: Frame) -> None:
    scores = runs_of(frame, n=30)
    assert compare_runs(scores, "cp") == compare_runs(
        scores.sample(fraction=1, shuffle=True, seed=1), "cp"
    )


def test_cases_not_scored_in_both_are_left_out_and_counted(frame: Frame) -> None:
    scores = frame(
        [
            {"run": "a", "case": "1", "value": 0.75},
            {"run": "b", "case": "1", "value": 0.5},
            {"run": "a", "case": "2", "value": 0.9},
            {"run": "b", "case": "2", "reason": "ROI too large"},
            {"run": "b", "case": "3", "value": float("nan")},
            {"run": "a", "case": "4", "value": 0.9, "source": "old"},
            {"run": "b", "case": "4", "value": 0.1, "source": "new"},
        ]
    )
    [pair] = compare_runs(scores, "cp")
    assert (pair.n_cases, pair.n_clusters, pair.n_dropped) == (1, 1, 4)
    assert (pair.difference, pair.interval, pair.p) == (0.25, None, 1.0)


def test_copies_within_a_source_do_not_sharpen_a_comparison(frame: Frame) -> None:
    scores = runs_of(frame, n=8, runs="ab").with_columns(source=pl.col("case"))
    copies = pl.concat([scores, scores.with_columns(case="copy of " + pl.col("case"))])
    [once], [twice] = compare_runs(scores, "cp"), compare_runs(copies, "cp")
    assert twice.p == pytest.approx(once.p, abs=1e-9)
    assert twice.interval == pytest.approx(once.interval, abs=1e-12)
    assert (twice.n_cases, twice.n_clusters) == (16, 8)


def test_runs_without_a_common_case_are_undefined_but_count_as_a_comparison(frame: Frame) -> None:
    rows = [{"run": run, "case": str(i), "value": float(run == "a")} for run in "ab" for i in "123"]
    scores = frame([*rows, {"run": "c", "case": "9", "value": 0.5}])
    ab, ac, bc = compare_runs(scores, "cp")
    for pair in (ac, bc):
        assert (pair.difference, pair.interval, pair.p, pair.p_holm) == (None,) * 4
        assert pair.direction == "undefined"
        assert not pair.significant(1.0)
    assert (ab.p, ab.p_holm) == (0.25, 0.75)
    assert ab.significant(0.75)
    assert not ab.significant()


def test_equal_runs_are_equal(frame: Frame) -> None:
    scores = frame({"run": run, "case": str(i), "value": 0.1} for run in "ab" for i in range(20))
    [pair] = compare_runs(scores, "cp", bounds=Bounds(0, 1))
    assert (pair.direction, pair.p) == ("equal", 1.0)
    assert pair.interval is not None
    assert pair.interval.low < 0 < pair.interval.high
    [endless] = compare_runs(scores, "cp")
    assert (endless.interval, endless.why) == (None, "no interval: all source images say the same")


def test_nothing_is_significant_whose_interval_holds_zero(frame: Frame) -> None:
    """One of six fails on both counts; without it all differences have the same sign."""
    a = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    b = [0.2, 0.25, 0.3, 0.22, 0.28, 0.25]
    rows = [
        {"run": run, "case": str(i), "value": value}
        for run, values in (("a", a), ("b", b))
        for i, value in enumerate(values)
    ]
    [pair] = compare_runs(frame(rows), "cp", bounds=Bounds(0, 1))
    # Six failures of six leave room for a share of successes that would make up for it.
    assert pair.interval is not None
    assert pair.interval.low < 0 < pair.interval.high
    assert pair.p is not None
    assert pair.p > 0.05


def test_unknown_names_are_refused(frame: Frame) -> None:
    scores = runs_of(frame, n=2)
    with pytest.raises(ValueError, match="no rows of metric 'lpips'"):
        compare_runs(scores, "lpips")
    with pytest.raises(ValueError, match="for run z"):
        compare_runs(scores, "cp", ["a", "z"])


def test_a_single_run_has_nothing_to_be_compared_with(frame: Frame) -> None:
    assert compare_runs(runs_of(frame, n=2), "cp", ["a"]) == []
