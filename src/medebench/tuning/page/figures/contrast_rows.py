"""The comparisons that decide: a panel a question, a row a task, differences with intervals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from medebench.page.figure import Sketch
from medebench.page.figure_style import bare, figure, plain, span
from medebench.page.number import number
from medebench.page.palette import INK, MUTED, PAPER
from medebench.page.score_columns import Score
from medebench.tuning.page.tuning_formats import ARMS, rows_of, task_label
from medebench.tuning.tuning_answers import ALL, Contrast, TuningAnswers
from medebench.tuning.tuning_outcome import TuningOutcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {
    "own-pairs": "real less shuffled pairs",
    "own-task": "own less other task’s pairs",
    "beats-copy": "trained less the input",
    "beats-blank": "trained less no instruction",
    "more-pairs": "most less fewest, same steps",
    "shown": "trained less in context",
}
_WIDTH, _ROW, _LEFT, _COLUMNS = 7.6, 0.22, 1.4, 3


def sketch(outcome: TuningOutcome, answers: TuningAnswers, score: Score) -> Sketch | None:
    found = {question: _most(answers, question, score.name) for question in _TITLES}
    found = {question: some for question, some in found.items() if some}
    if not found:
        return None
    tasks = rows_of(outcome, {task for some in found.values() for task in some})
    caption = (
        f"Differences of {score.label} on the same test cases, with 95 % intervals; the line is no "
        "difference. Of several numbers of pairs, the most. Hollow: the interval holds 0. Grey "
        "bars: what this design could not have seen."
    )
    make = partial(_draw, found, tasks[:1] if len(tasks) == 2 else tasks, score)
    return Sketch(f"contrasts-{score.name}", f"{score.label}: arms side by side", caption, make)


def _most(answers: TuningAnswers, question: str, metric: str) -> dict[str, Contrast]:
    """By task the comparison at the most pairs, with steps for each of them if there is one."""
    found: dict[str, Contrast] = {}
    for one in answers.contrasts:
        if (one.question, one.metric) != (question, metric) or one.difference.value is None:
            continue
        known = found.get(one.task)
        if known is None or _weight(one) > _weight(known):
            found[one.task] = one
    return found


def _weight(one: Contrast) -> tuple[int, bool]:
    return one.left[1], one.left[0] == "per-sample"


@contextmanager
def _draw(
    found: dict[str, dict[str, Contrast]], tasks: list[str], score: Score
) -> Iterator[Figure]:
    columns = min(_COLUMNS, len(found))
    rows = -(-len(found) // columns)
    body, top, bottom = _ROW * len(tasks) + 0.1, 0.28, 0.32
    across = top + body + bottom
    height = rows * across + 0.12
    wide = (_WIDTH - _LEFT - 0.08) / columns - 0.52
    ends = [
        end
        for some in found.values()
        for one in some.values()
        for end in (one.difference.value, one.difference.low, one.difference.high)
        if end is not None
    ]
    low, high = span([*ends, 0.0])
    with figure(_WIDTH, height) as made:
        for number_, (question, some) in enumerate(found.items()):
            row, column = divmod(number_, columns)
            left = _LEFT + column * (wide + 0.52)
            base = height - row * across - top - body
            box = (left / _WIDTH, base / height, wide / _WIDTH, body / height)
            axes = made.add_axes(box)
            bare(axes)
            axes.set_title(_TITLES[question], loc="left", pad=5)
            for place, task in enumerate(tasks):
                if task in some:
                    _row(axes, place, some[task], score)
            axes.axvline(0, color=MUTED.light, lw=0.8, zorder=1)
            axes.set_xlim(low, high)
            axes.locator_params(axis="x", nbins=5)
            axes.set_ylim(len(tasks) - 0.4, -0.6)
            names = [plain(task_label(task), 24) for task in tasks] if column == 0 else []
            axes.set_yticks(range(len(names)), names)
            axes.tick_params(axis="y", length=0)
            for tick, task in zip(axes.get_yticklabels(), tasks, strict=False):
                tick.set_color(INK.light)
                tick.set_fontweight("bold" if task == ALL else "normal")
        yield made


def _row(axes: Axes, place: int, one: Contrast, score: Score) -> None:
    found = one.difference
    assert found.value is not None
    colour = ARMS[one.left[0]].colour.light
    if one.detectable is not None:
        axes.barh(place, 2 * one.detectable, 0.62, -one.detectable, color=MUTED.light, alpha=0.13)
    inside = True
    if found.interval is not None:
        inside = found.interval.low <= 0 <= found.interval.high
        axes.plot(list(found.interval), [place, place], color=colour, lw=1.5, zorder=2)
    face = PAPER.light if inside else colour
    axes.plot(found.value, place, "o", ms=4.6, mfc=face, mec=colour, mew=1.1, zorder=3)
    axes.annotate(
        number(found.value, min(2, score.decimals), signed=True),
        (1.02, place),
        xycoords=("axes fraction", "data"),
        fontsize=7,
        va="center",
        annotation_clip=False,
    )
