"""Which scores put the systems in the same order: rank correlation of their means over systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from medebench.analysis import cluster_spearman
from medebench.page.number import NONE, number
from medebench.page.table import Cell, Column, Group, Row, Table
from medebench.reporting.collect import Material
from medebench.reporting.statistics import Statistics

#: With fewer systems any two orders look alike.
LEAST = 4


@dataclass(frozen=True)
class Means:
    """The means of one score over systems; `lower` where less of it is better."""

    label: str
    values: Mapping[str, float]
    lower: bool = False

    def good(self, system: str) -> float:
        return -self.values[system] if self.lower else self.values[system]


def agreement_table(scores: Sequence[Means], title: str) -> Table | None:
    """Spearman's rho of each two scores over the systems that have both; None where none can be."""
    given = [one for one in scores if len(one.values) >= LEAST]
    if len(given) < 2:
        return None
    rows = []
    for place, one in enumerate(given):
        cells = [_rho(one, other) if at < place else Cell() for at, other in enumerate(given)]
        rows.append(Row(one.label, cells[:-1]))
    columns = [Column("", "left"), *(Column(one.label) for one in given[:-1])]
    return Table(columns, [Group(rows[1:])], title)


def _rho(one: Means, other: Means) -> Cell:
    both = [name for name in one.values if name in other.values]
    if len(both) < LEAST:
        return Cell(NONE, part=f"{len(both)} systems")
    first, second = [one.good(name) for name in both], [other.good(name) for name in both]
    found = cluster_spearman(first, second, both)
    if found is None:
        return Cell(NONE, part="all alike")
    return Cell(number(found.rho, 2), part=f"{len(both)} systems", value=found.rho)


def means_of(material: Material, statistics: Statistics) -> list[Means]:
    """Of the models alone: controls lie at the ends of every scale, and would make all alike."""
    found = []
    for score in material.scores:
        if score.better == "neither":
            continue
        values = {
            entry.name: one.value
            for entry in material.models
            if (summary := statistics.overall.get((material.comparable, entry.name, score.name)))
            and (one := summary.of(material.mean)).value is not None
        }
        found.append(Means(score.label, values, score.better == "lower"))
    return found
