"""The scores of an experiment, ready for statistics: failures paid, arms paired, doublings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from medebench.analysis.crossed_mean import crossed_mean
from medebench.analysis.failure_cost import NOTHING, count_failures
from medebench.analysis.interval import UNBOUNDED, Bounds
from medebench.analysis.means import Mean
from medebench.page.score_columns import Score, describe
from medebench.reason import kind_of
from medebench.tuning.doublings import slope_weights
from medebench.tuning.tuning_answers import ALL

if TYPE_CHECKING:
    from medebench.tuning.tuning_design import TuningDesign
    from medebench.tuning.tuning_outcome import TuningOutcome

#: What every table of values has.
LABELS = ("task", "fold", "case", "source", "draw", "seed")
_CONTROLS = ("copy", "reference")


@dataclass(frozen=True)
class Table:
    """Values of one arm, or of the difference of two, and how many there should be."""

    rows: pl.DataFrame
    of: int

    def mean(
        self, overlap: Mapping[tuple[str, int], float] | None = None, bounds: Bounds = UNBOUNDED
    ) -> Mean | None:
        """Their mean; `overlap` is the share of its pool that a draw takes, by task and fold."""
        rows = self.rows.filter(pl.col("value").is_finite())
        if not len(rows):
            return None
        labels = {f"{name}s": rows[name].to_numpy() for name in LABELS}
        places = zip(rows["task"].to_list(), rows["fold"].to_list(), strict=True)
        share = [(overlap or {}).get(place, 0.0) for place in places]
        return crossed_mean(rows["value"].to_numpy(), **labels, overlap=share, bounds=bounds)


class TuningScores:
    """Scores by arm, number of pairs, metric and task."""

    def __init__(self, outcome: TuningOutcome) -> None:
        frame = outcome.scores
        self.metrics = [str(name) for name in frame["metric"].unique().sort()]
        told = outcome.facts.get("metrics", {})
        details: Mapping[str, Mapping[str, Any]] = told if isinstance(told, Mapping) else {}
        self.scores = {score.name: score for score in describe(self.metrics, details)}
        self.metrics = list(self.scores)  # in the order of tables
        self.rows = _paid(_as_often(frame, outcome.design), self.scores)
        named = self.rows.filter(~pl.col("elsewhere"))["task"].unique().sort().to_list()
        self.tasks = [str(task) for task in named]
        by = ["arm", "samples", "metric", "elsewhere"]
        self._parts = self.rows.partition_by(by, as_dict=True)
        self._tables: dict[tuple[str, int, str, bool], pl.DataFrame] = {}
        self.pools = {(fold.task, fold.fold): fold.pool for fold in outcome.folds}

    def arms(self) -> list[tuple[str, int]]:
        """Every arm with every number of pairs that it has scores at."""
        pairs = self.rows.filter(~pl.col("elsewhere")).select("arm", "samples").unique()
        return sorted((str(arm), int(samples)) for arm, samples in pairs.iter_rows())

    def numbers(self, arm: str, task: str) -> list[int]:
        """Numbers of pairs above 0; for all tasks those that every task has."""
        rows = self.rows.filter(~pl.col("elsewhere"), pl.col("arm") == arm, pl.col("samples") > 0)
        per_task = [
            {*rows.filter(pl.col("task") == one)["samples"].to_list()} for one in self.within(task)
        ]
        return sorted(set.intersection(*per_task)) if per_task else []

    def within(self, task: str) -> list[str]:
        return self.tasks if task == ALL else [task]

    def overlap(self, samples: int) -> dict[tuple[str, int], float]:
        return {place: min(samples / pool, 1.0) for place, pool in self.pools.items() if pool > 0}

    def table(
        self, arm: str, samples: int, metric: str, task: str, *, elsewhere: bool = False
    ) -> Table:
        """Values of one arm, the mean of several outputs of the same case and training."""
        place = (arm, samples, metric, elsewhere)
        if place not in self._tables:
            rows = self._parts.get(place, self.rows.clear())
            if not samples:  # nothing was drawn
                rows = rows.with_columns(draw=pl.lit(-1), seed=pl.lit(-1))
            self._tables[place] = rows.group_by(*LABELS).agg(pl.col("value").mean())
        found = self._tables[place]
        if task != ALL:
            found = found.filter(pl.col("task") == task)
        return Table(found, len(found))

    def difference(self, left: Table, right: Table) -> Table:
        """Paired by case, and by draw and seed as far as both have them."""
        on = ["task", "case"]
        for level in ("draw", "seed"):
            if len(right.rows) and right.rows[level].max() != -1 and _drawn(left, level):
                on.append(level)
        other = right.rows.group_by(on).agg(other=pl.col("value").mean())
        both = left.rows.join(other, on=on, how="left")
        value = pl.col("value") - pl.col("other")
        return Table(both.with_columns(value=value).drop("other"), left.of)

    def change(
        self, arm: str, samples: int, metric: str, task: str, *, elsewhere: bool = False
    ) -> Table:
        """From the untouched model; in context, from the same system shown nothing."""
        left = self.table(arm, samples, metric, task, elsewhere=elsewhere)
        zero = self.table("untouched", 0, metric, task, elsewhere=elsewhere)
        if arm == "in-context":
            zero = self.table(arm, 0, metric, task, elsewhere=elsewhere)
        if elsewhere and task != ALL and not len(zero.rows):
            zero = self._anywhere(left, metric)
        return self.difference(left, zero)

    def doublings(self, arm: str, numbers: Sequence[int], metric: str, task: str) -> Table:
        """Slope over log2 of the pairs, of each case, draw and seed."""
        weights = slope_weights(numbers)
        total: pl.DataFrame | None = None
        for samples, weight in zip(numbers, weights, strict=True):
            one = self.table(arm, samples, metric, task).rows
            one = one.with_columns(value=float(weight) * pl.col("value"))
            if total is None:
                total = one
                continue
            both = total.join(one, on=[*LABELS], how="full", coalesce=True, suffix="_more")
            total = both.with_columns(value=pl.col("value") + pl.col("value_more"))
            total = total.drop("value_more")
        assert total is not None
        return Table(total, len(total))

    def _anywhere(self, left: Table, metric: str) -> Table:
        """The untouched model on the same cases, under whatever task it was asked about them."""
        rows = self.rows.filter(pl.col("arm") == "untouched", pl.col("metric") == metric)
        cases = rows.group_by("case").agg(pl.col("value").mean())
        found = left.rows.select("task", "fold", "case", "source").unique()
        found = found.join(cases, on="case", how="inner")
        found = found.with_columns(draw=pl.lit(-1), seed=pl.lit(-1))
        return Table(found.select(*LABELS, "value"), len(found))


def _drawn(table: Table, level: str) -> bool:
    return len(table.rows) > 0 and table.rows[level].max() != -1


def _as_often(frame: pl.DataFrame, design: TuningDesign) -> pl.DataFrame:
    """Trainings that took as many steps in both arms are the same, and stand for both."""
    there = {(str(arm), int(n)) for arm, n in frame.select("arm", "samples").unique().iter_rows()}
    more = [
        frame.filter(pl.col("arm") == "per-sample", pl.col("samples") == n).with_columns(
            arm=pl.lit("same-steps")
        )
        for arm, n in sorted(there)
        if arm == "per-sample"
        and "same-steps" in design.arms
        and ("same-steps", n) not in there
        and design.steps_of("same-steps", n) == design.steps_of("per-sample", n)
    ]
    return pl.concat([frame, *more])


def _paid(frame: pl.DataFrame, scores: Mapping[str, Score]) -> pl.DataFrame:
    """A failed output costs what doing nothing scores on its case: `analysis.failure_cost`."""
    run = pl.concat_str(
        [
            pl.col(name).cast(pl.String)
            for name in ("task", "arm", "samples", "draw", "seed", "fold")
        ],
        separator="\x1f",
    )
    value, reason = pl.col("value").cast(pl.Float64), pl.col("reason").cast(pl.String)
    rows = frame.with_columns(
        run=run,
        editor=pl.when(pl.col("arm") == "copy").then(pl.lit(NOTHING)).otherwise(pl.col("arm")),
        control=pl.col("arm").is_in(_CONTROLS),
        k=pl.lit(0),
        source=pl.coalesce(pl.col("source").cast(pl.String), pl.lit("\x1fcase ") + pl.col("case")),
        value=pl.when(value.is_finite()).then(value),
        reason=reason,
    )
    if "kind" not in rows.columns:
        words = rows["reason"].drop_nulls().unique().to_list()
        kinds = {word: kind_of(word) for word in words}
        kind = pl.col("reason").replace_strict(kinds, default=None, return_dtype=pl.String)
        rows = rows.with_columns(kind=kind)
    better = {name: score.better for name, score in scores.items()}
    ends = {name: score.worst for name, score in scores.items() if score.worst is not None}
    return count_failures(rows, better, ends)
