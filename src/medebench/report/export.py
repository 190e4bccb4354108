"""The finer tables as CSV, in full precision."""

from __future__ import annotations

from medebench.report.collect import Material
from medebench.report.formats import csv_text
from medebench.report.statistics import Statistics

# fmt: off
_ORGANS = (
    "organ", "basis", "run", "control", "metric",
    "mean", "low", "high", "cases", "scored", "total", "coverage",
)
_PAIRS = (
    "family", "metric", "run_a", "run_b",
    "difference", "low", "high", "p", "p_holm", "cases", "sources", "dropped",
)
# fmt: on


def organs_csv(material: Material, statistics: Statistics) -> str:
    rows: list[list[object]] = [[*_ORGANS]]
    control = {entry.name: entry.control for entry in material.entries}
    places = {entry.name: entry.index for entry in material.entries}
    columns = {score.name: place for place, score in enumerate(material.scores)}
    found = sorted(
        statistics.organs.items(),
        key=lambda item: (item[0][3], item[0][0], places[item[0][1]], columns[item[0][2]]),
    )
    for (basis, run, metric, organ), summary in found:
        one, kind = summary.micro, "yes" if control[run] else "no"
        numbers = [one.mean, one.low, one.high, summary.n_cases, summary.scored, summary.total]
        rows.append([organ, basis, run, kind, metric, *numbers, summary.coverage])
    return csv_text(rows)


def comparisons_csv(material: Material, statistics: Statistics) -> str:
    rows: list[list[object]] = [[*_PAIRS]]
    for (family, metric), pairs in statistics.pairs.items():
        for pair in pairs:
            low, high = pair.interval or (None, None)
            numbers = [pair.difference, low, high, pair.p, pair.p_holm]
            counts = [pair.n_cases, pair.n_clusters, pair.n_dropped]
            rows.append([family, metric, pair.run_a, pair.run_b, *numbers, *counts])
    return csv_text(rows)


def organ_names(statistics: Statistics, basis: str) -> list[str]:
    return sorted({organ for one, _, _, organ in statistics.organs if one == basis})
