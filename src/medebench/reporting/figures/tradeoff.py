"""What is preserved against how the result looks: nobody should win one by losing the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from medebench.analysis.published_tables import published_table
from medebench.page.figure_style import WIDTH, bare, figure, plain, span
from medebench.page.palette import MUTED
from medebench.page.point_labels import place_labels
from medebench.page.score_columns import Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from medebench.reporting.figures.draw_report import Subject


def caption(subject: Subject, scores: list[Score]) -> str:
    text = "Mean over cases with 95 % intervals in both directions."
    cp = next((score for score in scores if score.dimension == "cp"), None)
    if subject.published and cp and cp.name == "cp_published":
        return f"{text} Hollow: {published_table().caption}."
    if subject.published and cp:
        return f"{text} The paper printed only the published CP; its models are in that view."
    return text


def draw(subject: Subject, scores: list[Score]) -> AbstractContextManager[Figure] | None:
    across = next((score for score in scores if score.dimension == "cp"), None)
    up = next((score for score in scores if score.dimension == "vq"), None)
    return _draw(subject, across, up) if across and up else None


@contextmanager
def _draw(subject: Subject, across: Score, up: Score) -> Iterator[Figure]:
    with figure(WIDTH, 4.1) as made:
        axes = made.add_axes((0.095, 0.12, 0.885, 0.855))
        points: list[tuple[float, float, str, str]] = []
        for entry in subject.material.entries:
            key = (subject.material.basis, entry.name)
            first = subject.statistics.overall.get((*key, across.name))
            second = subject.statistics.overall.get((*key, up.name))
            if not first or not second:
                continue
            x, y = first.micro, second.micro
            if x.value is None or y.value is None:
                continue
            colour = subject.colours[entry.index]
            if x.low is not None and x.high is not None:
                axes.plot([x.low, x.high], [y.value] * 2, color=colour.light, lw=0.9, alpha=0.55)
            if y.low is not None and y.high is not None:
                axes.plot([x.value] * 2, [y.low, y.high], color=colour.light, lw=0.9, alpha=0.55)
            axes.plot(x.value, y.value, marker=colour.mark, color=colour.light, ms=6.5, ls="none")
            points.append((x.value, y.value, plain(entry.name, 22), colour.light))
        if subject.published and across.name == "cp_published":
            points += _published(axes)
        # Intervals may reach farther than the points.
        axes.set_xlim(span([*axes.dataLim.intervalx, *(x for x, *_ in points)], 0, 1))
        axes.set_ylim(span([*axes.dataLim.intervaly, *(y for _, y, *_ in points)], 0, 1))
        axes.set_xlabel(f"{across.label} (outside the ROI stays as it was) →")
        stand_in = ", stand-in" if up.stand_in else ""
        axes.set_ylabel(f"{up.label} (looks real{stand_in}) →")
        bare(axes, grid="both")
        place_labels(axes, points)
        yield made


def _published(axes: Axes) -> list[tuple[float, float, str, str]]:
    table = published_table()
    points = []
    for model in table.models:
        x, y = table.micro(model, "CP"), table.micro(model, "VQ")
        if x is not None and y is not None:
            axes.plot(x, y, marker="o", mfc="none", mec=MUTED.light, mew=1.0, ms=6, ls="none")
            points.append((x, y, model, MUTED.light))
    return points
