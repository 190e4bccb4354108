"""What each predictor said about every kept edit: before across, after up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from medebench.page.figure import Sketch
from medebench.page.figure_style import bare, figure, plain
from medebench.page.palette import MUTED, PAPER, Colour
from medebench.stresstest.page.page_facts import PageContext
from medebench.stresstest.predictor_measures import THRESHOLD
from medebench.stresstest.stress_outcome import StressOutcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 4
#: Beyond this many points they are drawn as a picture, so that the page stays light.
_MANY = 400


def sketch(
    outcome: StressOutcome, colours: Mapping[str, Colour], making: PageContext
) -> Sketch | None:
    points = _points(outcome)
    make = partial(_draw, outcome, points, colours, making)
    title = "Every edit, before and after"
    return Sketch("answers", title, _caption(outcome, making), make) if points else None


def _caption(outcome: StressOutcome, making: PageContext) -> str:
    if outcome.task == "segmentation":
        return (
            "Each point is a kept edit: Dice before (x) and after (y). On the line nothing is lost."
        )
    who = f"of “{plain(making.positive)}”" if making.positive else "of the positive class"
    return (
        f"Each point is a kept edit: the probability {who} before (x) and after (y). On "
        "the diagonal the edit changed nothing for the predictor; dotted: its decision threshold."
    )


def _points(outcome: StressOutcome) -> dict[str, list[tuple[float, float]]]:
    found = {}
    for one in outcome.predictors[:_MOST]:
        some = [
            (before, after)
            for edit in outcome.edits
            if edit.kept
            and (before := edit.before.get(one.name)) is not None
            and (after := edit.after.get(one.name)) is not None
        ]
        if some:
            found[one.name] = some
    return found


@contextmanager
def _draw(
    outcome: StressOutcome,
    points: dict[str, list[tuple[float, float]]],
    colours: Mapping[str, Colour],
    making: PageContext,
) -> Iterator[Figure]:
    side, gap = 1.62, 0.28
    width = max(3.2, 0.62 + len(points) * (side + gap))
    height = side + 0.82
    with figure(width, height) as made:
        low = _low(outcome, points)
        for number, (name, some) in enumerate(points.items()):
            left = 0.5 + number * (side + gap)
            place = (left / width, 0.46 / height, side / width, side / height)
            axes = made.add_axes(place)
            bare(axes)
            axes.grid(True)
            colour = colours[name]
            axes.plot([low, 1], [low, 1], color=MUTED.light, lw=0.8, zorder=1)
            if outcome.task == "classification":
                cut = making.cutoffs.get(name, THRESHOLD)
                for line in (axes.axhline, axes.axvline):
                    line(cut, color=MUTED.light, lw=0.9, ls=(0, (1, 2)), zorder=1)
            xs, ys = zip(*some, strict=True)
            look: Any = {
                "ms": 3.2,
                "mfc": colour.light,
                "mec": PAPER.light,
                "mew": 0.35,
                "alpha": 0.75,
            }
            axes.plot(xs, ys, "o", **look, rasterized=len(some) > _MANY, clip_on=False)
            edge = 0.02 * (1 - low)
            axes.set_xlim(low - edge, 1 + edge)
            axes.set_ylim(low - edge, 1 + edge)
            ticks = [low, (1 + low) / 2, 1]
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.set_yticks(ticks, [""] * 3 if number else [f"{tick:g}" for tick in ticks])
            axes.set_title(plain(name, 20), loc="left")
            axes.set_xlabel("before")
            if not number:
                axes.set_ylabel("after")
        yield made


def _low(outcome: StressOutcome, points: dict[str, list[tuple[float, float]]]) -> float:
    if outcome.task == "classification":
        return 0.0
    least = min(value for some in points.values() for pair in some for value in pair)
    return max(0.0, int(10 * (least - 0.02)) / 10)
