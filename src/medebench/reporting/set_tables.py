"""Scores of whole sets of outputs: a value for a run, and one for each organ that has enough."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from medebench.page.number import listed
from medebench.page.score_columns import Score, describe
from medebench.page.table import csv_text
from medebench.reporting.collect import Entry, Material
from medebench.runs.ledger import WHOLE, SetRow

# fmt: off
_COLUMNS = (
    "run", "control", "metric", "organ", "value", "low", "high", "outputs", "references", "sources",
    "floor", "reason", "note", "variant",
)
# fmt: on
#: How the reason of a set that is too small begins and ends.
_FEW, _NEEDED = "too few", re.compile(r"(?: beside a reference)?(, \d+ are needed)$")


@dataclass(frozen=True)
class Organs:
    """One metric, organ by organ, as far as any run has a value there."""

    score: Score
    entries: tuple[Entry, ...]
    rows: tuple[tuple[str, dict[str, SetRow]], ...]
    #: Why the other organs have none.
    without: tuple[str, ...]


@dataclass(frozen=True)
class Sets:
    scores: tuple[Score, ...]
    #: Every run with its scores by metric.
    rows: tuple[tuple[Entry, dict[str, SetRow]], ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    organs: tuple[Organs, ...]

    @property
    def floors(self) -> bool:
        return any(self.has_floor(score) for score in self.scores)

    @property
    def by_organ(self) -> bool:
        return any(one.rows for one in self.organs)

    @property
    def one_size(self) -> bool:
        """Whether all metrics of a run are over the same number of pictures."""
        return all(len({size(row) for row in own.values()}) < 2 for _, own in self.rows)

    def has_floor(self, score: Score) -> bool:
        return any(floor(row[score.name]) is not None for _, row in self.rows if score.name in row)


def make_sets(material: Material) -> Sets | None:
    scores = set_scores(material)
    if not scores:
        return None
    rows = tuple((entry, _of(entry, WHOLE)) for entry in material.entries)
    notes = [note for score in scores for note in _notes(score, rows)]
    organs = [_organs(material, score) for score in scores]
    return Sets(
        tuple(scores),
        rows,
        tuple(_warnings(scores, rows)),
        tuple(notes),
        tuple(one for one in organs if one.rows or one.without),
    )


def set_scores(material: Material) -> list[Score]:
    """The metrics of sets that were computed, in the order of the table."""
    return describe({row.metric for entry in material.entries for row in entry.sets}, {})


def sets_csv(material: Material) -> str:
    rows: list[Sequence[object]] = [_COLUMNS]
    names = [score.name for score in set_scores(material)]
    for entry in material.entries:
        for row in sorted(entry.sets, key=lambda one: (names.index(one.metric), one.part)):
            who = [entry.name, "yes" if entry.control else "no", row.metric, row.part]
            numbers = [row.value, *(row.interval or (None, None)), row.n, row.n_references]
            note = row.detail.get("note")
            about = [
                row.detail.get("sources"),
                floor(row),
                row.reason,
                str(note) if note else "",
                row.variant,
            ]
            rows.append([*who, *numbers, *about])
    return csv_text(rows)


def floor(row: SetRow) -> float | None:
    """What two samples of one distribution would give at this size."""
    found = row.detail.get("floor")
    return float(found) if isinstance(found, int | float) else None


def size(row: SetRow) -> str:
    return f"{row.n:,} against {row.n_references:,}"


def why_not(row: SetRow) -> str:
    """The reason, without how many would be needed: that is said once for all."""
    return _NEEDED.sub("", row.reason or "")


def brief(variant: str) -> str:
    """The identity of weights as people compare it: of a long hash the beginning.

    >>> brief("lpips-1 sha256 0123456789abcdef0123")
    'lpips-1 sha256 0123456789'
    """
    return re.sub(r"\b([0-9a-f]{10})[0-9a-f]{6,}\b", r"\1", variant)


def _of(entry: Entry, part: str) -> dict[str, SetRow]:
    return {row.metric: row for row in entry.sets if row.part == part}


def _warnings(
    scores: Sequence[Score], rows: Sequence[tuple[Entry, dict[str, SetRow]]]
) -> list[str]:
    """Where values are of different sets; the same said of two metrics is said once."""
    found: dict[str, list[str]] = {}
    for score in scores:
        groups: dict[tuple[str, frozenset[str]], list[str]] = {}
        for entry, own in rows:
            row = own.get(score.name)
            if row is not None and row.value is not None:
                groups.setdefault((size(row), entry.cases - entry.absent), []).append(entry.name)
        if len(groups) > 1:
            parts = "; ".join(f"{listed(n)}: {many}" for (many, _), n in groups.items())
            found.setdefault(parts, []).append(score.label)
    return [
        f"{' and '.join(labels)}: the runs do not cover the same pictures; do not compare them "
        f"(outputs against references: {parts})."
        for parts, labels in found.items()
    ]


def _notes(score: Score, rows: Sequence[tuple[Entry, dict[str, SetRow]]]) -> list[str]:
    """What the metric itself says about its values, once if it says the same of all runs."""
    said: dict[str, list[str]] = {}
    lacking: dict[str, list[str]] = {}
    known = [(entry, own[score.name]) for entry, own in rows if score.name in own]
    for entry, row in known:
        if note := str(row.detail.get("note") or ""):
            said.setdefault(note.rstrip("."), []).append(entry.name)
        if count := row.detail.get("without_reference"):
            text = f"{count} output{'' if count == 1 else 's'} without a reference left out"
            lacking.setdefault(text, []).append(entry.name)
    found = []
    for text, names in [*said.items(), *lacking.items()]:
        who = "" if len(names) == len(known) else f" ({', '.join(names)})"
        found.append(f"{score.label}: {text}{who}.")
    return found


def _organs(material: Material, score: Score) -> Organs:
    found: dict[str, dict[str, SetRow]] = {}
    for entry in material.entries:
        for row in entry.sets:
            if row.metric == score.name and row.part != WHOLE:
                found.setdefault(row.part, {})[entry.name] = row
    known = {o: own for o, own in sorted(found.items()) if any(map(_has_value, own.values()))}
    # A run that has no value in any of the rows is no column.
    columns = {name for own in known.values() for name, row in own.items() if _has_value(row)}
    others = _grouped((o, list(own.values())) for o, own in sorted(found.items()) if o not in known)
    names = [entry.name for entry in material.entries if entry.name not in columns]
    runs = _grouped((n, [own[n] for own in known.values() if n in own]) for n in names)
    every = not known and len(others) == 1
    without = [
        *(
            f"{'any organ' if every else ', '.join(organs)}: {why}"
            for why, organs in others.items()
        ),
        *(f"any organ of {listed(names)}: {why}" for why, names in runs.items()),
    ]
    entries = tuple(entry for entry in material.entries if entry.name in columns)
    return Organs(score, entries, tuple(known.items()), tuple(without))


def _has_value(row: SetRow) -> bool:
    return row.value is not None


def _grouped(named: Iterable[tuple[str, list[SetRow]]]) -> dict[str, list[str]]:
    """Reasons -> whose they are."""
    found: dict[str, list[str]] = {}
    for name, rows in named:
        if rows:
            why = "; ".join(dict.fromkeys(map(_brief_reason, rows)))
            found.setdefault(why, []).append(name)
    return found


def _brief_reason(row: SetRow) -> str:
    """ "too few, 10 are needed", however many there are; the CSV tells."""
    reason = row.reason or ""
    needed = _NEEDED.search(reason)
    return f"{_FEW}{needed[1]}" if needed and reason.startswith(_FEW) else reason
