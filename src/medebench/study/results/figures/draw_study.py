"""All figures of a study as SVG and PDF."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from medebench.page.figure import Drawing, Sketch, draw
from medebench.page.palette import Colour, run_colours
from medebench.study.results.figures import metric_worth, people_agreement, standings
from medebench.study.results.results_model import StudyResults


def draw_results(results: StudyResults, runs: Sequence[str] = ()) -> list[Drawing]:
    """What can be drawn; `runs` are those of a report, whose colours the models then have."""
    colours = colours_of(results, runs)
    preferred = partial(standings.draw, colours=colours)
    figures = (
        ("standings", "What people prefer", standings.caption, preferred),
        ("worth", "Which metric follows people", metric_worth.caption, metric_worth.draw),
        ("agreement", "How far people agree", people_agreement.caption, people_agreement.draw),
    )
    return draw(
        Sketch(f"people-{name}", title, caption(results), partial(make, results))
        for name, title, caption, make in figures
    )


def colours_of(results: StudyResults, runs: Sequence[str] = ()) -> dict[str, Colour]:
    """A colour for each model: that of the report, if it is one of its runs."""
    controls = results.controls
    given = [*dict.fromkeys([*runs, *results.models])]
    models = [name for name in given if name not in controls]
    kept = [name for name in given if name in controls]
    return dict(zip([*models, *kept], run_colours(len(models), len(kept)), strict=True))
