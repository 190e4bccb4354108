"""The learned metrics that were computed: with which weights, on what, and what each is worth."""

from __future__ import annotations

from dataclasses import dataclass

from medebench.analysis.published_tables import DIMENSIONS, Worth, published_worth, worth_of
from medebench.page.score_columns import Score
from medebench.page.table import csv_records
from medebench.reporting.collect import Material
from medebench.reporting.headline_formats import numbers
from medebench.reporting.headline_table import HeadlineTable, make_table
from medebench.reporting.score_provenance import Reading
from medebench.reporting.set_tables import Sets, brief, make_sets
from medebench.reporting.statistics import Statistics


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
        found = {score.lines[0]: score.definition for score in self.scores if score.definition}
        return list(found.items())


def make_learned(material: Material, statistics: Statistics) -> Learned | None:
    """None where no learned metric was computed."""
    sets = make_sets(material)
    scores = [*material.learned, *(sets.scores if sets else ())]
    if not scores:
        return None
    table = make_table(material, statistics, published=False, scores=material.learned)
    about = [
        About(
            score,
            _variants(material, score),
            cut_text(material, score),
            worth_of(score.family, score.encoder, score.unranked),
        )
        for score in scores
    ]
    return Learned(table if material.learned else None, sets, tuple(about))


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
    assert learned.table is not None
    worths = {one.score.name: one.worth for one in learned.about}
    rows = []
    for row in learned.table.rows:
        for (basis, metric), cell in row.cells.items():
            worth, variants = worths[metric], material.variants.get(metric, {})
            own = [variant for variant, runs in variants.items() if row.name in runs]
            rows.append(
                {"run": row.name, "kind": row.kind, "basis": basis, "metric": metric}
                | numbers(cell)
                | {
                    "scored": cell.scored,
                    "total": cell.total,
                    "best": "yes" if cell.best_micro else "",
                    "mark": cell.mark,
                    "coverage": cell.coverage,
                    "variant": "; ".join(own),
                    **{
                        f"published_rho_{name.lower()}": worth.rho[name] if worth.exact else None
                        for name in DIMENSIONS
                    },
                    "published_doubt": published_worth().doubt if worth.exact else "",
                }
            )
    return csv_records(rows)
