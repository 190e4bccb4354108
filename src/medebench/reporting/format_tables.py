"""Tables of a set of several kinds of work: one for each format, over the tasks in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from medebench.analysis.failure_cost import is_failure
from medebench.page.number import NONE, between
from medebench.page.palette import Colour, run_colours
from medebench.page.score_columns import Score, order
from medebench.page.table import Cell, Column, Group, Row, Table
from medebench.reporting.answers_read import AnswersRead, answers_read
from medebench.reporting.collect import Entry, Material
from medebench.reporting.statistics import Statistics, Summary
from medebench.tasks.medgen_tasks import Format

#: The group of cases that is a format.
FORMAT = "format"
TITLES: dict[Format, str] = {
    "vqa": "Questions",
    "editing": "Editing",
    "generation": "Image with text",
}


@dataclass(frozen=True)
class FormatTable:
    """All scores of one format: over what was delivered, and with failures at their worst."""

    name: str
    title: str
    tasks: tuple[str, ...]
    table: Table
    #: Whether some of its scores are likeness to references that are one of many right images.
    described: bool


def format_tables(material: Material, statistics: Statistics, lead: str) -> list[FormatTable]:
    """A table for each format, in the order of the formats; nothing for other sets."""
    if FORMAT not in statistics.finer or not material.mixed:
        return []
    found = statistics.finer[FORMAT]
    [column] = [group.column for group in material.groups if group.name == FORMAT]
    names = {key[3] for key in found}
    titles = {str(name): title for name, title in TITLES.items()}
    ordered = [*(name for name in titles if name in names), *sorted(names - {*titles})]
    chance = {one.score.name: one for one in answers_read(material)}
    tables = []
    for name in ordered:
        scores = [
            score
            for score in order(material.scores, lead, material.task)
            if any((k[0], k[2], k[3]) == (material.comparable, score.name, name) for k in found)
        ]
        scores.sort(key=lambda score: score.described)
        tasks = material.frame.filter(material.frame[column] == name)["group"].unique().sort()
        table = _table(material, found, scores, name, chance)
        described = any(score.described for score in scores)
        title = titles.get(name, name.capitalize())
        tables.append(FormatTable(name, title, tuple(tasks), table, described))
    return tables


def _table(
    material: Material,
    found: Mapping[tuple[str, str, str, str], Summary],
    scores: Sequence[Score],
    name: str,
    chance: Mapping[str, AnswersRead],
) -> Table:
    colours = run_colours(len(material.models), len(material.controls))
    groups = []
    for title, entries in (("Models", material.models), ("Controls", material.controls)):
        rows = [_row(material, found, entry, scores, name, colours) for entry in entries]
        rows = [row for row in rows if any(cell.text for cell in row.cells)]
        if title == "Controls" and (guess := _guess(scores, chance)):
            rows.append(guess)
        groups += [Group(rows, title)] if rows else []
    columns = [Column(s.label, better=s.better, stand_in=s.stand_in) for s in scores]
    return Table([Column("Run", "left"), *columns], groups, name)


def _row(
    material: Material,
    found: Mapping[tuple[str, str, str, str], Summary],
    entry: Entry,
    scores: Sequence[Score],
    name: str,
    colours: Sequence[Colour],
) -> Row:
    cells = []
    for score in scores:
        own = found.get((material.comparable, entry.name, score.name, name))
        asked = found.get(("asked", entry.name, score.name, name))
        cells.append(_cell(score, own, asked))
    return Row(entry.name, cells, colour=colours[entry.index].variable, control=entry.control)


def _cell(score: Score, own: Summary | None, asked: Summary | None) -> Cell:
    if own is None or not own.total:
        return Cell()
    one = own.macro
    part = f"{own.scored:,} of {own.total:,}"
    if asked is not None and asked.charged and asked.macro.value is not None:
        part = f"{score.text(asked.macro.value)} with {asked.charged:,} failed; {part}"
    if one.value is None:
        return Cell(NONE, part=part, reason=own.coverage)
    ends = between(one.interval, score.decimals)
    return Cell(score.text(one.value), ends, part, value=one.value, reason=own.coverage)


def _guess(scores: Sequence[Score], chance: Mapping[str, AnswersRead]) -> Row | None:
    cells = []
    for score in scores:
        level = chance[score.name].level if score.name in chance else None
        cells.append(Cell() if level is None else Cell(score.text(level), value=level))
    return Row("chance", cells, aside=True) if any(cell.text for cell in cells) else None


def counts_table(material: Material) -> Table:
    """For every score and run: how many outputs have it, failed, lack it, and are none of its."""
    aside = {(run, metric): n for run, metric, n in material.aside.rows()}
    found = _counts(material)
    columns = [Column("Score", "left"), *(Column(entry.name) for entry in material.entries)]
    rows = []
    for score in material.scores:
        cells = []
        for entry in material.entries:
            scored, failed, other = found.get((entry.name, score.name), (0, 0, 0))
            none = aside.get((entry.name, score.name), 0)
            told = [
                f"{n:,} {words}"
                for n, words in ((failed, "failed"), (other, "undefined"), (none, "not applicable"))
                if n
            ]
            cells.append(Cell(f"{scored:,}", ", ".join(told), value=scored))
        rows.append(Row(score.label, cells))
    return Table(columns, [Group(rows)], "What was scored")


def _counts(material: Material) -> dict[tuple[str, str], tuple[int, int, int]]:
    rows = material.frame.with_columns(is_failure())
    counted = rows.group_by("run", "metric").agg(
        scored=pl.col("value").is_not_null().sum(), failed=pl.col("failed").sum(), every=pl.len()
    )
    return {
        (run, metric): (scored, failed, every - scored - failed)
        for run, metric, scored, failed, every in counted.rows()
    }
