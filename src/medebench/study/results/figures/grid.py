"""Panels side by side, one a dimension, that share their rows."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from medebench.page.figure_style import figure, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 7.2
#: Names longer than this lose their middle.
LONGEST = 32
_ROW, _TITLE, _BELOW = 0.205, 0.34, 0.46


@contextmanager
def panels(titles: Sequence[str], labels: Sequence[str]) -> Iterator[tuple[Figure, list[Axes]]]:
    """An axes for each title, at most three in a row, each with the labels as its rows."""
    columns = max(1, min(3, len(titles)))
    lines = -(-len(titles) // columns)
    shown = [plain(label, LONGEST) for label in labels]
    # 7.5 points of a sans serif, measured generously; dots and ticks need a little beside it.
    left = min(0.4, (0.26 + 0.061 * max(map(len, shown), default=1)) / WIDTH)
    # A single panel across the page would only be empty space between its dots.
    width = WIDTH if columns > 1 else min(WIDTH, left * WIDTH + 3.6)
    left *= WIDTH / width
    right, gap = 1 - 0.36 / width, 0.5 / width
    room = (right - left - gap * (columns - 1)) / columns
    heads = [_wrapped(title, (room + gap) * width) for title in titles]
    above = _TITLE + 0.14 * max(head.count("\n") for head in heads)
    body = _ROW * (len(labels) + 0.5)
    line = above + body + _BELOW
    height = line * lines
    with figure(width, height) as made:
        found = []
        for place, head in enumerate(heads):
            row, column = divmod(place, columns)
            bottom = (height - line * row - above - body) / height
            box = (left + column * (room + gap), bottom, room, body / height)
            axes = made.add_axes(box)
            axes.set_title(head, loc="left", linespacing=1.1)
            places = range(len(labels))
            axes.set_yticks(places, shown if column == 0 else [""] * len(labels))
            axes.set_ylim(len(labels) - 0.25, -0.75)
            axes.tick_params(axis="y", length=0)
            found.append(axes)
        yield made, found


def _wrapped(title: str, inches: float) -> str:
    """A title on two lines at most, so that it does not run into its neighbour's."""
    # Bold, 8.5 points: about 5.6 points a letter.
    fit = max(8, int(inches * 72 / 5.6))
    lines = textwrap.wrap(plain(title, 2 * fit - 2), fit)
    return "\n".join(lines[:2]) or " "


def value_at_end(axes: Axes, place: float, text: str, colour: str) -> None:
    """The number of a row, right of the panel, where no dot and no line is."""
    where: Any = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    look: Any = {"ha": "right", "va": "center_baseline", "fontsize": 7, "color": colour}
    axes.annotate(text, (1, place), xytext=(25, 0), **where, **look, annotation_clip=False)
