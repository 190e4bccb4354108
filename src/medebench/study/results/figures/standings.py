"""What people prefer: a panel a dimension, a row a model, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from medebench.analysis.ordering import Standing
from medebench.page.figure_style import bare
from medebench.page.number import NONE
from medebench.page.palette import INK, MUTED, PAPER, Colour
from medebench.study.results.figures.grid import panels, value_at_end
from medebench.study.results.results_model import DimensionResults, StudyResults

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(
    results: StudyResults, colours: Mapping[str, Colour]
) -> AbstractContextManager[Figure] | None:
    shown = [one for one in results.dimensions if _known(one)]
    return _draw(results, shown, colours) if shown else None


def caption(results: StudyResults) -> str:
    hollow = " Hollow: controls." if results.controls & set(results.models) else ""
    return (
        "How often people rank an output of the model above that of another model (a tie counts "
        f"half), with 95 % intervals over {results.unit}s; the line is chance.{hollow}"
    )


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
    with panels([one.name for one in shown], model_order(results)) as (made, axes):
        for one, panel in zip(shown, axes, strict=True):
            _panel(panel, one, results, colours)
        yield made


def _panel(
    axes: Axes, one: DimensionResults, results: StudyResults, colours: Mapping[str, Colour]
) -> None:
    known = _known(one)
    bare(axes)
    axes.axvline(50, color=MUTED.light, lw=0.8)
    for place, name in enumerate(model_order(results)):
        if name not in known:
            value_at_end(axes, place, NONE, MUTED.light)
            continue
        found = known[name].preferred
        assert found.value is not None
        colour = colours[name].light
        if found.interval is not None:
            low, high = (100 * end for end in found.interval)
            axes.plot([low, high], [place, place], color=colour, lw=1.6, solid_capstyle="butt")
        inside = PAPER.light if name in results.controls else colour
        value = 100 * found.value
        axes.plot(value, place, "o", ms=5.0, mfc=inside, mec=colour, mew=1.2)
        value_at_end(axes, place, f"{value:.0f} %", INK.light)
    axes.set_xlim(-2, 102)
    axes.set_xticks([0, 25, 50, 75, 100], ["0", "", "50", "", "100"])
    axes.set_xlabel("preferred, % of pairs")
