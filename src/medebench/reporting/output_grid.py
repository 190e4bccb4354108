"""Outputs side by side, case by case: what a figure of chosen cases and a sweep are made of."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import polars as pl

from medebench.cases import OpenCase, open_case
from medebench.errors import MedebenchError
from medebench.images.picture import data_range
from medebench.outputs import Output
from medebench.page.number import NONE
from medebench.page.score_columns import Score, describe
from medebench.page.web_images import Bytes, to_bytes
from medebench.reporting.case_artist import GONE, DiskOutput
from medebench.reporting.case_card import Cards
from medebench.reporting.collect import ABSENT, Entry, Material
from medebench.reporting.overlay import Bools
from medebench.reporting.steering import is_blind
from medebench.settings import in_words

#: Settings in a row, where they have no second axis.
MOST_IN_A_ROW = 8


@dataclass(frozen=True)
class Tile:
    """An image or an answer, or why there is neither, with a text for each score."""

    image: Bytes | None = None
    text: str = ""
    reason: str = ""
    roi: Bools | None = None
    scores: tuple[str, ...] = ()
    #: For each score, whether it is the best of its grid.
    best: tuple[bool, ...] = ()
    #: Why a score is not there, where the output is.
    unscored: tuple[str, ...] = ()
    #: Whether it is the setting that was chosen.
    chosen: bool = False
    #: Whether it is a control's, which is not compared with models.
    aside: bool = False


@dataclass(frozen=True)
class TileRow:
    heads: tuple[str, ...]
    tiles: tuple[Tile, ...]
    label: str = ""


@dataclass(frozen=True)
class CaseGrid:
    """One case: its images and reference, and rows of outputs."""

    case: str
    prompt: str
    leads: tuple[tuple[str, Tile], ...]
    rows: tuple[TileRow, ...]

    @property
    def tiles(self) -> list[Tile]:
        return [tile for row in self.rows for tile in row.tiles]


#: A tile, and for each score the number that may be called the best.
_Found = tuple[Tile, list[float | None]]


@dataclass
class Grids:
    """Makes the grids of cases that are named by their keys in `material`."""

    material: Material
    scores: Sequence[Score]
    keys: Sequence[str]
    _opened: dict[str, OpenCase] = field(default_factory=dict)

    def runs(self, key: str, k: int | None = None) -> CaseGrid:
        """A row with an output of every run: number `k`, or the first there is."""
        entries = self.material.entries
        found = [self._output(entry, key, self._first(entry, key, k)) for entry in entries]
        heads = tuple(entry.name for entry in entries)
        return self._grid(key, [TileRow(heads, tuple(self._marked(found)))])

    def settings(self, entry: Entry, key: str, chosen: int | None = None) -> CaseGrid:
        """Rows with the outputs of a sweep, one for each setting."""
        swept = entry.run.info.sweep
        found = [self._output(entry, key, k, alone=True) for k in range(len(swept))]
        marked = enumerate(self._marked(found))
        tiles = [replace(tile, chosen=k == chosen) for k, tile in marked]
        rows = [
            TileRow(heads, tuple(tiles[start : start + len(heads)]), label)
            for label, start, heads in table_of(swept)
        ]
        return self._grid(key, rows)

    def spread(self, entry: Entry, key: str) -> float:
        """How far apart the first score of the case's outputs lies; -1 where there are not two."""
        found = [self._value(entry, key, k, self.scores[0])[0] for k in self._ks(entry, key)]
        known = [value for value in found if value is not None]
        return max(known) - min(known) if len(known) > 1 else -1.0

    @cached_property
    def _values(self) -> dict[tuple[str, str, int, str], tuple[float | None, str | None]]:
        names = [score.name for score in self.scores]
        wanted = pl.col("case").is_in(list(self.keys)) & pl.col("metric").is_in(names)
        columns = ["run", "case", "k", "metric", "value", "reason"]
        frames = [frame for frame in (self.material.frame, self.material.grounded) if len(frame)]
        found = [row for frame in frames for row in frame.filter(wanted).select(columns).rows()]
        return {tuple(row[:4]): (row[4], row[5]) for row in found}

    def _value(
        self, entry: Entry, key: str, k: int, score: Score
    ) -> tuple[float | None, str | None]:
        return self._values.get((entry.name, key, k, score.name), (None, "not scored yet"))

    def _ks(self, entry: Entry, key: str) -> list[int]:
        return sorted(k for case, k in entry.outputs if case == key)

    def _first(self, entry: Entry, key: str, k: int | None) -> int:
        return next(iter(self._ks(entry, key)), 0) if k is None else k

    def _open(self, key: str) -> OpenCase | None:
        """The case; None where it is no longer in its set."""
        entry, case_id, _ = self.material.places[key]
        cases = self.material.entries[entry].run.cases
        if key not in self._opened and case_id in cases:
            # One at a time: the images of a case are let go of when the next one comes.
            self._opened = {key: open_case(cases[case_id])}
        return self._opened.get(key)

    def _output(self, entry: Entry, key: str, k: int, alone: bool = False) -> _Found:
        """Controls are no competitors, unless it is the settings of one that are compared."""
        nothing = [None] * len(self.scores)
        if (key, k) not in entry.outputs:
            told = ABSENT if key in entry.absent else f"no output {k} of this case in this run"
            return Tile(reason=told, scores=(NONE,) * len(nothing)), [*nothing]
        tile = self._shown(entry, key, k)
        texts, whys, values = [], [], []
        for score in self.scores:
            value, reason = self._value(entry, key, k, score)
            texts.append(score.text(value))
            if value is None and not tile.reason:
                whys.append(f"{score.label}: {reason}")
            competes = score.ranked and is_blind(entry, score) and (alone or not entry.control)
            values.append(value if competes else None)
        aside = entry.control and not alone
        tile = replace(tile, scores=tuple(texts), unscored=tuple(whys), aside=aside)
        return tile, values

    def _marked(self, found: Sequence[_Found]) -> list[Tile]:
        """The tiles with the best of each score marked, as it is printed; of one nothing is."""
        marks = [[False] * len(self.scores) for _ in found]
        for place, score in enumerate(self.scores):
            running = [value for _, values in found if (value := values[place]) is not None]
            if len(running) < 2:
                continue
            best = score.text(min(running) if score.better == "lower" else max(running))
            for mark, (tile, values) in zip(marks, found, strict=True):
                mark[place] = values[place] is not None and tile.scores[place] == best
        return [
            replace(tile, best=tuple(mark)) for (tile, _), mark in zip(found, marks, strict=True)
        ]

    def _shown(self, entry: Entry, key: str, k: int) -> Tile:
        opened, row = self._open(key), entry.outputs[key, k]
        if opened is None:
            return Tile(reason=GONE)
        files = entry.run.output_files(self.material.places[key][1], k)
        seen = DiskOutput(entry.index, k, row, files).seen(key, "")
        if not seen.stored.data:
            return Tile(reason=seen.trouble)
        try:
            output = files.decode(seen.stored, opened.fit)
        except MedebenchError as error:
            return Tile(reason=seen.blame(error))
        return _tile(opened, output)

    def _grid(self, key: str, rows: Sequence[TileRow]) -> CaseGrid:
        opened = self._open(key)
        if opened is None:
            return CaseGrid(key, GONE, (), tuple(rows))
        leads = tuple(self._leads(opened))
        return CaseGrid(key, opened.case.prompt, leads, tuple(rows))

    def _leads(self, opened: OpenCase) -> Iterator[tuple[str, Tile]]:
        case = opened.case
        for role, label in Cards(self.material.task).roles(case).items():
            label = label[:1].upper() + label[1:]
            try:
                picture = opened.reference if role == "reference" else opened.image(role)
                roi = opened.roi if role == "previous" and case.roi is not None else None
                yield label, replace(_tile(opened, Output(picture)), roi=roi)
            except MedebenchError:
                yield label, Tile(reason=f"the {role} image cannot be read")
        if case.answer:
            yield "Answer" if case.reference else "Reference", Tile(text=case.answer)


