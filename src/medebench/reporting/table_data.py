"""The finer tables: as CSV in full precision, and as the page's scripts take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medebench.analysis.estimate import Estimate
from medebench.page.palette import run_colours
from medebench.page.score_columns import Score, order
from medebench.page.table import csv_text
from medebench.reporting.case_groups import Group
from medebench.reporting.collect import Material
from medebench.reporting.diagnosis import Diagnosis
from medebench.reporting.headline_table import HeadlineTable
from medebench.reporting.statistics import UNIT, Key, Statistics, Summary, parents

_FINER = ["basis", "run", "control", "metric", "mean", "low", "high", "cases", "scored", "total"]
_FINER += ["coverage", "why"]
_PAIRS = [
    "basis",
    "family",
    "metric",
    "run_a",
    "run_b",
    "difference",
    "low",
    "high",
    "p",
    "p_holm",
    "cases",
]
_PAIRS += ["sources", "dropped", "why"]


def group_csv(material: Material, statistics: Statistics, group: Group) -> str:
    """One of the breakdowns: by the leading group, or by another one within it."""
    heads = [one.name for one in parents(material, group)]
    rows: list[list[object]] = [[*heads, *_FINER, *(["over"] if material.task.alone else [])]]
    entries = {entry.name: entry for entry in material.entries}
    columns = [score.name for score in material.scores]

    def place(item: tuple[Key, Summary]) -> tuple[list[str], str, int, int]:
        basis, run, metric, names = item[0]
        return names.split(UNIT), basis, entries[run].index, columns.index(metric)

    for (basis, run, metric, names), summary in sorted(
        statistics.finer[group.name].items(), key=place
    ):
        one, kind = shown(material, group, summary), "yes" if entries[run].control else "no"
        numbers = [one.value, one.low, one.high, summary.n_cases, summary.scored, summary.total]
        where = [*names.split(UNIT), basis, run, kind, metric]
        over = [material.groups[0].plural if one is summary.macro else "cases"]
        rows.append(
            [*where, *numbers, summary.coverage, one.reason, *(over if material.task.alone else [])]
        )
    return csv_text(rows)


def comparisons_csv(statistics: Statistics) -> str:
    rows: list[list[object]] = [[*_PAIRS]]
    for (basis, family, metric), pairs in statistics.pairs.items():
        for pair in pairs:
            low, high = pair.interval or (None, None)
            numbers = [pair.difference, low, high, pair.p, pair.p_holm]
            counts = [pair.n_cases, pair.n_clusters, pair.n_dropped]
            rows.append(
                [basis, family, metric, pair.run_a, pair.run_b, *numbers, *counts, pair.why]
            )
    return csv_text(rows)


def page_data(
    material: Material,
    statistics: Statistics,
    table: HeadlineTable,
    chunks: Sequence[int],
    diagnosis: Diagnosis | None = None,
) -> dict[str, Any]:
    """What `static/tables.js` and the gallery need besides the cases."""
    colours = run_colours(len(material.models), len(material.controls))
    numbers = {entry.name: entry.index for entry in material.entries}
    scores = order(material.scores, table.headline, material.task)
    return {
        "headline": table.headline,
        "detailChunks": list(chunks),
        "runs": [
            [entry.name, colours[entry.index].variable, entry.control, entry.sees, entry.extent]
            for entry in material.entries
        ],
        "scores": [[s.name, s.label, s.better, s.decimals, s.stand_in, s.summary] for s in scores],
        "basis": table.basis,
        "comparable": material.comparable,
        "without": material.without.to_json() if material.without else None,
        "groups": [
            [group.label, group.plural, [one.label for one in parents(material, group)]]
            for group in material.groups
        ],
        "gives": material.task.gives,
        "types": None if diagnosis is None else _types(diagnosis),
        "finer": {
            group.plural: _finer(material, group, statistics.finer[group.name], table.bases, scores)
            for group in material.groups
        },
        "pairs": [
            {
                "basis": basis,
                "family": family,
                "metric": metric,
                "rows": [
                    [
                        numbers[p.run_a],
                        numbers[p.run_b],
                        _short(p.difference),
                        *(map(_short, p.interval) if p.interval else (None, None)),
                        _short(p.p),
                        _short(p.p_holm),
                        p.n_cases,
                        p.n_dropped,
                        p.why,
                    ]
                    for p in pairs
                ],
            }
            for (basis, family, metric), pairs in statistics.pairs.items()
        ],
    }


def _types(diagnosis: Diagnosis) -> dict[str, Any]:
    """Names of the types, and for each run and organ how often each of them occurs."""
    organs = sorted({one.organ for one in diagnosis.found})
    kinds = [*diagnosis.types, None]
    counts: dict[tuple[int, str], list[int]] = {}
    for one in diagnosis.found:
        cells = counts.setdefault((one.entry.index, one.organ), [0] * len(kinds))
        cells[kinds.index(one.type)] += 1
    return {
        "names": [list(item) for item in diagnosis.types.items()],
        "organs": organs,
        "counts": [[run, organs.index(o), *cells] for (run, o), cells in sorted(counts.items())],
    }


def _finer(
    material: Material,
    group: Group,
    summaries: Mapping[Key, Summary],
    bases: Sequence[str],
    scores: Sequence[Score],
) -> dict[str, Any]:
    """By basis, the names of the rows and for each score a grid of rows and runs."""
    found = {}
    for basis in bases:
        names = sorted({key[3] for key in summaries if key[0] == basis})
        found[basis] = {
            "rows": [name.replace(UNIT, " · ") for name in names],
            "cells": {
                score.name: [
                    [
                        _cell(material, group, summaries.get((basis, e.name, score.name, n)))
                        for e in material.entries
                    ]
                    for n in names
                ]
                for score in scores
            },
        }
    return found


def shown(material: Material, group: Group, found: Summary) -> Estimate:
    """What a breakdown shows: over the leading groups where those come first, else over cases."""
    own = material.task.macro and group.name in material.task.alone
    return found.macro if own else found.micro


def _cell(
    material: Material, group: Group, found: Summary | None
) -> list[float | int | str | None] | None:
    if found is None:
        return None
    one = shown(material, group, found)
    numbers = [_short(one.value), _short(one.low), _short(one.high), found.n_cases]
    return [*numbers, found.coverage, one.reason]


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
