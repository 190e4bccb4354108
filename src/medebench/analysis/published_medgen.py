"""Results of MedGEN-Bench as published, each with the version of the paper that it is from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from medebench.tasks.medgen_tasks import Format

REVISION, ARXIV = "revised manuscript", "arXiv"


@dataclass(frozen=True)
class PublishedColumn:
    """A score of the paper."""

    name: str
    label: str
    #: The metric here that is computed alike; "" for a judge's scores.
    metric: str
    #: "%", "dB" or "1 to 5".
    unit: str
    better: str = "higher"

    def ours(self, value: float) -> float:
        """A printed value on the scale of our metric."""
        return value / 100 if self.unit == "%" else value


@dataclass(frozen=True)
class PublishedFormat:
    """What one version prints for one of the three formats."""

    columns: tuple[PublishedColumn, ...]
    #: system -> values as printed, in the order of the columns
    rows: Mapping[str, Sequence[float]]
    #: Systems whose image model was not shown the input image.
    blind: frozenset[str] = frozenset()

    def values(self, system: str) -> dict[str, float]:
        """Metric of ours -> the value of this system on its scale; judges' scores are left out."""
        cells = zip(self.columns, self.rows[system], strict=True)
        return {one.metric: one.ours(value) for one, value in cells if one.metric}


@dataclass(frozen=True)
class PublishedVersion:
    """One version of the paper. Versions differ in records, judge and thresholds."""

    version: str
    source: str
    #: "means" or "pass rates".
    values: str
    judge: str
    note: str
    #: How many records each format has, where that is known.
    records: Mapping[str, int]
    formats: Mapping[Format, PublishedFormat]

    def caption(self, of: Format) -> str:
        """What belongs under a table of these rows."""
        known = self.records.get(of)
        records = f", {known:,} records" if known else ""
        return (
            f"published, {self.version}, {self.values}{records}, judge {self.judge}; "
            "other outputs and another judge, not comparable row by row"
        )


@dataclass(frozen=True)
class PublishedPairing:
    """How far a judge's score falls when image and text do not belong together."""

    source: str
    note: str
    drops: Mapping[str, float] = field(default_factory=dict)


@cache
def published_medgen() -> tuple[PublishedVersion, ...]:
    """All versions with results, the latest first.

    >>> [(one.version, one.values) for one in published_medgen()]
    [('revised manuscript', 'means'), ('arXiv', 'pass rates')]
    """
    read = _read("medgen_tables.json")
    columns = {name: PublishedColumn(name, **told) for name, told in read["columns"].items()}
    return tuple(_version(told, columns) for told in read["tables"])


@cache
def published_pairing() -> PublishedPairing:
    """The pairing controls of the revised manuscript."""
    return PublishedPairing(**_read("medgen_tables.json")["pairing"])


def _version(told: dict[str, Any], columns: Mapping[str, PublishedColumn]) -> PublishedVersion:
    formats = {
        name: PublishedFormat(
            tuple(columns[column] for column in one["columns"]),
            one["rows"],
            frozenset(one.get("blind", ())),
        )
        for name, one in told["formats"].items()
    }
    return PublishedVersion(**told | {"formats": formats})


def _read(name: str) -> dict[str, Any]:
    file = files("medebench.analysis") / "published" / name
    read: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return read
