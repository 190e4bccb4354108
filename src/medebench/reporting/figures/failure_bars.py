"""Types of failure as stacked bars: a row for each editor, and one for each organ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from medebench.grounding import FAILURE_TYPES
from medebench.page.figure_style import figure, plain
from medebench.page.palette import MUTED, TYPE_INK, TYPES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from medebench.reporting.diagnosis import Diagnosis, Profile

WIDTH = 7.6
_ROW = 0.24
#: A count is written into a part of a bar that is at least this share of it.
_ROOM = 0.055


def draw(diagnosis: Diagnosis) -> AbstractContextManager[Figure] | None:
    return _draw(diagnosis) if diagnosis.everything.known else None


@contextmanager
def _draw(diagnosis: Diagnosis) -> Iterator[Figure]:
    panels: list[tuple[str, Sequence[Profile]]] = [("By editor", diagnosis.profiles)]
    if len(diagnosis.organs) > 1:
        only = any(p.entry and p.entry.control for p in diagnosis.profiles)
        models = any(p.entry and not p.entry.control for p in diagnosis.profiles)
        panels.append(
            ("By organ, models only" if only and models else "By organ", diagnosis.organs)
        )
    bars = max(_height(rows) for _, rows in panels)
    legend, title = 0.5, 0.3
    height = bars + legend + title
    with figure(WIDTH, height) as made:
        x, gap = 0.0, 0.035
        width = (1 - gap * (len(panels) - 1)) / len(panels)
        for name, rows in panels:
            labels = [plain(one.name, 24) for one in rows]
            left = min(0.2, 0.012 + 0.0085 * max(map(len, labels)))
            bottom = (legend + bars - _height(rows)) / height
            place = (x + left, bottom, width - left - 0.035, _height(rows) / height)
            axes = made.add_axes(place)
            _panel(axes, rows, labels)
            axes.set_title(name, loc="left")
            x += width + gap
        handles = [made.axes[0].barh(0, 0, color=colour)[0] for colour in TYPES.values()]
        made.legend(
            handles,
            list(FAILURE_TYPES.values()),
            loc="lower center",
            ncols=6,
            handlelength=1.0,
            handleheight=0.9,
            columnspacing=1.1,
            handletextpad=0.4,
            fontsize=7,
        )
        yield made


def _panel(axes: Axes, rows: Sequence[Profile], labels: list[str]) -> None:
    places = _places(rows)
    for place, one in zip(places, rows, strict=True):
        start = 0.0
        for kind in FAILURE_TYPES:
            share = one.share(kind) or 0.0
            if share:
                axes.barh(place, share, left=start, height=0.74, color=TYPES[kind], linewidth=0)
            if share >= _ROOM:
                axes.text(
                    start + share / 2,
                    place,
                    str(one.counts[kind]),
                    ha="center",
                    va="center_baseline",
                    color=TYPE_INK,
                    fontsize=7,
                )
            start += share
        axes.text(1.02, place, str(one.known), va="center_baseline", fontsize=7, color=MUTED.light)
    axes.set_yticks(places, labels)
    axes.set_ylim(max(places) + 0.6, -0.6)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.5, 1.0], ["0", "50 %", "100 %"])
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)


def _height(rows: Sequence[Profile]) -> float:
    return _ROW * (max(_places(rows)) + 1.2)


def _places(rows: Sequence[Profile]) -> list[float]:
    """Rows from the top, with a gap between models and controls."""
    kinds = [bool(one.entry and one.entry.control) for one in rows]
    gap = 0.5 if len(set(kinds)) > 1 else 0.0
    return [i + (gap if control else 0.0) for i, control in enumerate(kinds)]
