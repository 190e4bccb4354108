"""Which metric follows people: a panel a dimension, a row a metric, with intervals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from medebench.analysis.published_tables import published_worth
from medebench.page.figure_style import bare
from medebench.page.number import number
from medebench.page.palette import GRID, INK, MUTED
from medebench.page.score_columns import STAND_IN
from medebench.study.results.figures.grid import panels, value_at_end
from medebench.study.results.published_rows import printed, shown
from medebench.study.results.results_model import DimensionResults, StudyResults
from medebench.study.results.study_formats import metric_label
from medebench.study.results.thresholds_in_words import metric_order, race, standing_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(results: StudyResults) -> AbstractContextManager[Figure] | None:
    found = [
        one
        for one in results.dimensions
        if one.worths and any(metric.rho.value is not None for metric in one.worths.metrics)
    ]
    return _draw(results, found) if found else None


def caption(results: StudyResults) -> str:
    text = (
        "Spearman’s ρ of the ranks that a metric and people give to the outputs of a case, mean "
        f"over cases, with 95 % intervals over {results.unit}s. In full ink: the best "
        "metric and those that cannot be told apart from it; paler: clearly behind, or in too few "
        "cases."
    )
    if any(one.worths and one.worths.ceiling.value is not None for one in results.dimensions):
        text += " Dashed, with its interval: one person against the mean of the others."
    if papers := shown(results):
        text += f" Open diamonds: {published_worth().name}, another study"
        text += "" if all(one.exact for one in papers) else ", paler where of a near relative"
        text += f". {papers[0].doubt}"
    if any(score.stand_in for score in results.scores.values()):
        text += f" *: {STAND_IN}."
    return text


@contextmanager
def _draw(results: StudyResults, dimensions: list[DimensionResults]) -> Iterator[Figure]:
    names = metric_order(results)
    labels = []
    for name in names:
        score = results.scores.get(name)
        labels.append(metric_label(name, score) + (" *" if score and score.stand_in else ""))
    every = [one.rho for d in dimensions if d.worths for one in d.worths.metrics]
    known = [one for one in every if one.value is not None]
    # The axis begins at 0, unless something lies below.
    least = min(one.interval.low if one.interval else one.value or 0.0 for one in known)
    least = -0.03 if least >= 0 else max(-1.03, least - 0.05)
    with panels([one.name for one in dimensions], labels) as (made, axes):
        for dimension, panel in zip(dimensions, axes, strict=True):
            _panel(panel, dimension, names, results)
            panel.set_xlim(least, 1.03)
            ticks = [t / 4 for t in range(-4, 5) if t / 4 >= least]
            told = [f"{t:g}".replace("-", "−") if (2 * t) % 1 == 0 else "" for t in ticks]
            panel.set_xticks(ticks, told)
            panel.set_xlabel("Spearman’s ρ with people")
        yield made


def _panel(
    axes: Axes, dimension: DimensionResults, names: list[str], results: StudyResults
) -> None:
    worths = dimension.worths
    assert worths is not None
    bare(axes)
    axes.axvline(0, color=MUTED.light, lw=0.8)
    ceiling = worths.ceiling
    if ceiling.interval is not None:
        # GRID, not a pale version of another colour: it follows the theme of the page.
        axes.axvspan(*ceiling.interval, color=GRID.light, lw=0, zorder=0)
    if ceiling.value is not None:
        axes.axvline(ceiling.value, color=MUTED.light, lw=0.9, ls=(0, (3, 2)))
    found = race(worths)
    known = {one.metric: one for one in worths.metrics}
    for place, name in enumerate(names):
        one = known.get(name)
        paper = printed(results.scores.get(name), dimension.key)
        if paper is not None:
            edge = INK.light if paper.exact else MUTED.light
            axes.plot(paper.rho, place, "D", ms=4.6, mfc="none", mec=edge, mew=0.9, zorder=2.5)
        if one is None or one.rho.value is None:
            value_at_end(axes, place, "–", MUTED.light)
            continue
        colour = INK.light if standing_of(one, found) in ("first", "level") else MUTED.light
        if one.rho.interval is not None:
            ends = list(one.rho.interval)
            axes.plot(ends, [place, place], color=colour, lw=1.3, solid_capstyle="butt")
        axes.plot(one.rho.value, place, marker="o", ms=4.4, color=colour, ls="none", zorder=3)
        value_at_end(axes, place, number(one.rho.value), colour)
