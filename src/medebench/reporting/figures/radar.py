"""A radar for each score that leads: groups around, a line for each model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from medebench.page.figure_style import figure, legend_columns, plain
from medebench.page.palette import GRID, MUTED
from medebench.page.score_columns import Score
from medebench.reporting.collect import Entry
from medebench.reporting.statistics import Key, Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.projections.polar import PolarAxes

    from medebench.reporting.figures.draw_report import Subject

#: Inches: the whole figure, and one radar.
WIDTH = 7.2
_SIDE = 1.55
_SHORT = {"Gastrointestinal Tract": "GI tract", "Spine and Bones": "Bones"}


def draw(subject: Subject, scores: list[Score]) -> AbstractContextManager[Figure] | None:
    """None with fewer than three groups: two points make no polygon."""
    shown = [score for score in scores if score.high <= 1 and score.better == "higher"]
    names = {score.name for score in shown}
    groups = {
        group
        for basis, _, metric, group in _leading(subject)
        if metric in names and basis == subject.material.basis
    }
    return _draw(subject, shown, sorted(groups)) if len(groups) >= 3 else None


def _leading(subject: Subject) -> dict[Key, Summary]:
    return subject.statistics.finer[subject.material.groups[0].name]


@contextmanager
def _draw(subject: Subject, scores: list[Score], groups: list[str]) -> Iterator[Figure]:
    entries = subject.material.models or list(subject.material.entries)
    labels = [plain(entry.name, 24) for entry in entries]
    columns = legend_columns(labels, WIDTH)
    legend_rows = math.ceil(len(entries) / columns)
    height = _SIDE + 0.95 + 0.2 * legend_rows
    with figure(WIDTH, height) as made:
        for number, score in enumerate(scores):
            width = 1 / len(scores)
            side = _SIDE / WIDTH
            middle = (number + 0.5) * width
            bottom = (0.36 + 0.2 * legend_rows) / height
            axes = made.add_axes(
                (middle - side / 2, bottom, side, _SIDE / height), projection="polar"
            )
            _one(subject, axes, score, groups, entries)  # type: ignore[arg-type]
        handles = [
            made.axes[0].plot([], [], color=c.light, marker=c.mark, markersize=4, linewidth=1.2)[0]
            for c in (subject.colours[entry.index] for entry in entries)
        ]
        made.legend(handles, labels, loc="lower center", ncols=columns)
        yield made


def _one(
    subject: Subject, axes: PolarAxes, score: Score, groups: list[str], entries: list[Entry]
) -> None:
    angles = [2 * math.pi * i / len(groups) for i in range(len(groups))]
    basis = subject.material.basis
    for entry in entries:
        colour = subject.colours[entry.index]
        values = []
        for group in groups:
            found = _leading(subject).get((basis, entry.name, score.name, group))
            mean = found.micro.value if found else None
            values.append(math.nan if mean is None else max(0.0, mean))
        axes.plot(
            [*angles, angles[0]],
            [*values, values[0]],
            color=colour.light,
            linewidth=1.1,
            marker=colour.mark,
            markersize=2.4,
        )
    axes.set_theta_zero_location("N")
    axes.set_theta_direction(-1)
    axes.set_ylim(0, 1)
    axes.set_yticks([0.5, 1.0], ["0.5", ""], fontsize=6, color=MUTED.light)
    axes.set_xticks(angles, [""] * len(angles))
    for angle, group in zip(angles, groups, strict=True):
        side = math.sin(angle)
        axes.text(
            angle,
            1.1,
            plain(_SHORT.get(group, group), 14),
            fontsize=6.8,
            ha="center" if abs(side) < 0.25 else "left" if side > 0 else "right",
            va="bottom" if math.cos(angle) > 0.9 else "top" if math.cos(angle) < -0.9 else "center",
        )
    axes.spines["polar"].set_color(GRID.light)
    title = score.label + (" (stand-in)" if score.stand_in else "")
    axes.set_title(title, pad=17)
