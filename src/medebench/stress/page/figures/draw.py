"""All figures of a stress test as SVG and PDF."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from html import escape
from typing import TYPE_CHECKING

from medebench.report.figures import Drawing
from medebench.report.figures.style import inline, save, standalone
from medebench.report.palette import Colour, run_colours
from medebench.stress.outcome import StressOutcome
from medebench.stress.page.figures import answers, headline, scores, thresholds
from medebench.stress.page.making import Making

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_outcome(
    outcome: StressOutcome, making: Making, only: Collection[str] | None = None
) -> dict[str, Drawing]:
    """What can be drawn, by name."""
    colours = colours_of(outcome)
    plans: list[tuple[str, str, str, Callable[[], AbstractContextManager[Figure] | None]]] = [
        (
            "headline",
            "As they are, and edited",
            headline.caption(outcome),
            lambda: headline.draw(outcome, colours),
        ),
        (
            "answers",
            "Every edit, before and after",
            answers.caption(outcome, making),
            lambda: answers.draw(outcome, colours, making),
        ),
        ("scores", "Edit scores", scores.caption(outcome), lambda: scores.draw(outcome)),
        (
            "thresholds",
            "Another threshold",
            thresholds.caption(outcome),
            lambda: thresholds.draw(outcome, colours),
        ),
    ]
    found = {}
    for name, title, caption, make in plans:
        context = make() if only is None or name in only else None
        if context is None:
            continue
        with context as made:
            svg, pdf = save(made)
        label = escape(f"{title}. {caption}", quote=True)
        picture = inline(svg, name, label)
        found[name] = Drawing(name, title, caption, standalone(svg), picture, pdf)
    return found


def colours_of(outcome: StressOutcome) -> dict[str, Colour]:
    """The predictors under test have colours, references are grey."""
    tested = [one.name for one in outcome.predictors if not one.reference]
    references = [one.name for one in outcome.predictors if one.reference]
    colours = run_colours(len(tested), len(references))
    return dict(zip([*tested, *references], colours, strict=True))
