"""All figures of a report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from medebench.report.collect import Material
from medebench.report.facts import HEADLINES, STAND_IN, Score, dimensions
from medebench.report.figures import (
    agreement,
    bars,
    distribution,
    failures,
    inflation,
    radar,
    tradeoff,
    worth,
)
from medebench.report.figures.style import inline, save, standalone
from medebench.report.palette import Colour, run_colours
from medebench.report.statistics import Statistics

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from matplotlib.figure import Figure

    from medebench.report.diagnosis import Diagnosis
    from medebench.report.learned import Learned


@dataclass(frozen=True)
class Drawing:
    name: str
    title: str
    caption: str
    svg: str
    inline: str
    pdf: bytes
    #: Shown while this CP leads; empty = always.
    headline: str = ""

    @property
    def wide(self) -> bool:
        """Whether it takes a row of the page for itself."""
        return self.name.startswith(("radar", "failures", "worth"))


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
        return dimensions(self.material.scores, headline)


def draw_figures(
    material: Material, statistics: Statistics, shares: dict[str, float], published: bool
) -> list[Drawing]:
    colours = run_colours(len(material.models), len(material.controls))
    subject = Subject(material, statistics, colours, shares, published)
    return [drawing for plan in _plans(subject) if (drawing := _draw(*plan)) is not None]


def draw_diagnosis(diagnosis: Diagnosis, material: Material) -> list[Drawing]:
    """Types of failure, and place against accuracy."""
    colours = run_colours(len(material.models), len(material.controls))
    stand_in = any(not link.judge for link in diagnosis.links)
    plans: list[Plan] = [
        (
            "failures",
            "Types of failure",
            "Share of the outputs with a finding; in the bars the number of outputs, at their end "
            "how many there are in all.",
            "",
            lambda: failures.draw(diagnosis),
        ),
        (
            "agreement",
            "Is an edit in the right place the right edit?",
            agreement.caption(diagnosis.links) + (f" Stand-in: {STAND_IN}." if stand_in else ""),
            "",
            lambda: agreement.draw(diagnosis, material, colours),
        ),
    ]
    return [drawing for plan in plans if (drawing := _draw(*plan)) is not None]


def draw_learned(learned: Learned) -> list[Drawing]:
    """What the metrics are worth, where that was published."""
    title, words = "What each is worth", worth.caption(learned)
    drawing = _draw("worth", title, words, "", lambda: worth.draw(learned))
    return [] if drawing is None else [drawing]


Plan = tuple[str, str, str, str, "Callable[[], AbstractContextManager[Figure] | None]"]


def _plans(subject: Subject) -> Iterator[Plan]:
    present = [name for name in HEADLINES if subject.material.score(name)]
    only = ", models only" if subject.material.models and subject.material.controls else ""
    for headline in present or [""]:
        end = f"-{headline}" if len(present) > 1 else ""
        when = headline if end else ""
        leads = subject.leads(headline)
        note = _stand_in(leads)
        yield (
            f"bars{end}",
            "Scores with 95 % intervals",
            f"Mean over cases; controls are hatched.{note}",
            when,
            lambda leads=leads: bars.draw(subject, leads),  # type: ignore[misc]
        )
        yield (
            f"tradeoff{end}",
            "Preserving the rest against looking real",
            tradeoff.caption(subject, leads) + note,
            when,
            lambda leads=leads: tradeoff.draw(subject, leads),  # type: ignore[misc]
        )
        yield (
            f"radar{end}",
            "Scores by organ",
            f"Mean over the cases of an organ{only}; further out is better.{note}",
            when,
            lambda leads=leads: radar.draw(subject, leads),  # type: ignore[misc]
        )
    yield (
        "inflation",
        "How much the published CP flatters",
        inflation.CAPTION,
        "",
        lambda: inflation.draw(subject),
    )
    named = {score.name: score for h in present or [""] for score in subject.leads(h)}
    for score in named.values():
        yield (
            f"distribution-{score.dimension if score.judge else score.name}",
            f"{score.label} case by case",
            f"Each point is one case of one run (mean over its outputs){only}; box: middle half, "
            f"line: median, whiskers: 5 % to 95 %.{_stand_in([score])}",
            score.name if score.name in present and len(present) > 1 else "",
            lambda score=score: distribution.draw(subject, score),  # type: ignore[misc]
        )


def _draw(
    name: str,
    title: str,
    caption: str,
    headline: str,
    make: Callable[[], AbstractContextManager[Figure] | None],
) -> Drawing | None:
    # A metric may be called anything; a file may not.
    name = re.sub(r"[^A-Za-z0-9_-]", "-", name)
    context = make()
    if context is None:
        return None
    with context as made:
        svg, pdf = save(made)
    label = escape(f"{title}. {caption}", quote=True)
    return Drawing(name, title, caption, standalone(svg), inline(svg, name, label), pdf, headline)


def _stand_in(scores: list[Score]) -> str:
    names = [score.label for score in scores if score.stand_in]
    return f" {' and '.join(names)}: {STAND_IN}." if names else ""
