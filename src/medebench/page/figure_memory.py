"""Figures of the earlier page in the same folder: drawn again only if what they show changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from medebench.files import sha256
from medebench.page.figure import Drawing, Sketch, draw, file_name, of_files
from medebench.page.page_folder import Folder


class FigureMemory:
    """Which figures lie in the folder, by name: what they were drawn from, and their hashes."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        earlier = folder.facts.get("figures")
        self._earlier: dict[str, Any] = earlier if isinstance(earlier, dict) else {}
        self._now: dict[str, list[str]] = {}

    @property
    def facts(self) -> dict[str, Any]:
        """For the folder to remember."""
        return {"figures": self._now}

    def draw(self, sketches: Iterable[Sketch], key: str) -> list[Drawing]:
        """Every sketch that has something to show; `key` is that of all they are drawn from."""
        found = [self._draw(sketch, key) for sketch in sketches]
        return [drawing for drawing in found if drawing is not None]

    def _draw(self, sketch: Sketch, key: str) -> Drawing | None:
        name = file_name(sketch)
        known = self._earlier.get(name)
        if known == [key]:
            self._now[name] = [key]
            return None
        if files := self._files(name, key, known):
            self._now[name] = [key, *map(sha256, files)]
            return of_files(sketch, *files)
        drawing = next(iter(draw([sketch])), None)
        hashes = [] if drawing is None else [sha256(drawing.svg.encode()), sha256(drawing.pdf)]
        self._now[name] = [key, *hashes]
        return drawing

    def _files(self, name: str, key: str, known: object) -> tuple[bytes, bytes] | None:
        """SVG and PDF as they were drawn; None where there are none, or where somebody was at
        them.
        """
        if not isinstance(known, list) or known[:1] != [key]:
            return None
        try:
            svg, pdf = (
                (self._folder.path / "figures" / f"{name}.{ending}").read_bytes()
                for ending in ("svg", "pdf")
            )
        except OSError:
            return None
        return (svg, pdf) if known[1:] == [sha256(svg), sha256(pdf)] else None
