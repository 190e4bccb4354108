"""The figures of a stress test, one file each; here all of them, as SVG and PDF."""

from __future__ import annotations

from collections.abc import Collection

from medebench.page.figure import Drawing, Sketch, draw
from medebench.page.palette import Colour, run_colours
from medebench.stresstest.page.figures import (
    answer_scatter,
    headline,
    score_spread,
    threshold_curves,
)
from medebench.stresstest.page.page_facts import PageContext
from medebench.stresstest.stress_outcome import StressOutcome


def draw_outcome(
    outcome: StressOutcome, making: PageContext, only: Collection[str] | None = None
) -> dict[str, Drawing]:
    """What can be drawn, by name."""
    colours = colours_of(outcome)
    sketches = [
        Sketch(
            "headline",
            "Original and edited",
            headline.caption(outcome),
            lambda: headline.draw(outcome, colours),
        ),
        Sketch(
            "answers",
            "Every edit, before and after",
            answer_scatter.caption(outcome, making),
            lambda: answer_scatter.draw(outcome, colours, making),
        ),
        Sketch(
            "scores",
            "Edit scores",
            score_spread.caption(outcome),
            lambda: score_spread.draw(outcome),
        ),
        Sketch(
            "thresholds",
            "Other thresholds",
            threshold_curves.caption(outcome),
            lambda: threshold_curves.draw(outcome, colours),
        ),
    ]
    shown = [one for one in sketches if only is None or one.name in only]
    return {drawing.name: drawing for drawing in draw(shown)}


def colours_of(outcome: StressOutcome) -> dict[str, Colour]:
    """The predictors under test have colours, references are grey."""
    tested = [one.name for one in outcome.predictors if not one.reference]
    references = [one.name for one in outcome.predictors if one.reference]
    colours = run_colours(len(tested), len(references))
    return dict(zip([*tested, *references], colours, strict=True))
