"""A figure as a page shows it and a paper takes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from medebench.page.figure_style import inline, save, standalone

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Drawing:
    name: str
    title: str
    caption: str
    svg: str
    inline: str
    pdf: bytes
    #: Shown while this CP leads; empty = always.
    headline: str = ""

    @property
    def wide(self) -> bool:
        """Whether it takes a row of the page for itself."""
        return self.name.startswith(("radar", "failures", "worth"))

    @property
    def width(self) -> int:
        """In points, as the figure was made."""
        found = re.search(r'viewBox="0 0 ([\d.]+) ', self.svg)
        assert found is not None
        return round(float(found[1]))

    def files(self) -> dict[str, str | bytes]:
        """name -> content, beneath the folder of the page."""
        return {f"figures/{self.name}.svg": self.svg, f"figures/{self.name}.pdf": self.pdf}


class Sketch(NamedTuple):
    """A figure to be drawn; `make` gives None where there is nothing to show."""

    name: str
    title: str
    caption: str
    make: Callable[[], AbstractContextManager[Figure] | None]
    headline: str = ""


def draw(sketches: Iterable[Sketch]) -> list[Drawing]:
    """Every sketch that has something to show, in order."""
    return [drawing for one in sketches if (drawing := _draw(one)) is not None]


def _draw(sketch: Sketch) -> Drawing | None:
    context = sketch.make()
    if context is None:
        return None
    with context as made:
        svg, pdf = save(made)
    return of_files(sketch, standalone(svg).encode(), pdf)


def file_name(sketch: Sketch) -> str:
    # A metric may be called anything; a file may not.
    return re.sub(r"[^A-Za-z0-9_-]", "-", sketch.name)


def of_files(sketch: Sketch, svg: bytes, pdf: bytes) -> Drawing:
    """The figure whose files are these."""
    name, text = file_name(sketch), svg.decode()
    label = escape(f"{sketch.title}. {sketch.caption}", quote=True)
    shown = inline(text, name, label)
    return Drawing(name, sketch.title, sketch.caption, text, shown, pdf, sketch.headline)
