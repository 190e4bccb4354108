"""The rows of the MedGEN-Bench paper, by format and version, with those of the runs beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from medebench.analysis.pass_rates import PassRate, pass_rates
from medebench.analysis.published_medgen import (
    PublishedColumn,
    PublishedFormat,
    PublishedVersion,
    published_medgen,
)
from medebench.judge.rubric_files import builtin_rubrics, load_rubric
from medebench.metrics import metric_info
from medebench.page.number import NONE, listed, number, percent
from medebench.page.palette import run_colours
from medebench.page.score_columns import Score
from medebench.page.table import Cell, Column, Group, Row, Table
from medebench.reporting.ceiling import is_ceiling
from medebench.reporting.collect import Entry, Material
from medebench.reporting.format_tables import FORMAT, TITLES
from medebench.reporting.score_agreement import Means, agreement_table
from medebench.reporting.statistics import Statistics
from medebench.tasks.medgen_tasks import Format

_BETTER: dict[str, Literal["higher", "lower"]] = {"higher": "higher", "lower": "lower"}


@dataclass(frozen=True)
class PaperTable:
    """What one version prints for one format, and what the runs got on these cases."""

    name: str
    title: str
    table: Table
    notes: tuple[str, ...]
    #: Which of its scores put the systems in the same order.
    agreement: Table | None
    #: Whether runs stand in it.
    own: bool = False


def paper_tables(material: Material, statistics: Statistics) -> list[PaperTable]:
    """Nothing where the set has none of the formats, or no published rows are at hand."""
    if not material.mixed or FORMAT not in statistics.finer:
        return []
    there = {key[3] for key in statistics.finer[FORMAT]}
    return [
        _of(material, statistics, version, name)
        for name in TITLES
        if name in there
        for version in published_medgen()
        if name in version.formats
    ]


def _of(
    material: Material, statistics: Statistics, version: PublishedVersion, name: Format
) -> PaperTable:
    printed = version.formats[name]
    heads = [
        Column(f"{one.label}{f' ({one.unit})' if one.unit else ''}", better=_BETTER[one.better])
        for one in printed.columns
    ]
    colours = run_colours(len(material.models), len(material.controls))
    own = []
    for entry in material.entries:
        cells = [_own(statistics, material, entry, one, name) for one in printed.columns]
        if any(cell.text for cell in cells):
            colour = colours[entry.index].variable
            own.append(Row(entry.name, cells, colour=colour, control=entry.control))
    rows = [
        Row(
            system,
            [Cell(number(value, 2), value=value) for value in values],
            "the image model did not see the input" if system in printed.blind else "",
        )
        for system, values in printed.rows.items()
    ]
    groups = [Group(own, "These runs, on these cases")] if own else []
    groups.append(Group(rows, version.caption(name)))
    title = f"{TITLES[name]}: {version.version}, {version.values}"
    table = Table([Column("System", "left"), *heads], groups, title)
    notes = _denied(statistics, material, printed, name), version.note, version.source
    return PaperTable(name, title, table, notes, _agreement(printed), bool(own))


def _own(
    statistics: Statistics, material: Material, entry: Entry, column: PublishedColumn, name: str
) -> Cell:
    """The published variant on these cases, in the unit of the paper, over cases as there."""
    place = material.comparable, entry.name, column.metric, name
    found = statistics.finer[FORMAT].get(place)
    if found is None or found.micro.value is None:
        return Cell()
    value = found.micro.value * (100 if column.unit == "%" else 1)
    return Cell(number(value, 2), part=f"{found.scored:,} of {found.total:,}", value=value)


def _denied(statistics: Statistics, material: Material, printed: PublishedFormat, name: str) -> str:
    """Published scores that withhold the best value from the references themselves."""
    entry = next((one for one in material.entries if is_ceiling(one)), None)
    parts = []
    for column in printed.columns if entry else ():
        info = metric_info(column.metric) if column.metric else None
        value = _own(statistics, material, entry, column, name).value if entry else None
        if info is None or not isinstance(value, float):
            continue
        best = (info.high if column.better == "higher" else info.low) * (
            100 if column.unit == "%" else 1
        )
        if abs(value - best) > 1e-6 * max(1.0, abs(best)):
            parts.append(f"{column.label} {number(value, 2)} where {number(best, 2)} is the best")
    lead = "Not even the references themselves get the best value by a published rule"
    return f"{lead}: {listed(parts)}." if parts else ""


def _agreement(printed: PublishedFormat) -> Table | None:
    scores = [
        Means(
            column.label,
            {system: values[place] for system, values in printed.rows.items()},
            column.better == "lower",
        )
        for place, column in enumerate(printed.columns)
    ]
    return agreement_table(scores, "Which published scores order the published systems alike")


def pass_rate_table(material: Material) -> Table | None:
    """Shares of the runs' outputs that pass the published thresholds, of all versions."""
    if not material.mixed:
        return None
    colours = run_colours(len(material.models), len(material.controls))
    judged = graded_to_10(material.scores)
    found = {one.name: pass_rates(_rows_of(material, one), judged) for one in material.entries}
    labels = dict.fromkeys(
        (one.threshold.text, one.threshold.version) for some in found.values() for one in some
    )
    if not labels:
        return None
    rows = []
    for entry in material.entries:
        own = {(one.threshold.text, one.threshold.version): one for one in found[entry.name]}
        cells = [_rate(own.get(label)) for label in labels]
        if own:
            colour = colours[entry.index].variable
            rows.append(Row(entry.name, cells, colour=colour, control=entry.control))
    columns = [Column("Run", "left"), *(Column(f"{text}, {which}") for text, which in labels)]
    return Table(columns, [Group(rows)], "Pass rates")


def graded_to_10(scores: Sequence[Score]) -> list[str]:
    """Overall scores of judges on the scale that the threshold is on."""
    found = []
    for score in scores:
        kind, _, judge = score.name.partition("_")
        name = judge.rpartition("+")[2]
        # Only ours: a name in somebody's ledger must not have a file of theirs opened.
        if name in builtin_rubrics():
            rubric = load_rubric(name)
            if kind == rubric.computed and rubric.limits == (1, 10):
                found.append(score.name)
    return found


def _rows_of(material: Material, entry: Entry) -> pl.DataFrame:
    return material.frame.filter(pl.col("run") == entry.name)


def _rate(one: PassRate | None) -> Cell:
    if one is None or one.of_scored is None:
        return Cell(NONE)
    part = f"{percent(one.of_all)} with {one.failed:,} failed" if one.failed else ""
    return Cell(
        percent(one.of_scored), f"{one.passed:,} of {one.scored:,}", part, value=one.of_scored
    )


def tables_csv(tables: Sequence[Table]) -> str:
    """One after the other, each under its title."""
    return "\n".join(f"{table.title}\n{table.csv()}" for table in tables)
