"""The figures of a stress test, one file each; here all of them, as SVG and PDF."""

from __future__ import annotations

from collections.abc import Collection

from medebench.page.figure import Drawing, draw
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
    parts = (headline, answer_scatter, score_spread, threshold_curves)
    sketches = (one.sketch(outcome, colours, making) for one in parts)
    shown = [one for one in sketches if one and (only is None or one.name in only)]
    return {drawing.name: drawing for drawing in draw(shown)}


def colours_of(outcome: StressOutcome) -> dict[str, Colour]:
    """The predictors under test have colours, references are grey."""
    tested = [one.name for one in outcome.predictors if not one.reference]
    references = [one.name for one in outcome.predictors if one.reference]
    colours = run_colours(len(tested), len(references))
    return dict(zip([*tested, *references], colours, strict=True))
