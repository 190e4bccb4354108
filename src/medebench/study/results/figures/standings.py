"""What people prefer: a panel a dimension, a row a model, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from medebench.analysis.ordering import Standing
from medebench.report.figures.style import bare
from medebench.report.palette import INK, MUTED, PAPER, Colour
from medebench.study.results.figures.grid import panels, value_at_end
from medebench.study.results.model import DimensionResults, StudyResults
from medebench.study.results.texts import NONE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(
    results: StudyResults, colours: Mapping[str, Colour]
) -> AbstractContextManager[Figure] | None:
    shown = [one for one in results.dimensions if _known(one)]
    return _draw(results, shown, colours) if shown else None


def caption(results: StudyResults) -> str:
    text = (
        "How often people rank an output of the model above that of another model (a tie counts "
        "half), with 95 % intervals over source pictures; the line is chance."
    )
    hollow = " Hollow: controls." if results.controls & set(results.models) else ""
    return text + hollow


def model_order(results: StudyResults) -> list[str]:
    """Models from most to least preferred, on average over the dimensions."""
    found: dict[str, list[float]] = {name: [] for name in results.models}
    for dimension in results.dimensions:
        for name, one in _known(dimension).items():
            if one.preferred.value is not None:
                found.setdefault(name, []).append(one.preferred.value)
    return sorted(found, key=lambda n: (not found[n], -sum(found[n]) / max(1, len(found[n]))))


def _known(dimension: DimensionResults) -> dict[str, Standing]:
    order = dimension.ordering.standings
    return {one.model: one for one in order if one.preferred.value is not None}


@contextmanager
def _draw(
    results: StudyResults, shown: list[DimensionResults], colours: Mapping[str, Colour]
) -> Iterator[Figure]:
    names = model_order(results)
    with panels([one.name for one in shown], names) as (made, axes):
        for one, panel in zip(shown, axes, strict=True):
            _panel(panel, _known(one), names, results, colours)
        yield made


def _panel(
    axes: Axes,
    known: Mapping[str, Standing],
    names: list[str],
    results: StudyResults,
    colours: Mapping[str, Colour],
) -> None:
    bare(axes)
    axes.axvline(50, color=MUTED.light, lw=0.8)
    for place, name in enumerate(names):
        if name not in known:
            value_at_end(axes, place, NONE, MUTED.light)
            continue
        found = known[name].preferred
        assert found.value is not None
        colour = colours[name].light
        if found.interval is not None:
            low, high = (100 * end for end in found.interval)
            axes.plot([low, high], [place, place], color=colour, lw=1.6, solid_capstyle="butt")
        control = name in results.controls
        axes.plot(
            100 * found.value,
            place,
            marker="o",
            ms=5.0,
            mfc=PAPER.light if control else colour,
            mec=colour,
            mew=1.2,
            ls="none",
        )
        value_at_end(axes, place, f"{100 * found.value:.0f} %", INK.light)
    axes.set_xlim(-2, 102)
    axes.set_xticks([0, 25, 50, 75, 100], ["0", "", "50", "", "100"])
    axes.set_xlabel("preferred, % of pairs")
