"""The headline: each predictor on the pictures as they are and on their edits, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from medebench.analysis.estimate import Estimate
from medebench.page.figure import Sketch
from medebench.page.figure_style import bare, figure, plain
from medebench.page.palette import INK, MUTED, PAPER, Colour
from medebench.stresstest.page.page_facts import PageContext
from medebench.stresstest.page.stress_formats import MEASURES
from medebench.stresstest.stress_outcome import StressOutcome
from medebench.stresstest.stress_verdict import CHANCE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH = 6.2
_ROW, _FINE = 0.5, 0.25


@dataclass(frozen=True)
class _Row:
    label: str
    first: Estimate
    second: Estimate
    colour: str
    fine: bool
    place: float

    @property
    def ink(self) -> str:
        return MUTED.light if self.fine else INK.light


def sketch(outcome: StressOutcome, colours: Mapping[str, Colour], _: PageContext) -> Sketch | None:
    rows = _rows(outcome, colours)
    known = any(q.value is not None for row in rows for q in (row.first, row.second))
    make = partial(_draw, outcome, rows)
    return Sketch("headline", "Original and edited", _caption(outcome), make) if known else None


def _caption(outcome: StressOutcome) -> str:
    if outcome.task == "segmentation":
        text = "Hollow: mean Dice on the pictures before editing; filled: on their edits"
    else:
        text = "Hollow: accuracy on the original test set; filled: on the kept edits"
    text += "; lines: 95 % intervals."
    if outcome.task == "classification":
        text += " Dotted: chance."
    if any(one.kinds for one in outcome.predictors):
        text += " Small: each kind of edit separately."
    return text


def first_set(outcome: StressOutcome) -> str:
    """What the edits are compared with."""
    return "before" if outcome.task == "segmentation" else "original"


def _rows(outcome: StressOutcome, colours: Mapping[str, Colour]) -> list[_Row]:
    found: list[_Row] = []
    place = 0.0
    none = Estimate(None)
    start = first_set(outcome)
    for one in outcome.predictors:
        for kind, table in [(None, one.table), *one.kinds.items()]:
            first = table.get(start, {}).get(outcome.headline, none)  # type: ignore[call-overload]
            second = table.get("edited", {}).get(outcome.headline, none)
            fine = kind is not None
            label = plain((kind or "no kind") if fine else one.name, 26)
            found.append(_Row(label, first, second, colours[one.name].light, fine, place))
            place += _FINE if fine else _FINE + 0.03 if one.kinds else _ROW
        place += 0.12 if one.kinds else 0.0
    return found


@contextmanager
def _draw(outcome: StressOutcome, rows: list[_Row]) -> Iterator[Figure]:
    measure = MEASURES[outcome.headline]
    scale = measure.scale
    left = min(0.36, (0.22 + 0.064 * max(len(row.label) for row in rows)) / _WIDTH)
    right = 0.8
    body = rows[-1].place + 0.46
    height = body + 0.72
    with figure(_WIDTH, height) as made:
        axes = made.add_axes((left, 0.42 / height, right - left, body / height))
        bare(axes)
        low = 0.0
        if outcome.task == "classification":
            axes.axvline(CHANCE * scale, color=MUTED.light, lw=0.9, ls=(0, (1, 2)), zorder=1)
        else:
            low = _floor(rows)
        for row in rows:
            _row(axes, row, scale)
            texts = "  →  ".join(measure.text(one.value) for one in (row.first, row.second))
            look: Any = {
                "fontsize": 7 if row.fine else 8,
                "va": "center",
                "annotation_clip": False,
            }
            look |= {"color": row.ink, "fontweight": "normal" if row.fine else "bold"}
            axes.annotate(texts, (1.03, row.place), xycoords=("axes fraction", "data"), **look)
        axes.set_xlim(low - 0.02 * (scale - low), scale + 0.02 * (scale - low))
        axes.set_ylim(rows[-1].place + 0.23, -0.23)
        axes.set_yticks([row.place for row in rows], [row.label for row in rows])
        for tick, row in zip(axes.get_yticklabels(), rows, strict=True):
            tick.set_fontsize(7 if row.fine else 8)
            tick.set_color(row.ink)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(f"{measure.label}{', ' + measure.unit if measure.unit else ''}")
        for label, face in (("original", PAPER.light), ("edited", INK.light)):
            axes.plot([], [], "o", ms=5, mfc=face, mec=INK.light, label=label, ls="none")
        box = (0.0, 1.0, 1.0, 0.1)
        room: Any = {"borderaxespad": 0.2, "handletextpad": 0.3}
        axes.legend(loc="lower left", bbox_to_anchor=box, ncols=2, columnspacing=1.4, **room)
        yield made


def _floor(rows: list[_Row]) -> float:
    """Dice often lie close together: the axis begins a little below the lowest of them."""
    ends = [
        value
        for row in rows
        for one in (row.first, row.second)
        for value in (one.value, one.interval.low if one.interval else None)
        if value is not None
    ]
    return max(0.0, int(10 * (min(ends) - 0.02)) / 10)


def _row(axes: Axes, row: _Row, scale: float) -> None:
    size, width = (3.8, 1.0) if row.fine else (5.6, 1.5)
    if row.first.value is not None and row.second.value is not None:
        line: Any = {
            "arrowstyle": "-",
            "lw": 2.2 if row.fine else 3.4,
            "shrinkA": 0,
            "shrinkB": 0,
        }
        line |= {"color": row.colour, "alpha": 0.22}
        start = (scale * row.first.value, row.place)
        end = (scale * row.second.value, row.place)
        axes.annotate("", end, xytext=start, arrowprops=line)
    for one, up, hollow in ((row.first, -0.055, True), (row.second, 0.055, False)):
        if one.value is None:
            continue
        place = row.place + (up if not row.fine else up * 0.7)
        if one.interval is not None:
            ends = [scale * end for end in one.interval]
            axes.plot(ends, [place] * 2, color=row.colour, lw=width, solid_capstyle="butt")
        face = PAPER.light if hollow else row.colour
        look: Any = {"ms": size, "mfc": face, "mec": row.colour, "mew": 1.2, "zorder": 3}
        axes.plot(scale * one.value, place, "o", **look)
