"""`Table`: made once, shown as csv, Markdown, LaTeX, JSON, HTML and on a terminal."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from medebench.analysis.estimate import Estimate
from medebench.page.number import NONE, between, number
from medebench.spreadsheet import plain

if TYPE_CHECKING:
    from markupsafe import Markup
    from rich.table import Table as RichTable


@dataclass(frozen=True)
class Column:
    head: str
    align: Literal["left", "right"] = "right"
    #: Which way is better; nothing where the head shows no arrow.
    better: Literal["higher", "lower", "neither", ""] = ""
    #: Whether the numbers are those of a stand-in; a note says what that means.
    stand_in: bool = False


@dataclass(frozen=True)
class Cell:
    """A value as it is printed, with its interval, and over how much of everything it was taken."""

    text: str = ""
    ends: str = ""
    part: str = ""
    bold: bool = False
    mark: str = ""
    #: In full, for csv and JSON; the text where there is none.
    value: object = None
    #: Why there is no number, or none for all.
    reason: str = ""


@dataclass(frozen=True)
class Row:
    name: str
    cells: Sequence[Cell]
    #: What a reader must know about it.
    note: str = ""
    #: Whether it belongs to the row above, or stands apart from the others as a floor or a ceiling.
    aside: bool = False
    #: CSS variable of the dot before the name.
    colour: str = ""
    control: bool = False
    stand_in: bool = False


@dataclass(frozen=True)
class Group:
    """Rows between two rules."""

    rows: Sequence[Row]
    title: str = ""


@dataclass(frozen=True)
class Table:
    """A table of a page, a paper or a terminal. The first column holds the names of the rows.

    >>> rows = [Row("mine", [Cell("0.91")])]
    >>> table = Table([Column("model", "left"), Column("CP")], [Group(rows)])
    >>> print(table.csv(), end="")
    model,CP
    mine,0.91
    """

    columns: Sequence[Column]
    groups: Sequence[Group]
    title: str = ""
    caption: str = ""
    notes: Sequence[str] = ()
    #: By which a paper refers to it.
    label: str = ""

    @property
    def rows(self) -> list[Row]:
        return [row for group in self.groups for row in group.rows]

    def records(self) -> list[dict[str, Any]]:
        heads = [column.head for column in self.columns]
        return [
            dict(zip(heads, [row.name, *(_value(cell) for cell in row.cells)], strict=True))
            for row in self.rows
        ]

    def csv(self) -> str:
        return csv_records(self.records(), [column.head for column in self.columns])

    def json(self) -> dict[str, Any]:
        return {"title": self.title, "rows": self.records(), "notes": list(self.notes)}

    def markdown(self) -> str:
        from medebench.page.table_text import markdown

        return markdown(self)

    def latex(self) -> str:
        """A `table` environment; needs `\\usepackage{booktabs}`."""
        from medebench.page.table_text import latex

        return latex(self)

    def rich(self, width: int | None = None) -> RichTable:
        """For a terminal; where it is narrow, the last columns are left out, with a word."""
        from medebench.page.table_text import rich_table

        return rich_table(self, width)

    def html(self) -> Markup:
        from medebench.page.table_html import html

        return html(self)

    def __repr__(self) -> str:
        return f"Table({self.title!r}, {len(self.rows)} rows, {len(self.columns)} columns)"

    def _repr_html_(self) -> str:
        title = f"<b>{escape(self.title)}</b>" if self.title else ""
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        # A notebook has no page.css, which sets intervals and counts apart from the number.
        style = "<style>.kit .ci, .kit .cov, .kit .sub { margin-left: .5em; opacity: .7 }</style>"
        return f"{style}{title}{self.html()}{notes}"


def cell(one: Estimate, decimals: int = 2, *, bold: bool = False, mark: str = "") -> Cell:
    """An estimate; a missing one says why."""
    if one.value is None:
        return Cell(NONE, reason=one.reason)
    part = "" if one.n == one.of else f"{one.n}/{one.of}"
    ends = between(one.interval, decimals)
    return Cell(number(one.value, decimals), ends, part, bold, mark, one.value, one.reason)


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Rows for a spreadsheet: no cell is a formula, numbers are in full."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([[_safe(one) for one in row] for row in rows])
    return stream.getvalue()


def csv_records(rows: Sequence[Mapping[str, object]], heads: Sequence[str] = ()) -> str:
    """The same from rows by column; without `heads`, columns come in the order they appear."""
    names = heads or list(dict.fromkeys(name for row in rows for name in row))
    return csv_text([names, *([row.get(name) for name in names] for row in rows)])


def _value(one: Cell) -> object:
    return one.text if one.value is None else one.value


def _safe(value: object) -> object:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, float):
        return json.dumps(value)
    return "" if value is None else value
