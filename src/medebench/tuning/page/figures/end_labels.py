"""Names at the ends of lines, in the margin to the right, moved until none lies on another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = 6.8
#: Points from one line of text to the next.
_APART = 8.2
_BESIDE = 11.0
_FAR = 30.0


class EndLabel(NamedTuple):
    x: float
    y: float
    text: str
    colour: str
    bold: bool = False


def place_end_labels(axes: Axes, labels: Sequence[EndLabel]) -> None:
    """Each as near to the end of its line as the others let it be; a hair leads there."""
    if not labels:
        return
    scale = 72 / axes.figure.dpi
    frame = axes.get_window_extent()
    edge, low, high = frame.x1 * scale, frame.y0 * scale, frame.y1 * scale
    ordered = sorted(labels, key=lambda one: one.y)
    ends = [axes.transData.transform((one.x, one.y)) * scale for one in ordered]
    places = spread([min(max(y, low), high) for _, y in ends], _APART, low, high)
    for one, (x, y), place in zip(ordered, ends, places, strict=True):
        start, up = edge - x, place - y
        axes.annotate(
            one.text,
            (one.x, one.y),
            xytext=(start + _BESIDE, up - 2.4),
            textcoords="offset points",
            fontsize=_SIZE,
            fontweight="bold" if one.bold else "normal",
            color=one.colour,
            annotation_clip=False,
        )
        axes.annotate(
            "",
            (one.x, one.y),
            xytext=(start + _BESIDE - 1.5, up),
            textcoords="offset points",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-", "lw": 0.5, "color": one.colour, "shrinkA": 0, "shrinkB": 3,
                # A line that ends early must not seem to go on.
                "ls": (0, (1, 2.5)) if start > _FAR else "-",
            },
        )  # fmt: skip


def spread(places: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    """Rising places, moved as little as need be until `apart`; within the ends if they fit.

    >>> spread([1.0, 1.0, 9.0], 2.0, 0.0, 10.0)
    [0.0, 2.0, 9.0]
    """
    groups = [[place, 1.0] for place in places]  # of neighbours: the middle, and how many
    merged: list[list[float]] = []
    for middle, count in groups:
        merged.append([middle, count])
        while len(merged) > 1 and _touch(merged[-2], merged[-1], apart):
            (first, n), (second, m) = merged[-2:]
            merged[-2:] = [[(first * n + second * m) / (n + m), n + m]]
    found = []
    for middle, count in merged:
        half = apart * (count - 1) / 2
        middle = min(max(middle, low + half), high - half)
        found += [middle - half + apart * i for i in range(int(count))]
    # Pushed in from an end, a group may touch the next one.
    for i in range(1, len(found)):
        found[i] = max(found[i], found[i - 1] + apart)
    return found


def _touch(first: list[float], second: list[float], apart: float) -> bool:
    return second[0] - first[0] < apart * (first[1] + second[1]) / 2
