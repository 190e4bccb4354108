"""Maps that never saw the picture, as further rows of the table of attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from medebench.analysis import Bounds, Comparison, compare_runs
from medebench.analysis.estimate import Estimate
from medebench.grounding.attention_floors import FLOORS, FloorName, Floors, case_floors
from medebench.reporting.collect import Entry, Material
from medebench.reporting.statistics import UNIT
from medebench.runs.stages.attention_scores import ATTENTION

_IOU = "attention_iou"


@dataclass(frozen=True)
class FloorRow:
    """A map that never saw the picture, on the cases that some of the runs have attention for."""

    name: FloorName
    entries: tuple[Entry, ...]
    #: Whether other runs have other cases, so that it must be said whose these are.
    part: bool = False

    @property
    def run(self) -> str:
        """What it is called among the runs of the table; no run's name can hold the separator."""
        return UNIT.join([self.name, *(entry.name for entry in self.entries)])

    @property
    def label(self) -> str:
        whose = ", ".join(entry.name for entry in self.entries)
        return f"{FLOORS[self.name]}, cases of {whose}" if self.part else FLOORS[self.name]


#: The strongest floor on a run's cases, and the run's IoU less that floor's, paired over cases.
Lead = tuple[FloorRow, Comparison]


def make_floors(
    material: Material, rows: pl.DataFrame
) -> tuple[tuple[FloorRow, ...], pl.DataFrame]:
    """The floors on exactly the cases that runs have an IoU for, as scores of further runs."""
    known = rows.filter(pl.col("metric") == _IOU, pl.col("value").is_not_null())
    groups: dict[frozenset[str], list[Entry]] = {}
    for entry in material.entries:
        own = set(known.filter(pl.col("run") == entry.name)["case"])
        if keys := frozenset(own & material.cases.keys()):
            groups.setdefault(keys, []).append(entry)
    found = case_floors(material.cases, sorted({key for keys in groups for key in keys}))
    floors, frames = [], [rows.clear()]
    for keys, entries in groups.items():
        cases = known.filter(pl.col("run") == entries[0].name, pl.col("case").is_in(list(keys)))
        cases = cases.unique("case").sort("case").with_columns(k=pl.lit(0, rows.schema["k"]))
        for name in FLOORS:
            row = FloorRow(name, tuple(entries), len(groups) > 1)
            if any(name in found[key] for key in keys if not isinstance(found[key], str)):
                floors.append(row)
                frames += [_as_scores(cases, row, found, metric) for metric in ATTENTION]
    return tuple(floors), pl.concat(frames)


def _as_scores(
    cases: pl.DataFrame, row: FloorRow, found: dict[str, Floors | str], metric: str
) -> pl.DataFrame:
    values: list[float | None] = []
    reasons: list[str | None] = []
    for key in cases["case"]:
        one = found[key]
        floor = None if isinstance(one, str) else one.get(row.name)
        values.append(None if floor is None else getattr(floor, metric.removeprefix("attention_")))
        missing = one if isinstance(one, str) else "no other case has an ROI"
        reasons.append(missing if floor is None else None)
    return cases.with_columns(
        run=pl.lit(row.run),
        editor=pl.lit(row.name),
        control=pl.lit(False),
        metric=pl.lit(metric),
        value=pl.Series(values, dtype=pl.Float64),
        reason=pl.Series(reasons, dtype=pl.String),
    ).select(cases.columns)


def leads_over(
    rows: pl.DataFrame, floors: Sequence[FloorRow], overall: dict[tuple[str, str], Estimate]
) -> dict[str, Lead]:
    """Each run against the floor with the highest mean, which is known without its attention."""
    found = {}
    names = dict.fromkeys(entry.name for row in floors for entry in row.entries)
    for name in names:
        own = [row for row in floors if any(entry.name == name for entry in row.entries)]
        best = max(own, key=lambda row: overall[row.run, _IOU].value or 0.0)
        [pair] = compare_runs(rows, _IOU, pairs=[(name, best.run)], bounds=Bounds(0.0, 1.0))
        found[name] = best, pair
    return found
