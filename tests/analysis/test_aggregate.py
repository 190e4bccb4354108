from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from medebench.analysis import Bounds, coverage_text, macro_mean, mean, summarise
from tests.analysis.conftest import Frame


def benchmark(frame: Frame, runs: int = 2, cases: int = 60, metrics: int = 2) -> pl.DataFrame:
    """Like the paper's: 13 organs, some scores missing, some pictures used twice."""
    rng = np.random.default_rng(0)
    return frame(
        {
            "run": f"run{r}",
            "metric": f"m{m}",
            "group": f"organ{i % 13}",
            "task": f"task{i % 26}",
            "case": f"case{i}",
            "source": f"picture{i % 13}-{i // 26}",
            "value": None if (missing := rng.random() < 0.05) else rng.random(),
            "reason": "ROI too large" if missing else None,
        }
        for r in range(runs)
        for m in range(metrics)
        for i in range(cases)
    )


def by_hand(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The averages of one group in plain Python."""
    cases: dict[str, list[float]] = {}
    organs: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row["value"] is not None:
            cases.setdefault(row["case"], []).append(row["value"])
            organs.setdefault(row["group"], {}).setdefault(row["case"], []).append(row["value"])
    means = [float(np.mean(values)) for values in cases.values()]
    return {
        "mean": np.mean(means),
        "sd": np.std(means, ddof=1) if len(means) > 1 else None,
        "macro": np.mean(
            [np.mean([np.mean(v) for v in inside.values()]) for inside in organs.values()]
        ),
        "n_cases": len(means),
        "n_clusters": len({row["source"] for row in rows if row["value"] is not None}),
        "n_groups": len(organs),
        "scored": sum(row["value"] is not None for row in rows),
        "total": len(rows),
    }


@pytest.mark.parametrize(
    "by", [("run", "metric"), ("run", "metric", "group"), ("run", "metric", "task")]
)
def test_averages_are_those_made_by_hand(frame: Frame, by: tuple[str, ...]) -> None:
    scores = benchmark(frame)
    table = summarise(scores, by)
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in scores.to_dicts():
        groups.setdefault(tuple(row[key] for key in by), []).append(row)
    assert table.select(by).rows() == sorted(groups)
    for row in table.to_dicts():
        expected = by_hand(groups[tuple(row[key] for key in by)])
        if "group" in by:
            expected |= {"macro": None, "macro_low": None, "macro_high": None}
        for name, value in expected.items():
            assert row[name] == pytest.approx(value), (name, row)


def test_intervals_are_clustered_by_source(frame: Frame) -> None:
    scores = benchmark(frame, runs=1, cases=120, metrics=1).drop_nulls("value")
    [row] = summarise(scores).to_dicts()
    columns = [scores[name].to_numpy() for name in ("value", "group", "source")]
    micro, macro = mean(columns[0], columns[2]), macro_mean(*columns)
    assert micro is not None
    assert macro is not None
    assert (row["low"], row["high"]) == pytest.approx(micro.interval(), abs=1e-12)
    assert (row["macro_low"], row["macro_high"]) == pytest.approx(macro.interval(), abs=1e-12)
    assert (row["why"], row["macro_why"]) == ("", "")
    assert row["low"] < row["mean"] < row["high"]
    assert row["n_clusters"] < row["n_cases"]


def test_outputs_of_a_case_count_as_one_case(frame: Frame) -> None:
    scores = frame(
        [
            {"case": "1", "k": 0, "value": 0.0},
            {"case": "1", "k": 1, "value": 0.0},
            {"case": "1", "k": 2, "value": 0.0},
            {"case": "2", "k": 0, "value": 1.0},
            {"case": "2", "k": 1, "reason": "judge refused"},
        ]
    )
    [row] = summarise(scores).to_dicts()
    assert (row["mean"], row["n_cases"], row["scored"], row["total"]) == (0.5, 2, 4, 5)


def test_rare_organs_weigh_the_same_in_macro(frame: Frame) -> None:
    many = [{"case": f"l{i}", "group": "lung", "value": 0.0} for i in range(8)]
    few = [{"case": f"e{i}", "group": "eye", "value": 1.0} for i in range(2)]
    [row] = summarise(frame([*many, *few])).to_dicts()
    assert (row["mean"], row["macro"]) == (0.2, 0.5)


def test_the_ends_of_the_scale_shape_the_interval(frame: Frame) -> None:
    rows = [{"case": str(i), "value": value} for i, value in enumerate((1.0, 1.0, 0.9, 0.98, 0.5))]
    [free] = summarise(frame(rows)).to_dicts()
    [held] = summarise(frame(rows), bounds={"cp": Bounds(0, 1)}).to_dicts()
    assert free["high"] > 1 > held["high"] > held["mean"]
    assert held["mean"] - held["low"] > 2 * (held["high"] - held["mean"])


def test_few_sources_have_a_word_and_constant_controls_no_width(frame: Frame) -> None:
    rows = [{"case": str(i), "value": 0.9 + i / 100, "group": "eye"} for i in range(3)]
    same = [{"case": str(i), "value": 1.0, "run": "c", "control": True} for i in range(3)]
    one, other = summarise(frame([*rows, *same])).sort("run", descending=True).to_dicts()
    assert (one["low"], one["why"]) == (None, "no interval: 3 source images")
    assert (other["low"], other["high"], other["why"]) == (1.0, 1.0, "")


def test_an_organ_without_any_score_is_seen_in_the_counts(frame: Frame) -> None:
    scores = frame([{"case": "1", "value": 0.5}, {"case": "2", "group": "eye", "reason": "no ROI"}])
    [row] = summarise(scores).to_dicts()
    assert (row["macro"], row["n_groups"], row["total_groups"]) == (0.5, 1, 2)


def test_reasons_come_most_frequent_first_and_make_the_coverage_text(frame: Frame) -> None:
    scores = frame(
        [
            {"case": "1", "value": 0.5},
            {"case": "2", "value": float("inf")},
            {"case": "3", "reason": "ROI too large"},
            {"case": "4", "reason": "ROI too large"},
        ]
    )
    [row] = summarise(scores).to_dicts()
    assert [(r["reason"], r["count"]) for r in row["reasons"]] == [
        ("ROI too large", 2),
        ("not a finite number", 1),
    ]
    assert coverage_text(row["scored"], row["total"], row["reasons"]) == (
        "scored 1 of 4; 2 ROI too large, 1 not a finite number"
    )


def test_a_group_without_any_score_is_there_with_nulls(frame: Frame) -> None:
    scores = frame([{"case": "1", "reason": "no key"}, {"case": "1", "metric": "m", "value": 1.0}])
    row = summarise(scores).filter(pl.col("metric") == "cp").row(0, named=True)
    assert [row[name] for name in ("mean", "low", "macro", "sd")] == [None] * 4
    assert (row["n_cases"], row["n_groups"], row["scored"], row["total"]) == (0, 0, 0, 1)
    assert row["reasons"] == [{"reason": "no key", "count": 1}]


def test_scored_groups_have_an_empty_list_of_reasons(frame: Frame) -> None:
    assert summarise(frame([{"case": "1", "value": 0.5}]))["reasons"].to_list() == [[]]


def test_unknown_groups_are_a_group_too(frame: Frame) -> None:
    scores = frame([{"case": "1", "group": None, "value": 0.5}, {"case": "2", "value": 1.0}])
    table = summarise(scores, ["metric", "group"])
    assert dict(table.select("group", "mean").rows()) == {None: 0.5, "lung": 1.0}
    assert summarise(scores)["macro"].to_list() == [0.75]


def test_no_scores_give_an_empty_table(frame: Frame) -> None:
    empty, full = summarise(frame([])), summarise(frame([{"case": "1", "value": 0.5}]))
    assert len(empty) == 0
    assert empty.schema == full.schema


def test_metrics_are_never_averaged_together(frame: Frame) -> None:
    scores = benchmark(frame, cases=13)
    with pytest.raises(ValueError, match="metric"):
        summarise(scores, ["run"])
    assert len(summarise(scores.filter(pl.col("metric") == "m0"), ["run"])) == 2


@pytest.mark.parametrize("by", [[], ["metric", "value"], ["metric", "colour"]])
def test_groups_that_make_no_sense_are_refused(frame: Frame, by: list[str]) -> None:
    with pytest.raises(ValueError, match=r"by|colour"):
        summarise(frame([{"case": "1"}]), by)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_row_order_does_not_matter(frame: Frame, seed: int) -> None:
    scores = benchmark(frame, runs=1, cases=40)
    mixed = scores.sample(fraction=1, shuffle=True, seed=seed)
    for by in (["metric"], ["metric", "group"]):
        assert_frame_equal(
            summarise(scores, by),
            summarise(mixed, by),
            check_exact=True,
        )


@pytest.mark.parametrize(
    ("scored", "total", "reasons", "text"),
    [
        (61, 63, [("ROI too large", 2)], "scored 61 of 63; 2 ROI too large"),
        (63, 63, [], "scored 63 of 63"),
        (0, 0, [], "scored 0 of 0"),
        (1, 3, [], "scored 1 of 3"),
        (0, 9, [("a", 5), ("b", 2), ("c", 1), ("d", 1)],
         "scored 0 of 9; 5 a, 2 b, 1 c, 1 d"),
    ],
)  # fmt: skip
def test_coverage_text(scored: int, total: int, reasons: list[tuple[str, int]], text: str) -> None:
    assert coverage_text(scored, total, reasons) == text
