"""All figures of a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from medebench.page.content_key import content_key
from medebench.page.figure import Drawing, Sketch
from medebench.page.figure_memory import FigureMemory
from medebench.page.palette import Colour, run_colours
from medebench.page.score_columns import HEADLINES, STAND_IN, Score, dimensions
from medebench.reporting.collect import Material
from medebench.reporting.figures import (
    bars,
    distribution,
    failure_bars,
    inflation,
    place_agreement,
    published_worth,
    radar,
    tradeoff,
)
from medebench.reporting.statistics import Statistics

if TYPE_CHECKING:
    from medebench.reporting.diagnosis import Diagnosis
    from medebench.reporting.learned import Learned


@dataclass(frozen=True)
class Subject:
    """What every figure is drawn from."""

    material: Material
    statistics: Statistics
    colours: list[Colour]
    #: ROI share of a case, by its key
    shares: dict[str, float]
    published: bool

    def leads(self, headline: str) -> list[Score]:
        return dimensions(self.material.scores, headline, self.material.task)


def draw_figures(
    material: Material,
    statistics: Statistics,
    shares: dict[str, float],
    published: bool,
    memory: FigureMemory,
    key: str,
) -> list[Drawing]:
    """`key` is that of all that the statistics are made from."""
    colours = run_colours(len(material.models), len(material.controls))
    subject = Subject(material, statistics, colours, shares, published)
    return memory.draw(_sketches(subject), content_key(key, shares, published))


def draw_diagnosis(diagnosis: Diagnosis, material: Material, memory: FigureMemory) -> list[Drawing]:
    """Types of failure, and place against accuracy."""
    colours = run_colours(len(material.models), len(material.controls))
    stand_in = any(not link.judge for link in diagnosis.links)
    sketches = [
        Sketch(
            "failures",
            "Types of failure",
            "Share of the outputs with a finding; in the bars the number of outputs, at their end "
            "how many there are in all.",
            lambda: failure_bars.draw(diagnosis),
        ),
        Sketch(
            "agreement",
            "Is an edit in the right place the right edit?",
            place_agreement.caption(diagnosis.links)
            + (f" Stand-in: {STAND_IN}." if stand_in else ""),
            lambda: place_agreement.draw(diagnosis, material, colours),
        ),
    ]
    profiles = (*diagnosis.profiles, *diagnosis.organs, diagnosis.everything)
    shown = [(p.name, p.counts, p.none, p.success, p.entry and p.entry.control) for p in profiles]
    links = [replace(link, by_run=()) for link in diagnosis.links]
    by_run = [[(e.index, found) for e, found in link.by_run] for link in diagnosis.links]
    entries = [(entry.name, entry.control) for entry in material.entries]
    return memory.draw(sketches, content_key(shown, links, by_run, entries))


def draw_learned(learned: Learned, memory: FigureMemory) -> list[Drawing]:
    """What the metrics are worth, where that was published."""
    title, words = "What each is worth", published_worth.caption(learned)
    sketch = Sketch("worth", title, words, lambda: published_worth.draw(learned))
    return memory.draw([sketch], content_key([one.worth for one in learned.about]))


def _sketches(subject: Subject) -> Iterator[Sketch]:
    editing, group = subject.material.editing, subject.material.groups[0]
    present = [name for name in HEADLINES if editing and subject.material.score(name)]
    only = ", models only" if subject.material.models and subject.material.controls else ""
    over = "cases" if subject.material.mean == "micro" else group.plural
    for headline in present or [""]:
        end = f"-{headline}" if len(present) > 1 else ""
        when = headline if end else ""
        leads = subject.leads(headline)
        note = _stand_in(leads)
        yield Sketch(
            f"bars{end}",
            "Scores with 95 % intervals",
            f"Mean over {over}; controls are hatched.{note}",
            lambda leads=leads: bars.draw(subject, leads),  # type: ignore[misc]
            when,
        )
        if editing:
            yield Sketch(
                f"tradeoff{end}",
                "Preserving the rest against looking real",
                tradeoff.caption(subject, leads) + note,
                lambda leads=leads: tradeoff.draw(subject, leads),  # type: ignore[misc]
                when,
            )
        # Of several kinds of work, most have only some of the scores.
        if not subject.material.mixed:
            yield Sketch(
                f"radar{end}",
                f"Scores by {group.words}",
                f"Mean over the cases of each {group.words}{only}; further out is better.{note}",
                lambda leads=leads: radar.draw(subject, leads),  # type: ignore[misc]
                when,
            )
    if editing:
        yield Sketch(
            "inflation",
            "How much the published CP flatters",
            inflation.CAPTION,
            lambda: inflation.draw(subject),
        )
    named = {score.name: score for h in present or [""] for score in subject.leads(h)}
    for score in named.values():
        yield Sketch(
            f"distribution-{score.dimension if score.judge else score.name}",
            f"{score.label} case by case",
            f"Each point is one case (mean over its outputs){only}; box: middle half, "
            f"line: median, whiskers: 5 % to 95 %.{_stand_in([score])}",
            lambda score=score: distribution.draw(subject, score),  # type: ignore[misc]
            score.name if score.name in present and len(present) > 1 else "",
        )


def _stand_in(scores: list[Score]) -> str:
    names = [score.label for score in scores if score.stand_in]
    return f" {' and '.join(names)}: {STAND_IN}." if names else ""
