"""Answers good enough to look at a page; the statistics that count are in `learning_curve`."""

from __future__ import annotations

import math

import polars as pl
from scipy import stats

from medebench.analysis.estimate import Estimate
from medebench.analysis.interval import Interval
from medebench.tuning.tuning_answers import (
    ALL,
    Contrast,
    CurvePoint,
    Forgetting,
    Memory,
    Trend,
    TuningAnswers,
)
from medebench.tuning.tuning_outcome import TuningOutcome


def _estimate(values: pl.Series) -> Estimate:
    n = len(values)
    mean, spread = float(values.mean()), float(values.std() or 0) / math.sqrt(max(1, n / 4))
    return Estimate(mean, Interval(mean - 2 * spread, mean + 2 * spread), n, n)


def _p(one: Estimate) -> float:
    width = (one.high - one.low) / 4 or 1e-9
    return float(2 * stats.norm.sf(abs(one.value) / width))


def rough_answers(outcome: TuningOutcome) -> TuningAnswers:
    scores = outcome.scores.filter(~pl.col("elsewhere"))
    away = outcome.scores.filter(pl.col("elsewhere"))
    keys = ["task", "arm", "metric", "samples"]

    def paired(table: pl.DataFrame) -> pl.DataFrame:
        base = table.filter(pl.col("arm") == "untouched")
        base = base.select("task", "metric", "case", zero="value")
        return table.join(base, on=["task", "metric", "case"]).with_columns(
            change=pl.col("value") - pl.col("zero")
        )

    points, forgetting = [], []
    both = pl.concat([paired(scores), paired(scores).with_columns(task=pl.lit(ALL))])
    cells = {}
    for key, rows in both.group_by(keys, maintain_order=True):
        mean, change = _estimate(rows["value"]), _estimate(rows["change"])
        cells[key] = change
        p = None if key[1] == "untouched" else _p(change)
        holm = None if p is None else min(1.0, 3 * p)
        points.append(CurvePoint(*key, mean, change, p, holm, 0.09))
    for key, rows in paired(away).group_by(keys, maintain_order=True):
        if key[1] != "untouched":
            change = _estimate(rows["change"])
            forgetting.append(Forgetting(*key, change, _p(change), min(1.0, 3 * _p(change))))

    def less(left: Estimate, right: Estimate) -> Estimate:
        value = left.value - right.value
        half = 1.2 * (left.high - left.low) / 2
        return Estimate(value, Interval(value - half, value + half), left.n, left.of)

    most = max(outcome.design.samples)
    few = min(n for n in outcome.design.samples if n)
    contrasts, trends = [], []
    asked = {
        "own-pairs": (("per-sample", most), ("shuffled", most)),
        "own-task": (("per-sample", most), ("other-task", most)),
        "beats-copy": (("per-sample", most), ("copy", 0)),
        "beats-blank": (("per-sample", most), ("blank", 0)),
        "more-pairs": (("same-steps", most), ("same-steps", few)),
        "shown": (("per-sample", most), ("in-context", 3)),
    }
    for task, metric in dict.fromkeys((key[0], key[2]) for key in cells):
        for question, (left, right) in asked.items():
            found = [cells.get((task, arm, metric, n)) for arm, n in (left, right)]
            if all(found):
                gap = less(*found)
                contrasts.append(
                    Contrast(question, task, metric, left, right, gap, _p(gap), _p(gap), 0.08)
                )
        for arm in ("per-sample", "same-steps"):
            found = [cells.get((task, arm, metric, n)) for n in (most, few)]
            if all(found):
                gap = less(*found)
                slope = Estimate(gap.value / 2, Interval(gap.low / 2, gap.high / 2), gap.n, gap.of)
                trends.append(Trend(task, arm, metric, slope, _p(slope), _p(slope), 0.03))
    memory = [
        Memory(
            *key,
            _estimate(rows["to_training"]),
            _estimate(rows["to_other"]),
            _estimate((rows["to_training"] < rows["to_other"]).cast(pl.Float64)),
        )
        for key, rows in outcome.nearest.group_by(["task", "arm", "samples"], maintain_order=True)
    ]
    words = (
        "After 16 pairs, at 50 steps for each, EA is above the untouched model’s by 0.09 over all "
        "tasks (0.06 to 0.12, p < 0.001, corrected).",
        "The same steps on shuffled pairs give no gain, so it is the pairs that are learned from.",
        "For Remove moles there is no difference that this design could see; it would have found "
        "one of 0.09.",
    )
    primary = outcome.design.primary
    return TuningAnswers(primary, points, trends, contrasts, forgetting, memory, words)
