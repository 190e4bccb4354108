"""The learned metrics that were computed: with which weights, on what, and what each is worth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from medebench.report.collect import Material
from medebench.report.facts import Score
from medebench.report.families import (
    DEFINITIONS,
    FAMILIES,
    PUBLISHED_ENCODER,
    PUBLISHED_LPIPS,
    Family,
    is_published,
)
from medebench.report.formats import csv_text
from medebench.report.listening import Reading
from medebench.report.published import published_worth
from medebench.report.sets import Sets, brief, make_sets
from medebench.report.statistics import Statistics
from medebench.report.tables import HeadlineTable, make_table

DIMENSIONS = ("EA", "CP", "VQ")
# fmt: off
_COLUMNS = (
    "run", "kind", "basis", "metric", "mean", "low", "high", "macro", "macro_low", "macro_high",
    "scored", "total", "best", "mark", "coverage", "variant",
    *(f"published_rho_{name.lower()}" for name in DIMENSIONS), "published_doubt",
)
# fmt: on


@dataclass(frozen=True)
class Worth:
    """Spearman's rho with people as published; of the metric itself, or of a near relative."""

    #: The row of the paper.
    row: str = ""
    rho: dict[str, float] = field(default_factory=dict)
    exact: bool = False
    #: What to say where it is not of the metric itself.
    words: str = "not published"


@dataclass(frozen=True)
class About:
    """One metric, told before its numbers are believed."""

    score: Score
    #: (short, whole, runs; no runs where all have the same)
    variants: tuple[tuple[str, str, str], ...]
    cut: str
    worth: Worth


@dataclass(frozen=True)
class Learned:
    #: Scores of single outputs; None where there are only scores of sets.
    table: HeadlineTable | None
    sets: Sets | None
    about: tuple[About, ...]

    @property
    def scores(self) -> list[Score]:
        return [one.score for one in self.about]

    @property
    def doubt(self) -> str:
        """What to say beside published figures; nothing where none is shown."""
        return published_worth().doubt if any(one.worth.rho for one in self.about) else ""

    @property
    def definitions(self) -> list[tuple[str, str]]:
        """(name, how its numbers come about) of the metrics that are here."""
        names = dict.fromkeys(score.head[0] for score in self.scores)
        return [(name, DEFINITIONS[name]) for name in names if name in DEFINITIONS]


def make_learned(material: Material, statistics: Statistics) -> Learned | None:
    """None where no learned metric was computed."""
    sets = make_sets(material)
    scores = [*material.learned, *(sets.scores if sets else ())]
    if not scores:
        return None
    table = make_table(material, statistics, published=False, scores=material.learned)
    about = [
        About(score, _variants(material, score), cut_text(material, score), worth_of(score))
        for score in scores
    ]
    return Learned(table if material.learned else None, sets, tuple(about))


def worth_of(score: Score) -> Worth:
    family = FAMILIES.get(score.family, Family(score.family))
    row = family.row
    if not row:
        why = f"not published; {family.unranked}" if family.unranked else "not published"
        return Worth(words=why)
    rho = published_worth().rho[row]
    if is_published(score.family, score.encoder):
        return Worth(row, rho, True, "")
    other = "encoder" if family.exact else "variant"
    if score.encoder:
        whose = f"{score.family.removesuffix('_published')}_published_{PUBLISHED_ENCODER}"
    else:
        whose = PUBLISHED_LPIPS
    numbers = ", ".join(f"{name} {rho[name]:.2f}" for name in DIMENSIONS)
    return Worth(row, rho, False, f"not published for this {other}; {whose}: {numbers}")


def cut_text(material: Material, score: Score) -> str:
    """ "Text cut: 12 of 69 descriptions ...", or nothing where all were read to their end."""
    found = material.readings.get(score.name, Reading())
    if not found.cut:
        return ""
    cut, every = len(found.cut), len(found.texts)
    family = score.family.removesuffix("_published")
    noun = family.rpartition("_")[2] if "_" in family else "text"
    verb = "was" if cut == 1 else "were"
    return (
        f"Text cut: {cut:,} of {every:,} {noun}{'' if every == 1 else 's'} {verb} longer than the "
        f"encoder’s {found.room:,} tokens (the longest has {found.longest:,}); the rest was not "
        "read."
    )


def _variants(material: Material, score: Score) -> tuple[tuple[str, str, str], ...]:
    found = material.variants.get(score.name, {})
    several = len(found) > 1
    return tuple((brief(v), v, ", ".join(runs) if several else "") for v, runs in found.items())


def learned_csv(learned: Learned, material: Material) -> str:
    rows: list[Sequence[object]] = [_COLUMNS]
    rows.extend(_lines(learned, material))
    return csv_text(rows)


def _lines(learned: Learned, material: Material) -> Iterator[list[object]]:
    assert learned.table is not None
    worths = {one.score.name: one.worth for one in learned.about}
    for row in learned.table.rows:
        for (basis, metric), cell in row.cells.items():
            micro, macro, worth = cell.micro, cell.macro, worths[metric]
            variants = material.variants.get(metric, {})
            own = [variant for variant, runs in variants.items() if row.name in runs]
            yield [
                *(row.name, row.kind, basis, metric),
                *(micro.mean, micro.low, micro.high, macro.mean, macro.low, macro.high),
                *(cell.scored, cell.total, "yes" if cell.best_micro else "", cell.mark),
                *(cell.coverage, "; ".join(own)),
                *(worth.rho[name] if worth.exact else None for name in DIMENSIONS),
                published_worth().doubt if worth.exact else "",
            ]
