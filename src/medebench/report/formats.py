"""The headline table as text for a terminal, a spreadsheet, a README or a machine."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from medebench.report.facts import STAND_IN, Score
from medebench.spreadsheet import plain

if TYPE_CHECKING:
    from rich.table import Table

    from medebench.report.tables import Cell, HeadlineTable, Row

__all__ = [
    "STAND_IN",
    "csv_table",
    "csv_text",
    "interval_text",
    "json_table",
    "markdown_table",
    "rich_table",
    "some",
    "stand_in_names",
]

# fmt: off
_COLUMNS = (
    "run", "kind", "basis", "metric", "mean", "low", "high", "macro", "macro_low", "macro_high",
    "scored", "total", "best", "mark", "judge", "stand_in", "coverage", "why", "macro_why", "note",
)
# fmt: on
_GROUPS = {"model": "Models", "control": "Controls", "published": "Published"}


def stand_in_names(columns: Sequence[Score]) -> str:
    names = [score.label for score in columns if score.stand_in]
    return " and ".join(names)


def interval_text(score: Score, low: float | None, high: float | None) -> str:
    """ "0.71–0.80", or nothing where there is no interval."""
    if low is None or high is None:
        return ""
    # A dash beside a minus would be hard to read.
    return f"{score.text(low)}{' to ' if low < 0 else '–'}{score.text(high)}"


def some(names: Iterable[str], most: int = 4) -> str:
    """Names for a sentence; of many the first, and how many more there are."""
    listed = list(names)
    if len(listed) <= most + 1:
        return ", ".join(listed)
    return f"{', '.join(listed[:most])} and {len(listed) - most} others"


def csv_text(rows: Sequence[Sequence[object]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([[_safe(cell) for cell in row] for row in rows])
    return stream.getvalue()


def csv_table(table: HeadlineTable) -> str:
    """Long and complete: every basis, full precision, a row for each run and score."""
    rows: list[list[object]] = [[*_COLUMNS]]
    for row in table.rows:
        for basis in table.bases if row.kind != "published" else ("published",):
            for score in table.columns:
                found = basis if row.kind != "published" else table.basis
                if cell := row.cells.get((found, score.name)):
                    rows.append(
                        [row.name, row.kind, basis, score.name, *_numbers(cell, score, row)]
                    )
    return csv_text(rows)


def markdown_table(table: HeadlineTable) -> str:
    heads = ["", *(score.label + (" *" if score.stand_in else "") for score in table.columns)]
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|---:" * len(table.columns) + "|"]
    for kind, title in _GROUPS.items():
        if not (rows := table.of(kind)):
            continue
        if kind == "published" and table.published:
            title = table.published.caption
        lines.append(f"| *{md(title)}* |" + " |" * len(table.columns))
        for row in rows:
            name = md(row.name) + (f" ({md(row.note)})" if row.note else "")
            lines.append(f"| {name} | " + " | ".join(_md_cells(table, row)) + " |")
    notes = [f"\\* {note}" if note.endswith(f"{STAND_IN}.") else note for note in table.notes]
    return "\n".join([*lines, "", *(f"{_md_text(note)}\n" for note in notes)])


#: What the name of a run and one score take on a terminal.
_NAME_WIDTH, _SCORE_WIDTH = 22, 16


def rich_table(table: HeadlineTable, width: int | None = None) -> Table:
    """The table for a terminal; where it is narrow, the last scores are left to the page."""
    from rich.table import Table
    from rich.text import Text

    fit = len(table.columns)
    if width is not None:
        fit = min(fit, max(1, (width - _NAME_WIDTH - 4) // _SCORE_WIDTH))
    columns, notes = table.columns[:fit], list(table.notes)
    if left := len(table.columns) - fit:
        notes.append(f"{left} more scores do not fit here; they are on the page.")
    made = Table(caption=" ".join(notes), caption_justify="left", expand=False)
    made.add_column("run", overflow="fold", min_width=_NAME_WIDTH - 4)
    for score in columns:
        star = " *" if score.stand_in else ""
        made.add_column(Text(score.label + star), justify="right", no_wrap=True)
    for kind, title in _GROUPS.items():
        if not (rows := table.of(kind)):
            continue
        if kind == "published" and table.published:
            title = f"Published: {table.published.name}"
        made.add_section()
        made.add_row(Text(title, style="italic"))
        for row in rows:
            name = Text(row.name).append(f"\n{row.note}" if row.note else "", style="dim")
            made.add_row(name, *(_rich_cell(table, row, score) for score in columns))
    return made


def json_table(table: HeadlineTable) -> dict[str, Any]:
    return {
        "headline": table.headline,
        "basis": table.basis,
        "shared_cases": table.n_shared,
        "published": table.published.caption if table.published else None,
        "columns": [
            {
                "metric": s.name,
                "label": s.label,
                "better": s.better,
                "judge": s.judge or None,
                "stand_in": s.stand_in,
            }
            for s in table.columns
        ],
        "rows": [_json_row(table, row) for row in table.rows],
        "notes": table.notes,
    }


def _json_row(table: HeadlineTable, row: Row) -> dict[str, Any]:
    info = row.entry.run.info.cases if row.entry else None
    cells = {
        score.name: {
            "mean": cell.micro.mean,
            "low": cell.micro.low,
            "high": cell.micro.high,
            "macro": cell.macro.mean,
            "macro_low": cell.macro.low,
            "macro_high": cell.macro.high,
            "scored": cell.scored,
            "total": cell.total,
            "coverage": cell.coverage or None,
            "why": cell.micro.why or None,
            "macro_why": cell.macro.why or None,
            "best": cell.best_micro,
            "worse_than_best": bool(cell.mark),
        }
        for score in table.columns
        if (cell := row.cells.get((table.basis, score.name)))
    }
    return {
        "run": row.name,
        "kind": row.kind,
        "cases": len(row.entry.cases) if row.entry else None,
        "of": info.of if info else None,
        "sees": row.entry.run.info.sees if row.entry else [],
        "note": row.note or None,
        "scores": cells,
    }


def _numbers(cell: Cell, score: Score, row: Row) -> list[object]:
    published = row.kind == "published"
    return [
        cell.micro.mean,
        cell.micro.low,
        cell.micro.high,
        cell.macro.mean,
        cell.macro.low,
        cell.macro.high,
        cell.scored,
        cell.total,
        "yes" if cell.best_micro else "",
        cell.mark,
        "" if published else score.judge,
        "yes" if score.stand_in and not published else "",
        cell.coverage,
        cell.micro.why,
        cell.macro.why,
        row.note,
    ]


def _md_cells(table: HeadlineTable, row: Row) -> list[str]:
    texts = []
    for score in table.columns:
        cell = row.cells.get((table.basis, score.name))
        if cell is None:
            texts.append("")
            continue
        text = row.text(score, cell.micro.mean)
        text = f"**{text}**" if cell.best_micro else text
        ends = interval_text(score, cell.micro.low, cell.micro.high)
        parts = [text + cell.mark, f"[{ends}]" if ends else "", _partial(cell)]
        texts.append(" ".join(filter(None, parts)))
    return texts


def _partial(cell: Cell) -> str:
    return "" if cell.scored == cell.total else f"({cell.scored}/{cell.total})"


def _rich_cell(table: HeadlineTable, row: Row, score: Score) -> Any:
    from rich.text import Text

    cell = row.cells.get((table.basis, score.name))
    if cell is None:
        return Text("")
    text = Text(
        row.text(score, cell.micro.mean) + cell.mark, style="bold" if cell.best_micro else ""
    )
    ends = interval_text(score, cell.micro.low, cell.micro.high)
    small = "\n".join(filter(None, [ends, _partial(cell)]))
    return text.append(f"\n{small}" if small else "", style="not bold dim")


def md(text: str) -> str:
    """Text that stays text in Markdown, and stays in its cell."""
    return re.sub(r"([\\`*_{}\[\]<>|#~])", r"\\\1", " ".join(text.split()))


def _md_text(note: str) -> str:
    return note if note.startswith("\\*") else md(note)


def _safe(value: object) -> object:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, float):
        return json.dumps(value)
    return "" if value is None else value
