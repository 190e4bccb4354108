"""Bars with intervals: a panel for each dimension, a bar for each run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from medebench.analysis.estimate import Estimate
from medebench.page.figure_style import WIDTH, bare, figure, plain
from medebench.page.palette import INK, MUTED
from medebench.page.score_columns import Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from medebench.reporting.figures.draw_report import Subject

_ROW = 0.235


def draw(subject: Subject, scores: list[Score]) -> AbstractContextManager[Figure] | None:
    return _draw(subject, scores) if scores else None


@contextmanager
def _draw(subject: Subject, scores: list[Score]) -> Iterator[Figure]:
    entries = subject.material.entries
    places = _places(subject)
    height = _ROW * (max(places) + 1)
    with figure(WIDTH, height + 0.75) as made:
        names = [plain(entry.name, 24) for entry in entries]
        left = min(0.34, 0.03 + 0.0112 * max(map(len, names)))
        panels = made.subplots(
            1,
            len(scores),
            sharey=True,
            squeeze=False,
            gridspec_kw={
                "left": left,
                "right": 0.985,
                "bottom": 0.36 / (height + 0.75),
                "top": 1 - 0.34 / (height + 0.75),
                "wspace": 0.12,
            },
        )[0]
        for axes, score in zip(panels, scores, strict=True):
            _panel(subject, axes, score, places)
        panels[0].set_yticks(places, names)
        panels[0].set_ylim(max(places) + 0.6, -0.6)
        yield made


def _places(subject: Subject) -> list[float]:
    """Rows from the top, with a gap between models and controls."""
    gap = 0.6 if subject.material.models and subject.material.controls else 0.0
    return [e.index + (gap if e.control else 0.0) for e in subject.material.entries]


def _panel(subject: Subject, axes: Axes, score: Score, places: list[float]) -> None:
    low = high = 0.0
    for entry, place in zip(subject.material.entries, places, strict=True):
        found = subject.statistics.overall.get((subject.material.basis, entry.name, score.name))
        colour = subject.colours[entry.index].light
        one = found.of(subject.material.mean) if found else Estimate()
        if one.value is None:
            axes.text(0.02, place, "no score", va="center", color=MUTED.light, fontsize=7)
            continue
        axes.barh(
            place,
            one.value,
            height=0.62,
            color="none" if entry.control else colour,
            edgecolor=colour,
            linewidth=0.8,
            hatch="/////" if entry.control else None,
            alpha=None if entry.control else 0.82,
        )
        if one.low is not None and one.high is not None:
            axes.plot([one.low, one.high], [place, place], color=INK.light, linewidth=1.1)
            low, high = min(low, one.low), max(high, one.high)
        low, high = min(low, one.value), max(high, one.value)
    short = score.high <= 1
    axes.set_xlim(low, 1.0 if short else 1.05 * high)
    axes.set_title(score.label + (" (stand-in)" if score.stand_in else ""), loc="left")
    if short:
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1.0], ["0", "", "0.5", "", "1"])
    axes.tick_params(axis="y", length=0)
    bare(axes)
    axes.axvline(0, color=MUTED.light, linewidth=0.8)
