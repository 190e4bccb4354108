"""The finer tables as CSV, in full precision."""

from __future__ import annotations

from collections.abc import Mapping

from medebench.report.collect import Material
from medebench.report.formats import csv_text
from medebench.report.statistics import UNIT, Statistics, Summary

Key = tuple[str, str, str, str]

# fmt: off
_FINER = (
    "basis", "run", "control", "metric",
    "mean", "low", "high", "cases", "scored", "total", "coverage", "why",
)
_PAIRS = (
    "family", "metric", "run_a", "run_b",
    "difference", "low", "high", "p", "p_holm", "cases", "sources", "dropped",
    "why",
)
# fmt: on


def organs_csv(material: Material, statistics: Statistics) -> str:
    found = {key: [key[3]] for key in statistics.organs}
    return _finer(material, ["organ"], found, statistics.organs)


def tasks_csv(material: Material, statistics: Statistics) -> str:
    found = {key: key[3].split(UNIT, 1) for key in statistics.tasks}
    return _finer(material, ["organ", "task"], found, statistics.tasks)


def _finer(
    material: Material,
    heads: list[str],
    names: Mapping[Key, list[str]],
    summaries: Mapping[Key, Summary],
) -> str:
    rows: list[list[object]] = [[*heads, *_FINER]]
    control = {entry.name: entry.control for entry in material.entries}
    places = {entry.name: entry.index for entry in material.entries}
    columns = {score.name: place for place, score in enumerate(material.scores)}
    found = sorted(
        summaries.items(),
        key=lambda item: (names[item[0]], item[0][0], places[item[0][1]], columns[item[0][2]]),
    )
    for key, summary in found:
        basis, run, metric, _ = key
        one, kind = summary.micro, "yes" if control[run] else "no"
        numbers = [one.mean, one.low, one.high, summary.n_cases, summary.scored, summary.total]
        rows.append([*names[key], basis, run, kind, metric, *numbers, summary.coverage, one.why])
    return csv_text(rows)


def comparisons_csv(material: Material, statistics: Statistics) -> str:
    rows: list[list[object]] = [[*_PAIRS]]
    for (family, metric), pairs in statistics.pairs.items():
        for pair in pairs:
            low, high = pair.interval or (None, None)
            numbers = [pair.difference, low, high, pair.p, pair.p_holm]
            counts = [pair.n_cases, pair.n_clusters, pair.n_dropped]
            rows.append([family, metric, pair.run_a, pair.run_b, *numbers, *counts, pair.why])
    return csv_text(rows)


def row_names(summaries: Mapping[Key, Summary], basis: str) -> list[str]:
    """The organs, or the tasks, that have a row in the table of this basis."""
    return sorted({key[3] for key in summaries if key[0] == basis})
