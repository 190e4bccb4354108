"""What another threshold of the edit score would have found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from medebench.page.figure import Sketch
from medebench.page.figure_style import bare, figure, legend_columns, plain
from medebench.page.palette import INK, MUTED, PAPER, TYPES, Colour
from medebench.stresstest.page.page_facts import PageContext
from medebench.stresstest.page.stress_formats import MEASURES, threshold_text
from medebench.stresstest.stress_outcome import StressOutcome
from medebench.stresstest.stress_verdict import CHANCE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def sketch(outcome: StressOutcome, colours: Mapping[str, Colour], _: PageContext) -> Sketch | None:
    caption = (
        f"{MEASURES[outcome.headline].label} on the edits that each threshold keeps, with 95 % "
        "intervals; below, how many those are. Shaded: the threshold that was chosen."
    )
    known = any(one.value is not None for at in outcome.thresholds for one in at.edited.values())
    make = partial(_draw, outcome, colours)
    return Sketch("thresholds", "Other thresholds", caption, make) if known else None


@contextmanager
def _draw(outcome: StressOutcome, colours: Mapping[str, Colour]) -> Iterator[Figure]:
    labels = [plain(one.name) for one in outcome.predictors]
    lines = -(-len(labels) // legend_columns(labels, 5.6))
    top = 0.1 + 0.17 * lines
    height = 2.75 + top
    with figure(5.6, height) as made:
        upper = made.add_axes((0.11, 1.2 / height, 0.86, 1.5 / height))
        lower = made.add_axes((0.11, 0.42 / height, 0.86, 0.6 / height), sharex=upper)
        places = range(len(outcome.thresholds))
        for axes in (upper, lower):
            bare(axes, grid="y")
            for place, at in enumerate(outcome.thresholds):
                if at.threshold == outcome.threshold:
                    axes.axvspan(place - 0.45, place + 0.45, color=MUTED.light, alpha=0.13, lw=0)
        _lines(upper, outcome, colours)
        kept = [at.kept for at in outcome.thresholds]
        look: Any = {
            "color": TYPES["success"],
            "edgecolor": MUTED.light,
            "linewidth": 0.5,
        }
        lower.bar(list(places), kept, width=0.6, **look)
        above: Any = {"xytext": (0, 1.5), "textcoords": "offset points", "ha": "center"}
        for place, count in enumerate(kept):
            lower.annotate(str(count), (place, count), **above, fontsize=6.5, color=INK.light)
        lower.set_ylim(0, max(1.0, 1.3 * max(kept)))
        lower.set_yticks([])
        lower.set_ylabel("kept")
        lower.set_xticks(list(places), [threshold_text(at.threshold) for at in outcome.thresholds])
        lower.set_xlabel("threshold of the edit score")
        upper.tick_params(axis="x", labelbottom=False, length=0)
        upper.set_xlim(-0.55, len(outcome.thresholds) - 0.45)
        look = {"ncols": legend_columns(labels, 5.6), "borderaxespad": 0.1}
        told = upper.get_legend_handles_labels()
        made.legend(*told, loc="upper left", bbox_to_anchor=(0.1, 1.0), **look)
        yield made


def _lines(axes: Axes, outcome: StressOutcome, colours: Mapping[str, Colour]) -> None:
    measure = MEASURES[outcome.headline]
    scale = measure.scale
    count = len(outcome.predictors)
    lows = []
    for number, one in enumerate(outcome.predictors):
        colour = colours[one.name]
        beside = 0.12 * (number - (count - 1) / 2) if count < 7 else 0.0
        xs, ys = [], []
        for place, at in enumerate(outcome.thresholds):
            found = at.edited.get(one.name)
            if found is None or found.value is None:
                continue
            xs.append(place + beside)
            ys.append(scale * found.value)
            ends = found.interval or (found.value, found.value)
            lows.append(ends[0])
            axes.plot([xs[-1]] * 2, [scale * end for end in ends], color=colour.light, lw=1.1)
        look: Any = {"ls": "-", "marker": "o", "mfc": colour.light}
        if one.reference:
            look = {"ls": "--", "marker": "s", "mfc": PAPER.light}
        axes.plot(xs, ys, color=colour.light, lw=0.9, ms=4, label=plain(one.name), **look)
    if outcome.task == "classification":
        axes.axhline(CHANCE * scale, color=MUTED.light, lw=0.9, ls=(0, (1, 2)), zorder=1)
        axes.set_ylim(-3, 103)
    elif lows:
        axes.set_ylim(max(0.0, min(lows) - 0.05), 1.0)
    axes.set_ylabel(f"edited {measure.label.lower() if measure.unit else measure.label}"
                    f"{', ' + measure.unit if measure.unit else ''}")  # fmt: skip
