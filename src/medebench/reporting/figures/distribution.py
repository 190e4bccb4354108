"""A score case by case, model by model: a mean hides what a strip shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from medebench.analysis.score_frame import case_means, clean_scores
from medebench.page.figure_style import WIDTH, bare, figure, plain, span
from medebench.page.palette import INK
from medebench.page.score_columns import Score
from medebench.reporting.figures.inflation import MANY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from medebench.reporting.figures.draw_report import Subject

_ROW = 0.36


def draw(subject: Subject, score: Score) -> AbstractContextManager[Figure] | None:
    shown = {e.name: e.index for e in subject.material.models or subject.material.entries}
    rows = clean_scores(subject.material.frame).filter(
        (pl.col("metric") == score.name) & pl.col("run").is_in(list(shown))
    )
    means = case_means(rows, ["run"]).sort("case", "run")
    return _draw(subject, score, means, shown) if len(means) else None


@contextmanager
def _draw(
    subject: Subject, score: Score, means: pl.DataFrame, shown: dict[str, int]
) -> Iterator[Figure]:
    runs = [run for run in shown if run in set(means["run"])]
    parts = [means.filter(pl.col("run") == run)["value"].to_numpy() for run in runs]
    names = [f"{plain(run, 24)}  ({len(part):,})" for run, part in zip(runs, parts, strict=True)]
    many = len(means) > MANY
    height = _ROW * len(runs) + 0.5
    with figure(WIDTH, height) as made:
        left = min(0.4, 0.03 + 0.0112 * max(map(len, names)))
        bottom = 0.42 / height
        axes = made.add_axes((left, bottom, 0.98 - left, 1 - bottom - 0.06 / height))
        rng = np.random.default_rng(0)
        for place, (run, values) in enumerate(zip(runs, parts, strict=True)):
            axes.scatter(
                values,
                place + rng.uniform(-0.3, 0.3, len(values)),
                s=4 if many else 8,
                color=subject.colours[shown[run]].light,
                alpha=0.4 if many else 0.7,
                linewidths=0,
                rasterized=many,
            )
            if len(values) >= 5:
                _box(axes, values, place)
        axes.set_yticks(range(len(runs)), names)
        axes.set_ylim(len(runs) - 0.45, -0.55)
        axes.set_xlim(span(np.concatenate(parts), score.low, score.high))
        axes.set_xlabel(score.label + (" (stand-in)" if score.stand_in else ""))
        bare(axes)
        yield made


def _box(axes, values, place: float) -> None:  # type: ignore[no-untyped-def]
    low, first, middle, third, high = np.percentile(values, [5, 25, 50, 75, 95])
    line = {"color": INK.light, "linewidth": 0.8}
    axes.plot([low, first], [place, place], **line)
    axes.plot([third, high], [place, place], **line)
    x = [first, third, third, first, first]
    axes.plot(x, [place - 0.26, place - 0.26, place + 0.26, place + 0.26, place - 0.26], **line)
    axes.plot([middle, middle], [place - 0.26, place + 0.26], color=INK.light, linewidth=1.8)
