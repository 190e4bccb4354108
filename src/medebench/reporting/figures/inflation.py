"""The published CP against the honest one, and what the size of the ROI has to do with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from medebench.page.figure_style import WIDTH, bare, figure
from medebench.page.palette import INK, MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from medebench.reporting.figures.draw_report import Subject

CAPTION = (
    "Every point is one output of any run. The published CP counts the blacked-out ROI as "
    "perfectly preserved, so it rises with the ROI's share of the frame; the line is the median "
    "in each tenth of the ROI shares."
)
#: With more points than this the SVG holds them as one picture.
MANY = 1500
_COLOURS = ("#8ecae6", "#3a8fb7", "#7b5ea7", "#c2416b")
_STEPS = (0.1, 0.25, 0.5)


def draw(subject: Subject) -> AbstractContextManager[Figure] | None:
    found = subject.material.frame.filter(
        pl.col("metric").is_in(["cp", "cp_published"]) & pl.col("value").is_finite()
    )
    if found.is_empty():
        return None
    wide = found.pivot("metric", index=["run", "case", "k"], values="value").drop_nulls()
    if not {"cp", "cp_published"} <= set(wide.columns):
        return None
    shares = pl.Series("share", [subject.shares.get(c) for c in wide["case"]], dtype=pl.Float64)
    wide = wide.with_columns(shares).drop_nulls().sort("run", "case", "k")
    return _draw(wide) if len(wide) >= 3 else None


@contextmanager
def _draw(wide: pl.DataFrame) -> Iterator[Figure]:
    honest, published = wide["cp"].to_numpy(), wide["cp_published"].to_numpy()
    share = wide["share"].to_numpy()
    group = np.searchsorted(_STEPS, share, side="right")
    with figure(WIDTH, 2.8) as made:
        left = made.add_axes((0.09, 0.17, 0.385, 0.72))
        right = made.add_axes((0.595, 0.17, 0.39, 0.72))
        low = min(0.0, float(honest.min()), float(published.min()))
        left.plot([low, 1], [low, 1], color=MUTED.light, linewidth=0.8)
        _points(left, honest, published, group)
        left.set(xlabel="CP", ylabel="CP published", xlim=(low, 1.02), ylim=(low, 1.02))
        left.set_title("Above the line: flattered", loc="left")
        _points(right, share, published - honest, group)
        right.plot(
            *_medians(share, published - honest), color=INK.light, lw=1.4, marker="o", ms=2.5
        )
        right.axhline(0, color=MUTED.light, linewidth=0.8)
        right.set(xlabel="ROI, share of the frame", ylabel="CP published − CP", xlim=(0, 1))
        right.set_title("Inflation by ROI size", loc="left")
        names = ["below 10 %", "10–25 %", "25–50 %", "above 50 %"]
        handles = [
            right.plot([], [], "o", color=colour, ms=4, label=name)[0]
            for colour, name in zip(_COLOURS, names, strict=True)
        ]
        left.legend(
            handles,
            names,
            title="ROI share",
            loc="lower right",
            handletextpad=0.2,
            title_fontsize=7,
        )
        for axes in (left, right):
            bare(axes, grid="both")
        yield made


def _points(axes: Axes, x: np.ndarray, y: np.ndarray, group: np.ndarray) -> None:
    many = len(x) > MANY
    axes.scatter(
        x,
        y,
        s=5 if many else 9,
        c=[_COLOURS[g] for g in group],
        alpha=0.5 if many else 0.75,
        linewidths=0,
        rasterized=many,
    )


def _medians(x: np.ndarray, y: np.ndarray) -> tuple[list[float], list[float]]:
    """Medians of y in tenths of the sorted x; fewer where there are few points."""
    order = np.argsort(x, kind="stable")
    parts = np.array_split(order, max(1, min(10, len(x) // 5)))
    kept = [part for part in parts if len(part)]
    return [float(np.median(x[p])) for p in kept], [float(np.median(y[p])) for p in kept]
