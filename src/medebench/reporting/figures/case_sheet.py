"""Chosen cases as one figure for a paper: images side by side, scores under each output."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from medebench.page.figure_style import figure, plain
from medebench.page.number import listed
from medebench.page.palette import INK, MUTED
from medebench.page.score_columns import STAND_IN, Score
from medebench.page.web_images import shrink
from medebench.reporting.output_grid import CaseGrid, Tile, TileRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Inches: of the figure, of a tile, between tiles, and a line of text of each size.
WIDTH, NARROWEST, WIDEST, GAP, EDGE = 7.0, 0.62, 1.2, 0.05, 0.04
SCORE, SMALL, PROMPT = 6.5, 5.5, 7.0
#: Pixels an inch at most: what a printer shows.
RESOLUTION = 300
#: A tile is at most so many times as high as wide; an answer has so many lines.
_TALLEST, _MOST_LINES = 1.6, 12


def draw(grids: Sequence[CaseGrid], scores: Sequence[Score]) -> AbstractContextManager[Figure]:
    return _Sheet(grids, scores).draw()


def _line(points: float) -> float:
    """The height of a line of text, in inches."""
    return points * 1.28 / 72


def wrapped(text: str, inches: float, points: float, lines: int) -> list[str]:
    """A text in so many lines of this width; the end of a longer one is left out."""
    text = plain(text, len(text) + 1)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text) / max(1, len(text))
    fit = max(4, int(inches * 72 / (points * 0.585 * (1 + wide))))
    # Names of models and files break at their joints.
    jointed = re.sub(r"(?<=[_/])(?=\w)", "\0 ", text)
    found = textwrap.wrap(jointed, fit, max_lines=lines, placeholder=" …")
    return [re.sub("\0 ?", "", line) for line in found] or [""]


def notes(grids: Sequence[CaseGrid], scores: Sequence[Score]) -> list[str]:
    """What a reader must know to read the figure."""
    tiles = [tile for grid in grids for tile in grid.tiles]
    found = []
    if any(tile.roi is not None for grid in grids for _, tile in grid.leads):
        found.append("Outline: region of interest.")
    if any(any(tile.best) for tile in tiles):
        aside = ", controls aside" if any(tile.aside for tile in tiles) else ""
        found.append(f"Bold: best of its case{aside}.")
    if any(tile.chosen for tile in tiles):
        found.append("Framed: the setting that was chosen on all cases of the sweep.")
    if any(score.stand_in for score in scores):
        found.append(f"*: {STAND_IN}.")
    if missing := sorted({why for tile in tiles for why in tile.unscored}):
        found.append(f"–: no score ({listed(missing)}).")
    return found


@dataclass(frozen=True)
class _Sheet:
    grids: Sequence[CaseGrid]
    scores: Sequence[Score]

    @contextmanager
    def draw(self) -> Iterator[Figure]:
        below = wrapped(" ".join(notes(self.grids, self.scores)), self.width, SMALL, 12)
        heights = [self._height(grid) for grid in self.grids]
        height = sum(heights) + 0.14 + len(below) * _line(SMALL) + self._heads_height()
        with figure(self.width, height) as made:
            pen = _Pen(made, self.width, height, EDGE)
            shown: tuple[str, ...] | None = None
            for grid in self.grids:
                self._draw(pen, grid, shown)
                shown = grid.rows[-1].heads
            pen.lines(EDGE, pen.y + 0.06, below, SMALL, color=MUTED.light)
            yield made

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the images and texts of the cases are called: a column each."""
        return tuple(dict.fromkeys(name for grid in self.grids for name, _ in grid.leads))

    @property
    def leads(self) -> int:
        return len(self.names)

    @property
    def columns(self) -> int:
        return self.leads + max(len(row.tiles) for grid in self.grids for row in grid.rows)

    @property
    def gutter(self) -> float:
        """Room for the names of rows, between the case and its outputs."""
        longest = max((len(row.label) for grid in self.grids for row in grid.rows), default=0)
        return min(1.1, 0.1 + longest * SCORE * 0.6 / 72) if longest else 0.0

    @property
    def tile(self) -> float:
        room = WIDTH - 2 * EDGE - self.gutter - GAP * (self.columns - 1)
        return min(WIDEST, max(NARROWEST, room / self.columns))

    @property
    def width(self) -> float:
        tiles = self.columns * self.tile + (self.columns - 1) * GAP
        # Short notes would be a column of single words beneath a single tile.
        return max(2.4, 2 * EDGE + self.gutter + tiles)

    def _x(self, column: int) -> float:
        after = self.gutter if column >= self.leads else 0.0
        return EDGE + after + column * (self.tile + GAP)

    def _aspect(self, grid: CaseGrid) -> float:
        """Of the box of an image: all outputs lie on the grid of the input."""
        tiles = [*grid.tiles, *(tile for _, tile in grid.leads)]
        found = [t.image.shape[0] / t.image.shape[1] for t in tiles if t.image is not None]
        return min(_TALLEST, max(found, default=0.0))

    def _boxes(self, grid: CaseGrid, row: TileRow, first: bool) -> tuple[float, float]:
        """The heights of images and of texts beneath them."""
        tiles = [*row.tiles, *(tile for _, tile in grid.leads if first)]
        image = self.tile * self._aspect(grid)
        reasons = [len(self._reason(tile)) for tile in tiles if tile.reason]
        alone = [len(self._text(tile)) for tile in tiles if tile.text and tile.image is None]
        for lines in (max(reasons, default=0), max(alone, default=0)):
            image = max(image, lines * _line(SMALL) + 0.06 * bool(lines))
        under = [len(self._text(tile)) for tile in tiles if tile.text and tile.image is not None]
        return image, max(under, default=0) * _line(SMALL) + 0.05 * bool(under)

    def _text(self, tile: Tile) -> list[str]:
        return wrapped(tile.text, self.tile - 0.06, SMALL, _MOST_LINES)

    def _reason(self, tile: Tile) -> list[str]:
        text = re.sub(r"^(no output: )?(\S+\.\w+: )?", "", tile.reason)
        return wrapped(text, self.tile - 0.08, SMALL, 6)

    def _heads(self, names: Sequence[str]) -> list[list[str]]:
        return [wrapped(name, self.tile + GAP, SCORE * 1.08, 3) for name in names]

    def _row_heads(
        self, row: TileRow, shown: tuple[str, ...] | None
    ) -> list[tuple[int, list[str]]]:
        """By column, the heads that do not stand above already; None where nothing does."""
        found = list(enumerate(self._heads(self.names))) if shown is None else []
        if row.heads != shown:
            found += enumerate(self._heads(row.heads), self.leads)
        return found

    def _heads_height(self) -> float:
        total, shown = 0.0, None
        for row in (row for grid in self.grids for row in grid.rows):
            total += self._tallest(self._row_heads(row, shown))
            shown = row.heads
        return total

    def _tallest(self, heads: list[tuple[int, list[str]]]) -> float:
        return max((len(one) for _, one in heads), default=0) * _line(SCORE) + 0.04 * bool(heads)

    def _prompt(self, grid: CaseGrid) -> list[str]:
        return wrapped(f"{grid.case} · {grid.prompt}", self.width - 2 * EDGE, PROMPT, 2)

    def _height(self, grid: CaseGrid) -> float:
        rows = sum(
            sum(self._boxes(grid, row, row is grid.rows[0])) + self._under for row in grid.rows
        )
        return rows + len(self._prompt(grid)) * _line(PROMPT) + 0.09

    @property
    def _under(self) -> float:
        return 0.03 + len(self.scores) * _line(SCORE) + 0.05

    def _draw(self, pen: _Pen, grid: CaseGrid, shown: tuple[str, ...] | None) -> None:
        for number, row in enumerate(grid.rows):
            heads, shown = self._row_heads(row, shown), row.heads
            tallest = self._tallest(heads)
            for column, lines in heads:
                top = pen.y + tallest - 0.04 - len(lines) * _line(SCORE)
                middle = self._x(column) + self.tile / 2
                pen.lines(middle, top, lines, SCORE, ha="center", weight="bold")
            pen.y += tallest
            if number == 0:
                prompt = self._prompt(grid)
                pen.lines(EDGE, pen.y + 0.03, prompt, PROMPT)
                pen.y += 0.05 + len(prompt) * _line(PROMPT)
            self._draw_row(pen, grid, row, number == 0)
        pen.y += 0.04

    def _draw_row(self, pen: _Pen, grid: CaseGrid, row: TileRow, first: bool) -> None:
        image, text = self._boxes(grid, row, first)
        for name, tile in grid.leads if first else ():
            self._draw_tile(pen, tile, self._x(self.names.index(name)), image, text)
        left = self._x(self.leads)
        if row.label:
            words = wrapped(row.label, self.gutter, SCORE, 4)
            top = pen.y + (image + text - len(words) * _line(SCORE)) / 2
            pen.lines(left - 0.06, top, words, SCORE, ha="right", weight="bold")
        for column, tile in enumerate(row.tiles, self.leads):
            self._draw_tile(pen, tile, self._x(column), image, text)
        pen.y += image + text + 0.03
        for place, score in enumerate(self.scores):
            arrow = {"higher": " ↑", "lower": " ↓"}.get(score.better, "")
            label = plain(score.label, 26) + ("*" if score.stand_in else "") + arrow
            pen.lines(left - 0.06, pen.y, [label], SCORE, ha="right", color=MUTED.light)
            for column, tile in enumerate(row.tiles, self.leads):
                middle = self._x(column) + self.tile / 2
                bold = bool(tile.best) and tile.best[place]
                weight = "bold" if bold else "normal"
                pen.lines(middle, pen.y, [tile.scores[place]], SCORE, ha="center", weight=weight)
            pen.y += _line(SCORE)
        pen.y += 0.05

    def _draw_tile(self, pen: _Pen, tile: Tile, x: float, image: float, text: float) -> None:
        if tile.image is not None:
            pen.image(tile, x, self.tile, image)
        elif tile.reason:
            height = image + text
            pen.frame(x, self.tile, height, color=MUTED.light, linewidth=0.6, linestyle=(0, (3, 2)))
            lines = self._reason(tile)
            top = pen.y + (height - len(lines) * _line(SMALL)) / 2
            middle = x + self.tile / 2
            pen.lines(middle, top, lines, SMALL, ha="center", color=MUTED.light, style="italic")
        if tile.text:
            above = image if tile.image is not None else 0.0
            if tile.image is None:
                pen.frame(x, self.tile, image + text, color=MUTED.light, linewidth=0.4)
            pen.lines(x + 0.04, pen.y + above + 0.025, self._text(tile), SMALL)
        if tile.chosen:
            pen.frame(x, self.tile, image + text, color=INK.light, linewidth=1.8)


