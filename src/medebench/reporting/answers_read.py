"""Answers that were read: right, wrong, not readable, not given; and what guessing would get."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from medebench.analysis import Comparison, compare_runs
from medebench.analysis.failure_cost import is_failure
from medebench.page.number import between, listed, percent
from medebench.page.palette import run_colours
from medebench.page.score_columns import Score
from medebench.page.table import Cell, Column, Group, Row, Table
from medebench.reporting.collect import Entry, Material
from medebench.reporting.statistics import Statistics

#: What a reader of answers says where it found one; everything else is why it did not.
READ = frozenset({"read", "stated", "not_stated", "right", "wrong"})
_WORDS = {
    "not_read": "no option named",
    "several": "several options",
    "conflict": "letter and text disagree",
    "out_of_range": "no such option",
    "cut": "cut off",
    "refused": "refused",
    "empty": "empty",
}
_CHANCE = "chance"


@dataclass(frozen=True)
class Tally:
    """How the answers of one run to one kind of question were read."""

    entry: Entry
    right: int = 0
    wrong: int = 0
    unread: Counter[str] = field(default_factory=Counter)
    failed: int = 0

    @property
    def asked(self) -> int:
        return self.right + self.wrong + self.unread.total() + self.failed


@dataclass(frozen=True)
class AnswersRead:
    """Of one score: how every run's answers were read, and what guessing would get."""

    score: Score
    tallies: tuple[Tally, ...]
    #: By case, one over the number of choices; empty where there is none.
    chance: Mapping[str, float]
    #: By run, the difference to guessing, over all that was asked for.
    against: Mapping[str, Comparison]

    @property
    def level(self) -> float | None:
        return sum(self.chance.values()) / len(self.chance) if self.chance else None


def answers_read(material: Material) -> list[AnswersRead]:
    """For every score that tells how it read the answers."""
    found = []
    for score in material.scores:
        tallies = [one for e in material.entries if (one := _tally(material, e, score)).asked]
        if any(one.unread or one.right or one.wrong for one in tallies):
            chance = _chance(material, score)
            found.append(
                AnswersRead(score, tuple(tallies), chance, _against(material, score, chance))
            )
    return found


def _keys(material: Material, entry: Entry) -> dict[str, str]:
    """The case's key by its id in this run."""
    return {material.places[key][1]: key for key in entry.cases}


def _tally(material: Material, entry: Entry, score: Score) -> Tally:
    keys = _keys(material, entry)
    right = wrong = 0
    unread: Counter[str] = Counter()
    for row in entry.told:
        status = row.detail.get("status")
        if row.metric != score.name or not isinstance(status, str) or row.case_id not in keys:
            continue
        if row.value is None:
            continue
        if status not in READ:
            unread[status] += 1
        elif row.value >= score.high:
            right += 1
        else:
            wrong += 1
    failed = material.frame.filter(
        pl.col("run") == entry.name, pl.col("metric") == score.name, is_failure()
    )
    return Tally(entry, right, wrong, unread, len(failed) if right or wrong or unread else 0)


def _chance(material: Material, score: Score) -> dict[str, float]:
    found: dict[str, float] = {}
    for entry in material.entries:
        keys = _keys(material, entry)
        for row in entry.told:
            value = row.detail.get(_CHANCE)
            if row.metric == score.name and row.case_id in keys and isinstance(value, float | int):
                found[keys[row.case_id]] = float(value)
    return found


def _against(
    material: Material, score: Score, chance: Mapping[str, float]
) -> dict[str, Comparison]:
    """Every model against guessing on the same cases: paired, and corrected for their number."""
    if not chance:
        return {}
    frame = material.bases[material.basis].filter(
        pl.col("metric") == score.name, pl.col("case").is_in(list(chance))
    )
    names = [entry.name for entry in material.models if entry.name in frame["run"].unique()]
    if not names:
        return {}
    guess = frame.unique("case", maintain_order=True).with_columns(
        run=pl.lit(_CHANCE + "\x1f"),
        value=pl.col("case").replace_strict(chance, return_dtype=pl.Float64),
        reason=pl.lit(None, pl.String),
        k=pl.lit(0, frame.schema["k"]),
    )
    pairs = [(name, _CHANCE + "\x1f") for name in names]
    found = compare_runs(pl.concat([frame, guess]), score.name, pairs=pairs, bounds=score.bounds)
    return {one.run_a: one for one in found}


def answers_table(material: Material, statistics: Statistics) -> Table | None:
    """Right, wrong, not readable and failed, apart; and chance beside what was reached."""
    every = answers_read(material)
    if not every:
        return None
    colours = run_colours(len(material.models), len(material.controls))
    heads = ("Right", "Wrong", "Could not be read", "Failed", "Score", "Chance", "Above chance")
    groups = []
    for read in every:
        rows = []
        for one in read.tallies:
            entry = one.entry
            cells = [
                Cell(f"{one.right:,}", value=one.right),
                Cell(f"{one.wrong:,}", value=one.wrong),
                _unread(one),
                Cell(f"{one.failed:,}", value=one.failed),
                _mean(material, statistics, entry, read.score),
                _level(read),
                _above(read, entry),
            ]
            rows.append(
                Row(
                    entry.name,
                    cells,
                    colour=colours[entry.index].variable,
                    control=entry.control,
                )
            )
        groups.append(Group(rows, read.score.label))
    return Table(
        [Column("Run", "left"), *(Column(head) for head in heads)], groups, "How answers were read"
    )


def _unread(one: Tally) -> Cell:
    total = one.unread.total()
    why = [
        f"{n} {_WORDS.get(name, name.replace('_', ' '))}" for name, n in one.unread.most_common()
    ]
    return Cell(f"{total:,}", listed(why) if why else "", value=total)


def _mean(material: Material, statistics: Statistics, entry: Entry, score: Score) -> Cell:
    found = statistics.overall.get((material.basis, entry.name, score.name))
    if found is None or found.micro.value is None:
        return Cell("–")
    one = found.micro
    return Cell(score.text(one.value), between(one.interval, score.decimals), value=one.value)


def _level(read: AnswersRead) -> Cell:
    if (level := read.level) is None:
        return Cell("–")
    low, high = min(read.chance.values()), max(read.chance.values())
    ends = "" if low == high else f"{percent(low)} to {percent(high)} per item"
    return Cell(read.score.text(level), ends, value=level)


def _above(read: AnswersRead, entry: Entry) -> Cell:
    pair = read.against.get(entry.name)
    if pair is None or pair.difference is None:
        return Cell("–")
    words = "yes" if beats(pair) else "not shown"
    text = f"{words}, {read.score.text(pair.difference, signed=True)}"
    return Cell(text, between(pair.interval, read.score.decimals), value=pair.difference)


def beats(pair: Comparison) -> bool:
    """Whether the first of a pair lies above the other, after correction."""
    return bool(pair.difference and pair.difference > 0 and pair.significant())
