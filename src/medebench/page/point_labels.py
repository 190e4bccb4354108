"""Names beside points, moved until they do not lie on one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = 7.0
#: Where a label may go, in points from its point: (x, y, alignment), best first.
_SPOTS = [
    (7.0, -2.5, "left"),
    (-7.0, -2.5, "right"),
    (0.0, 7.0, "center"),
    (0.0, -13.0, "center"),
    (7.0, 5.0, "left"),
    (7.0, -10.0, "left"),
    (-7.0, 5.0, "right"),
    (-7.0, -10.0, "right"),
    *(
        (x, y, side)
        for y in (14.0, -19.0, 23.0, -28.0, 32.0)
        for x, side in ((7.0, "left"), (-7.0, "right"))
    ),
]
#: A label nearer than this to another point could be taken for that one's, in points.
_CLEAR = 7.0
Box = tuple[float, float, float, float]


def place_labels(axes: Axes, points: list[tuple[float, float, str, str]]) -> None:
    """Label (x, y, text, colour) points, each at the free spot nearest to it."""
    figure = axes.figure
    scale = 72 / figure.dpi
    place = [tuple(c * scale for c in axes.transData.transform(p[:2])) for p in points]
    frame = axes.get_window_extent()
    right, bottom, top = frame.x1 * scale + 4, frame.y0 * scale, frame.y1 * scale
    taken: list[Box] = []
    for number, ((x, y), (px, py, text, colour)) in enumerate(zip(place, points, strict=True)):
        width = 0.6 * _SIZE * len(text)
        others = [
            (a - _CLEAR, b - _CLEAR, a + _CLEAR, b + _CLEAR)
            for i, (a, b) in enumerate(place)
            if i != number
        ]
        options = []
        for rank, (dx, dy, align) in enumerate(_SPOTS):
            left = x + dx - width * {"left": 0.0, "center": 0.5, "right": 1.0}[align]
            box = (left, y + dy - 1, left + width, y + dy + _SIZE)
            outside = max(0.0, box[2] - right, bottom - box[1], box[3] - top, -box[0])
            hidden = sum(_overlap(box, other) for other in [*taken, *others])
            options.append((hidden + 20 * outside, rank, box))
        _, rank, box = min(options)
        taken.append(box)
        dx, dy, align = _SPOTS[rank]
        axes.annotate(
            text,
            (px, py),
            xytext=(dx, dy),
            textcoords="offset points",
            ha=align,
            fontsize=_SIZE,
            color=colour,
            arrowprops={"arrowstyle": "-", "lw": 0.4, "color": colour, "shrinkA": 0, "shrinkB": 2}
            if abs(dy) > 10
            else None,
        )


def _overlap(first: Box, second: Box) -> float:
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    return width * height if width > 0 and height > 0 else 0.0
