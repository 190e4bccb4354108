"""All figures of a study as SVG and PDF."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from html import escape
from typing import TYPE_CHECKING

from medebench.report.figures import Drawing
from medebench.report.figures.style import inline, save, standalone
from medebench.report.palette import Colour, run_colours
from medebench.study.results.figures import agreement, standings, worth
from medebench.study.results.model import StudyResults

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_results(results: StudyResults, runs: Sequence[str] = ()) -> list[Drawing]:
    """What can be drawn; `runs` are those of a report, whose colours the models then have."""
    colours = colours_of(results, runs)
    plans: list[tuple[str, str, str, Callable[[], AbstractContextManager[Figure] | None]]] = [
        (
            "people-standings",
            "What people prefer",
            standings.caption(results),
            lambda: standings.draw(results, colours),
        ),
        (
            "people-worth",
            "Which metric follows people",
            worth.caption(results),
            lambda: worth.draw(results),
        ),
        (
            "people-agreement",
            "How far people agree",
            agreement.caption(results),
            lambda: agreement.draw(results),
        ),
    ]
    found = []
    for name, title, caption, make in plans:
        context = make()
        if context is None:
            continue
        with context as made:
            svg, pdf = save(made)
        label = escape(f"{title}. {caption}", quote=True)
        whole = standalone(svg)
        found.append(Drawing(name, title, caption, whole, inline(svg, name, label), pdf))
    return found


def colours_of(results: StudyResults, runs: Sequence[str] = ()) -> dict[str, Colour]:
    """A colour for each model: that of the report, if it is one of its runs."""
    controls = results.controls
    given = [*dict.fromkeys([*runs, *results.models])]
    models = [name for name in given if name not in controls]
    kept = [name for name in given if name in controls]
    return dict(zip([*models, *kept], run_colours(len(models), len(kept)), strict=True))