@dataclass
class _Pen:
    """Writes into a figure in inches from its top left corner; `y` is where it stands."""

    made: Figure
    width: float
    height: float
    y: float = 0.0

    def lines(self, x: float, y: float, lines: Sequence[str], points: float, **how: Any) -> None:
        for number, text in enumerate(lines):
            top = 1 - (y + number * _line(points)) / self.height
            self.made.text(x / self.width, top, text, va="top", fontsize=points, **how)

    def frame(self, x: float, width: float, height: float, **how: Any) -> None:
        from matplotlib.patches import Rectangle

        low = 1 - (self.y + height) / self.height
        box = (x / self.width, low), width / self.width, height / self.height
        self.made.add_artist(Rectangle(*box, fill=False, **how))

    def image(self, tile: Tile, x: float, width: float, height: float) -> None:
        assert tile.image is not None
        rows, columns = tile.image.shape[:2]
        scale = min(width / columns, height / rows)
        wide, high = columns * scale, rows * scale
        low = 1 - (self.y + high) / self.height
        place = ((x + (width - wide) / 2) / self.width, low, wide / self.width, high / self.height)
        axes = self.made.add_axes(place)
        axes.axis("off")
        shown = shrink(tile.image, max(1, round(RESOLUTION * max(wide, high))))
        axes.imshow(shown, extent=(0, columns, rows, 0), interpolation="none", aspect="auto")
        for line in _borders(tile.roi):
            axes.plot(*line, color="#000", lw=1.5, alpha=0.65, solid_joinstyle="round")
            axes.plot(*line, color="#5ff", lw=0.8, solid_joinstyle="round")
        axes.set(xlim=(0, columns), ylim=(rows, 0))


def _borders(roi: Any) -> Iterator[tuple[Any, Any]]:
    if roi is None:
        return
    found, _ = cv2.findContours(roi.astype(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_TC89_KCOS)
    for contour in found:
        closed = np.concatenate([contour[:, 0], contour[:1, 0]]) + 0.5
        yield closed[:, 0], closed[:, 1]
