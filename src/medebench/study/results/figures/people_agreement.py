"""How far people agree: a row a dimension, three measures, and each pair of annotators."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from medebench.analysis.published_tables import published_worth
from medebench.page.figure_style import bare, figure, plain
from medebench.page.palette import INK, MUTED
from medebench.study.results.figures.grid import LONGEST
from medebench.study.results.published_rows import between_people
from medebench.study.results.results_model import DimensionResults, StudyResults

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MEASURES = (
    ("spearman", "Spearman’s ρ", "o"),
    ("kendall", "Kendall’s τ-b", "s"),
    ("alpha", "Krippendorff’s α", "^"),
)
_WIDTH = 5.6


def draw(results: StudyResults) -> AbstractContextManager[Figure] | None:
    shown = [one for one in results.dimensions if one.agreement.spearman.value is not None]
    return _draw(results, shown) if shown else None


def caption(results: StudyResults) -> str:
    text = (
        "Agreement of two annotators on the same case, mean over pairs and cases, with 95 % "
        f"intervals over {results.unit}s."
    )
    if any(len(one.agreement.pairs) > 1 for one in results.dimensions):
        text += " Ticks: ρ of each pair of annotators."
    if any(between_people(results, one.key) is not None for one in results.dimensions):
        paper = published_worth()
        text += (
            f" Dotted: ρ of the paper’s {paper.people} annotators ({paper.between_people}), "
            f"another study, {paper.doubt_brief}."
        )
    return text


@contextmanager
def _draw(results: StudyResults, shown: list[DimensionResults]) -> Iterator[Figure]:
    labels = [plain(one.name, LONGEST) for one in shown]
    left = min(0.42, (0.26 + 0.061 * max(map(len, labels))) / _WIDTH)
    body = 0.46 * len(shown) + 0.1
    height = body + 0.85
    with figure(_WIDTH, height) as made:
        axes = made.add_axes((left, 0.75 / height, 0.97 - left, body / height))
        bare(axes)
        least = 0.0
        for place, dimension in enumerate(shown):
            least = min(least, _row(axes, place, dimension))
            printed = between_people(results, dimension.key)
            if printed is not None:
                ends = [place - 0.42, place + 0.42]
                axes.plot([printed, printed], ends, color=INK.light, lw=1.1, ls=(0, (1, 1.5)))
        axes.set_xlim(-0.02 if least >= 0 else max(-1.02, least - 0.05), 1.02)
        axes.set_yticks(range(len(shown)), labels)
        axes.set_ylim(len(shown) - 0.45, -0.55)
        axes.tick_params(axis="y", length=0)
        # An empty line for each measure, so that the legend does not depend on what was found.
        for _, label, mark in _MEASURES:
            axes.plot([], [], marker=mark, ms=4.4, color=_colour(mark), label=label, lw=1.3)
        middle = (left + (0.97 - left) / 2, 0.0)
        made.legend(loc="lower center", ncols=3, bbox_to_anchor=middle, handlelength=1.6)
        axes.set_xlabel("agreement")
        yield made


def _row(axes: Axes, place: int, dimension: DimensionResults) -> float:
    """Draw one dimension; the lowest end of what was drawn."""
    found = dimension.agreement
    low = 0.0
    if len(found.pairs) > 1:
        for pair in found.pairs.values():
            if pair.value is not None:
                low = min(low, pair.value)
                ends = [place - 0.36, place - 0.12]
                axes.plot([pair.value] * 2, ends, color=MUTED.light, lw=0.8, zorder=1)
    for offset, (name, _, mark) in zip((-0.24, 0.0, 0.24), _MEASURES, strict=True):
        one = getattr(found, name)
        if one.value is None:
            continue
        if one.interval is not None:
            low = min(low, one.interval.low)
            axes.plot(list(one.interval), [place + offset] * 2, color=_colour(mark), lw=1.3)
        low = min(low, one.value)
        axes.plot(one.value, place + offset, marker=mark, ms=4.4, color=_colour(mark), ls="none")
    return low


def _colour(mark: str) -> str:
    return INK.light if mark == "o" else MUTED.light
