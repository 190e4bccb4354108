"""A score case by case, group by group: a mean hides what a strip shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from medebench.analysis.score_frame import case_means, clean_scores
from medebench.page.figure_style import WIDTH, bare, figure, legend_columns, plain
from medebench.page.palette import INK
from medebench.page.score_columns import Score
from medebench.reporting.figures.inflation import MANY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from medebench.reporting.figures.draw_report import Subject

_ROW = 0.3


def draw(subject: Subject, score: Score) -> AbstractContextManager[Figure] | None:
    shown = {e.name: e.index for e in subject.material.models or subject.material.entries}
    rows = clean_scores(subject.material.frame).filter(
        (pl.col("metric") == score.name) & pl.col("run").is_in(list(shown))
    )
    means = case_means(rows, ["run"]).sort("group", "case", "run")
    return _draw(subject, score, means, shown) if len(means) else None


@contextmanager
def _draw(
    subject: Subject, score: Score, means: pl.DataFrame, shown: dict[str, int]
) -> Iterator[Figure]:
    groups = sorted(
        means.partition_by("group", maintain_order=True),
        key=lambda part: (-float(np.median(part["value"].to_numpy())), part["group"][0]),
    )
    names = [f"{plain(part['group'][0], 24)}  ({part['case'].n_unique()})" for part in groups]
    many = len(means) > MANY
    labels = [plain(name, 24) for name in shown]
    columns = legend_columns(labels, WIDTH)
    legend_rows = -(-len(shown) // columns)
    height = _ROW * len(groups) + 0.55 + 0.2 * legend_rows
    with figure(WIDTH, height) as made:
        left = min(0.4, 0.03 + 0.0112 * max(map(len, names)))
        bottom = (0.42 + 0.2 * legend_rows) / height
        axes = made.add_axes((left, bottom, 0.98 - left, 1 - bottom - 0.06 / height))
        rng = np.random.default_rng(0)
        for place, part in enumerate(groups):
            values = part["value"].to_numpy()
            jitter = rng.uniform(-0.3, 0.3, len(values))
            axes.scatter(
                values,
                place + jitter,
                s=4 if many else 8,
                c=[subject.colours[shown[run]].light for run in part["run"]],
                alpha=0.4 if many else 0.7,
                linewidths=0,
                rasterized=many,
            )
            if len(values) >= 5:
                _box(axes, values, place)
        axes.set_yticks(range(len(groups)), names)
        axes.set_ylim(len(groups) - 0.45, -0.55)
        low = min(0.0, float(means["value"].to_numpy().min()))
        axes.set_xlim(low, 1.01 if score.high <= 1 else None)
        axes.set_xlabel(score.label + (" (stand-in)" if score.stand_in else ""))
        bare(axes)
        handles = [
            axes.plot([], [], "o", color=subject.colours[index].light, ms=4)[0]
            for index in shown.values()
        ]
        made.legend(handles, labels, loc="lower center", ncols=columns, handletextpad=0.2)
        yield made


def _box(axes, values, place: float) -> None:  # type: ignore[no-untyped-def]
    low, first, middle, third, high = np.percentile(values, [5, 25, 50, 75, 95])
    line = {"color": INK.light, "linewidth": 0.8}
    axes.plot([low, first], [place, place], **line)
    axes.plot([third, high], [place, place], **line)
    x = [first, third, third, first, first]
    axes.plot(x, [place - 0.26, place - 0.26, place + 0.26, place + 0.26, place - 0.26], **line)
    axes.plot([middle, middle], [place - 0.26, place + 0.26], color=INK.light, linewidth=1.8)
