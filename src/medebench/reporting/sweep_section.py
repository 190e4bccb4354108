"""What the settings of a sweep do to a case: a grid of outputs per case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from medebench.errors import MedebenchError
from medebench.files import sha256
from medebench.images.outline import outlined
from medebench.images.picture import resize_mask
from medebench.page.image_packs import natural
from medebench.page.number import listed
from medebench.page.score_columns import Score
from medebench.page.section import Section, link
from medebench.page.web_images import shrink, webp
from medebench.reporting.collect import Entry, collect
from medebench.reporting.contents import Contents
from medebench.reporting.output_grid import CaseGrid, Grids, Tile
from medebench.reporting.sweeps import chosen_of, deciding, sweep_of
from medebench.settings import in_words

ID = "settings"
#: Cases of a sweep and images of them all: a sweep of a hundred settings must not be the page.
MOST_CASES, MOST_IMAGES = 24, 600
#: Pixels of the longer side.
SIDE = 224


class File(NamedTuple):
    """An image beside the page."""

    name: str
    data: bytes
    width: int
    height: int

    @property
    def source(self) -> str:
        return link(ID, self.name)


@dataclass(frozen=True)
class SweepView:
    name: str
    settings: int
    #: Whether the reported run was made with the chosen one, on other cases.
    apart: bool
    #: Cases of the sweep; those in `grids` are the ones on which its settings differ most.
    cases: int = 0
    chosen: str = ""
    score: Score | None = None
    grids: tuple[CaseGrid, ...] = ()
    trouble: str = ""

    def tiles(self) -> Iterator[Tile]:
        for grid in self.grids:
            yield from (tile for _, tile in grid.leads)
            yield from grid.tiles


def sweeps_section(contents: Contents) -> Section | None:
    """None where no run was tuned by a sweep that is still there, nor is a sweep itself."""
    views = [view for entry in contents.material.entries if (view := _view(contents, entry))]
    if not views:
        return None
    # Tiles hold arrays and are compared by what they are, not by what they hold.
    files = {id(t): _file(t) for view in views for t in view.tiles() if t.image is not None}
    made = contents.section(
        ID,
        "Settings",
        "sweeps.html",
        styles=["sweeps.css"],
        views=views,
        best_with=_best_with,
        file=lambda tile: files.get(id(tile)),
    )
    named = {file.name: file.data for file in files.values()}
    return Section(ID, made.title, made.html, made.styles, named)


def _view(contents: Contents, entry: Entry) -> SweepView | None:
    apart = not entry.run.info.sweep
    if (sweep := sweep_of(entry.run) if apart else entry.run) is None:
        return None
    swept = sweep.info.sweep
    try:
        material = collect([sweep]) if apart else contents.material
        [own] = [one for one in material.entries if one.name == sweep.name]
        score = deciding(material, own)
        cases = {case for case, _ in own.outputs}
        grids = Grids(material, [score], sorted(cases))
        keys = sorted(cases, key=lambda key: (-grids.spread(own, key), natural(key)))
        _, chosen = chosen_of(sweep)
        most = max(1, min(MOST_CASES, MOST_IMAGES // (len(swept) + 2)))
        shown = tuple(grids.settings(own, key, chosen) for key in keys[:most])
    except MedebenchError as error:
        told = str(error).replace(f"{sweep.path}: ", "")
        return SweepView(entry.name, len(swept), apart, trouble=told)
    words = "" if chosen is None else in_words(swept[chosen])
    return SweepView(entry.name, len(swept), apart, len(keys), words, score, shown)


def _best_with(grid: CaseGrid) -> str:
    """The settings with the best score of the case."""
    return listed(
        ", ".join(filter(None, [row.label, head]))
        for row in grid.rows
        for head, tile in zip(row.heads, row.tiles, strict=True)
        if any(tile.best)
    )


def _file(tile: Tile) -> File:
    assert tile.image is not None
    picture = np.ascontiguousarray(shrink(tile.image, SIDE))
    height, width = picture.shape[:2]
    if tile.roi is not None:
        mask = np.where(tile.roi, np.uint8(255), np.uint8(0))
        picture = outlined(picture, resize_mask(mask, width, height))
    data = webp(picture, 78)
    return File(f"{sha256(data)[:20]}.webp", data, width, height)
