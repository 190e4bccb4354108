"""Learning curves: a panel a task, the arms as lines, what they must beat as horizontal lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from medebench.analysis.estimate import Estimate
from medebench.page.figure import Sketch
from medebench.page.figure_style import bare, figure, plain, span
from medebench.page.palette import PAPER
from medebench.page.score_columns import Score
from medebench.tuning.page.figures.end_labels import EndLabel, place_end_labels
from medebench.tuning.page.tuning_formats import (
    ARMS,
    TRAINED,
    point_of,
    rows_of,
    task_label,
)
from medebench.tuning.tuning_answers import TuningAnswers
from medebench.tuning.tuning_design import Arm, Untrained
from medebench.tuning.tuning_outcome import TuningOutcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches.
_WIDTH, _LEFT, _LABELS, _GAP = 7.6, 0.58, 1.08, 0.14
_WIDEST = 2.9
#: Room for the numbers of the axis, of up to three decimals; the name of the score is left of them.
_NUMBERS = 0.4
_TOP, _HIGH, _BOTTOM = 0.3, 1.8, 0.44
_LEVELS: tuple[Untrained, ...] = ("untouched", "blank", "copy", "reference")
#: The axis may grow by so much for the sake of horizontal lines; those beyond are named at its end.
_MOST = 2.4


@dataclass(frozen=True)
class _Line:
    arm: Arm | Untrained
    points: list[tuple[int, Estimate]]


@dataclass(frozen=True)
class _Panel:
    task: str
    lines: list[_Line]
    levels: dict[Untrained, float]

    @property
    def ends(self) -> list[float]:
        """All that the axis must hold."""
        found = [
            end
            for line in self.lines
            for _, one in line.points
            for end in (one.value, one.low, one.high)
        ]
        return [end for end in [*found, self.levels.get("untouched")] if end is not None]


def sketch(outcome: TuningOutcome, answers: TuningAnswers, score: Score) -> Sketch | None:
    panels = _panels(outcome, answers, score)
    if not panels:
        return None
    caption = (
        f"{score.label} ({score.summary}) on the test cases, by the number of pairs learned from, "
        "with 95 % intervals over cases, draws and seeds. Points of arms at the same number are "
        "set apart a little. Horizontal lines: what was not trained."
    )
    if any(line.arm == "in-context" for panel in panels for line in panel.lines):
        caption += " In context: pairs shown in the prompt, not trained on."
    arrow = {"higher": "Higher is better.", "lower": "Lower is better."}.get(score.better, "")
    make = partial(_draw, panels, score)
    title = f"{score.label} by training pairs"
    return Sketch(f"curves-{score.name}", title, f"{caption} {arrow}".strip(), make)


def _panels(outcome: TuningOutcome, answers: TuningAnswers, score: Score) -> list[_Panel]:
    tasks = rows_of(outcome, {one.task for one in answers.points if one.metric == score.name})
    # One task and all tasks are the same.
    tasks = tasks[:1] if len(tasks) == 2 else tasks
    found = [_panel(outcome, answers, task, score) for task in tasks]
    return [one for one in found if one.lines]


def _panel(outcome: TuningOutcome, answers: TuningAnswers, task: str, score: Score) -> _Panel:
    lines = []
    arms: tuple[Arm | Untrained, ...] = (*TRAINED, "in-context")
    for arm in arms:
        counts = sorted({p.samples for p in answers.points if p.arm == arm})
        if arm in ("per-sample", "same-steps") and counts:
            counts = sorted({0, *outcome.design.samples})
        points = [
            (n, one.mean)
            for n in counts
            if (one := point_of(outcome, answers, (task, arm, score.name), n)) is not None
            and one.mean.value is not None
        ]
        if points:
            lines.append(_Line(arm, points))
    levels: dict[Untrained, float] = {}
    for level in _LEVELS:
        at = answers.point(task, level, score.name, 0)
        if at is not None and at.mean.value is not None:
            levels[level] = at.mean.value
    return _Panel(task, lines, levels)


@contextmanager
def _draw(panels: Sequence[_Panel], score: Score) -> Iterator[Figure]:
    columns = 1 if len(panels) == 1 else 2 if len(panels) <= 4 else 3
    rows = -(-len(panels) // columns)
    wide = min(_WIDEST, (_WIDTH - _LEFT - (columns - 1) * _GAP) / columns - _LABELS)
    width = _LEFT + columns * (wide + _LABELS) + (columns - 1) * _GAP
    across = _TOP + _HIGH + _BOTTOM
    height = rows * across
    axis = _axis(panels, score)
    with figure(width, height) as made:
        for number, panel in enumerate(panels):
            row, column = divmod(number, columns)
            left = _LEFT + column * (wide + _LABELS + _GAP)
            bottom = height - row * across - _TOP - _HIGH
            box = (left / width, bottom / height, wide / width, _HIGH / height)
            axes = made.add_axes(box)
            _fill(axes, panel, axis)
            if column == 0:
                axes.set_ylabel(score.label)
                axes.yaxis.set_label_coords(-_NUMBERS / wide, 0.5)
            else:
                axes.tick_params(axis="y", labelleft=False)
        yield made


def _axis(panels: Sequence[_Panel], score: Score) -> tuple[float, float]:
    """One for all panels: curves decide, horizontal lines are let in where there is room."""
    low, high = span([end for panel in panels for end in panel.ends], score.low, score.high)
    most = _MOST * (high - low)
    for level in sorted(
        {value for panel in panels for value in panel.levels.values()},
        key=lambda value: max(low - value, value - high),
    ):
        wider = span([low, high, level], score.low, score.high)
        if wider[1] - wider[0] <= most:
            low, high = min(low, wider[0]), max(high, wider[1])
    return low, high


def _fill(axes: Axes, panel: _Panel, axis: tuple[float, float]) -> None:
    counts = sorted({n for line in panel.lines for n, _ in line.points if line.arm != "in-context"})
    last = max(n for line in panel.lines for n, _ in line.points)
    bare(axes, grid="y")
    axes.set_title(plain(task_label(panel.task), 34), loc="left", pad=6)
    step = 0.026 * max(last, 1)
    axes.set_xlim(-2 * step, last + 2.6 * step)
    axes.set_xticks(counts or [0, last])
    axes.set_ylim(*axis)
    axes.set_xlabel("training pairs")
    labels = _levels(axes, panel, axis)
    trained = [line for line in panel.lines if line.arm != "in-context"]
    for place, line in enumerate(panel.lines):
        beside = step * (place - (len(trained) - 1) / 2) if line in trained else 0.0
        labels.append(_line(axes, line, beside))
    place_end_labels(axes, labels)


def _levels(axes: Axes, panel: _Panel, axis: tuple[float, float]) -> list[EndLabel]:
    labels = []
    right = axes.get_xlim()[1]
    low, high = axis
    for level, value in panel.levels.items():
        look = ARMS[level]
        colour = look.colour.light
        if low <= value <= high:
            axes.axhline(value, color=colour, lw=0.9, ls=look.line, zorder=1.5)
            labels.append(EndLabel(right, value, look.short, colour))
            continue
        above = value > high
        text = f"{look.short} {value:.2f} {'↑' if above else '↓'}"
        labels.append(EndLabel(right, high if above else low, text, colour))
    return labels


def _line(axes: Axes, line: _Line, beside: float) -> EndLabel:
    look = ARMS[line.arm]
    colour = look.colour.light
    # All lines start at one point, that of the untouched model.
    xs = [n + (beside if n else 0.0) for n, _ in line.points]
    ys = [float(one.value) for _, one in line.points if one.value is not None]
    for x, (n, one) in zip(xs, line.points, strict=True):
        if one.interval is not None and (n or line.arm == "in-context"):
            axes.plot([x, x], list(one.interval), color=colour, lw=1.0, zorder=2)
    style: Any = {"mfc": PAPER.light if look.control else colour, "mec": colour, "mew": 1.0}
    marks = list(range(len(xs)))
    if line.points[0][0] == 0 and line.arm != "in-context":
        marks = marks[1:]
        axes.plot(xs[0], ys[0], "D", ms=3.4, color=ARMS["untouched"].colour.light, zorder=4)
    axes.plot(
        xs, ys, color=colour, lw=1.3, ls="--" if look.control else "-",
        marker=look.mark, ms=4.2, markevery=marks, zorder=3, **style,
    )  # fmt: skip
    return EndLabel(xs[-1], ys[-1], look.short, colour, not look.control)