def all_scores(material: Material) -> list[Score]:
    """Those of the tables, and those that the diagnosis is made of."""
    more = material.grounded["metric"].unique().to_list() if len(material.grounded) else []
    known = {score.name for score in material.scores}
    return [*material.scores, *(one for one in describe(more, {}) if one.name not in known)]


def _tile(opened: OpenCase, output: Output) -> Tile:
    if (image := output.image) is None:
        return Tile(text=output.text or "")
    shown = to_bytes(image, data_range(image, opened.case.bits))
    return Tile(shown, output.text or "")


def table_of(swept: Sequence[dict[str, Any]]) -> list[tuple[str, int, tuple[str, ...]]]:
    """The rows of a sweep: what each is called, its first setting, and the heads of its columns.

    The last axis makes the columns, the others the rows; settings without axes stand in a line.

    >>> table_of([{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 1}, {"a": 2, "b": 2}])
    [('a=1', 0, ('b=1', 'b=2')), ('a=2', 2, ('b=1', 'b=2'))]
    >>> table_of([{"a": 1}, {"b": 2}])
    [('', 0, ('a=1', 'b=2'))]
    """
    names = list(swept[0])
    values = {
        name: list({repr(one.get(name)): one.get(name) for one in swept}.values()) for name in names
    }
    product = [dict(zip(names, each, strict=True)) for each in itertools.product(*values.values())]
    width = len(values[names[-1]]) if names else 0
    if len(names) > 1 and product == list(swept) and width <= MOST_IN_A_ROW:
        heads = tuple(in_words({names[-1]: value}) for value in values[names[-1]])
        firsts = range(0, len(swept), width)
        return [(in_words({n: swept[k][n] for n in names[:-1]}), k, heads) for k in firsts]
    words = [in_words(one) for one in swept]
    firsts = range(0, len(swept), MOST_IN_A_ROW)
    return [("", k, tuple(words[k : k + MOST_IN_A_ROW])) for k in firsts]
