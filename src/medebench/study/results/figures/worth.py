"""Which metric follows people: a panel a dimension, a row a metric, with intervals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from medebench.analysis.worth import Worths
from medebench.report.facts import STAND_IN
from medebench.report.figures.style import bare
from medebench.report.palette import GRID, INK, MUTED
from medebench.report.published import published_worth
from medebench.study.results.figures.grid import panels, value_at_end
from medebench.study.results.model import DimensionResults, StudyResults
from medebench.study.results.published import Printed, printed, shown
from medebench.study.results.texts import metric_label, number
from medebench.study.results.verdict import metric_order, race, standing_of
from medebench.study.results.words import pictures_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(results: StudyResults) -> AbstractContextManager[Figure] | None:
    found = [one for one in results.dimensions if _has_numbers(one.worths)]
    return _draw(results, found) if found else None


def caption(results: StudyResults) -> str:
    text = (
        "Spearman’s ρ of the ranks that a metric and people give to the outputs of a case, mean "
        f"over cases, with 95 % intervals over {pictures_of(results)}. In full ink: the best "
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


def _has_numbers(worths: Worths | None) -> bool:
    return worths is not None and any(one.rho.value is not None for one in worths.metrics)


@contextmanager
def _draw(results: StudyResults, dimensions: list[DimensionResults]) -> Iterator[Figure]:
    names = metric_order(results)
    labels = []
    for name in names:
        score = results.scores.get(name)
        labels.append(metric_label(name, score) + (" *" if score and score.stand_in else ""))
    least = min(_lowest(one, results) for one in dimensions)
    with panels([one.name for one in dimensions], labels) as (made, axes):
        for dimension, panel in zip(dimensions, axes, strict=True):
            _panel(panel, dimension, names, results)
            panel.set_xlim(least, 1.03)
            panel.set_xticks([t / 4 for t in range(-4, 5) if t / 4 >= least])
            panel.set_xticklabels(
                [f"{t:g}".replace("-", "−") if (2 * t) % 1 == 0 else "" for t in panel.get_xticks()]
            )
            panel.set_xlabel("Spearman’s ρ with people")
        yield made


def _lowest(dimension: DimensionResults, results: StudyResults) -> float:
    """Where the axis begins: at 0, unless something lies below."""
    assert dimension.worths is not None
    found = [0.0]
    for one in dimension.worths.metrics:
        if one.rho.value is not None:
            found.append(one.rho.interval.low if one.rho.interval else one.rho.value)
    least = min(found)
    return -0.03 if least >= 0 else max(-1.03, least - 0.05)


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
            _diamond(axes, place, paper)
        if one is None or one.rho.value is None:
            value_at_end(axes, place, "–", MUTED.light)
            continue
        standing = standing_of(one, found)
        colour = INK.light if standing in ("first", "level") else MUTED.light
        if one.rho.interval is not None:
            ends = list(one.rho.interval)
            axes.plot(ends, [place, place], color=colour, lw=1.3, solid_capstyle="butt")
        axes.plot(one.rho.value, place, marker="o", ms=4.4, color=colour, ls="none", zorder=3)
        value_at_end(axes, place, number(one.rho.value), colour)


def _diamond(axes: Axes, place: int, paper: Printed) -> None:
    axes.plot(
        paper.rho,
        place,
        marker="D",
        ms=4.6,
        mfc="none",
        mec=INK.light if paper.exact else MUTED.light,
        mew=0.9,
        ls="none",
        zorder=2.5,
    )
