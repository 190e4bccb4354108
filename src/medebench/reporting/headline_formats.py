"""The headline table for readers, spreadsheets and machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from medebench.page.number import between
from medebench.page.score_columns import STAND_IN, Score
from medebench.page.table import Cell, Column, Group, Row, Table, csv_records

if TYPE_CHECKING:
    from medebench.reporting.headline_table import Cell as Mean
    from medebench.reporting.headline_table import HeadlineTable
    from medebench.reporting.headline_table import Row as Run

GROUPS = {"model": "Models", "control": "Controls", "published": "Published"}


def shown_table(table: HeadlineTable) -> Table:
    """The means of the default basis that come first."""
    columns = [Column("Run", "left")]
    columns += [Column(s.label, better=s.better, stand_in=s.stand_in) for s in table.columns]
    groups = []
    for kind, title in GROUPS.items():
        rows = [
            Row(
                row.name,
                [_cell(table, row, score) for score in table.columns],
                "" if row.doubt else row.note,
            )
            for row in table.of(kind)
        ]
        if kind == "published" and table.published:
            title = table.published.caption
        groups += [Group(rows, title)] if rows else []
    notes = [f"* {note}" if note.endswith(f"{STAND_IN}.") else note for note in table.notes]
    notes += [f"{row.name}: {row.doubt}." for row in table.rows if row.doubt]
    return Table(columns, groups, notes=notes, label="tab:medebench")


def _cell(table: HeadlineTable, row: Run, score: Score) -> Cell:
    found = row.cells.get((table.basis, score.name))
    if found is None:
        return Cell()
    one = found.of(table.mean)
    part = "" if found.scored == found.total else f"{found.scored}/{found.total}"
    ends = between(one.interval, score.decimals)
    return Cell(
        row.text(score, one.value), ends, part, found.best(table.mean), found.mark, one.value
    )


def csv_table(table: HeadlineTable) -> str:
    """Long and complete: every basis, full precision, a row for each run and score."""
    rows = []
    for row in table.rows:
        published = row.kind == "published"
        for basis in ("published",) if published else table.bases:
            for score in table.columns:
                cell = row.cells.get((table.basis if published else basis, score.name))
                if cell is not None:
                    rows.append(
                        {"run": row.name, "kind": row.kind, "basis": basis, "metric": score.name}
                        | numbers(cell)
                        | {
                            "scored": cell.scored,
                            "total": cell.total,
                            "best": "yes" if cell.best(table.mean) else "",
                            "mark": cell.mark,
                            "judge": "" if published else score.judge,
                            "stand_in": "yes" if score.stand_in and not published else "",
                            "coverage": cell.coverage,
                            "why": cell.micro.reason,
                            "macro_why": cell.macro.reason,
                            "note": row.note,
                        }
                    )
    return csv_records(rows)


def numbers(cell: Mean) -> dict[str, float | None]:
    micro, macro = cell.micro, cell.macro
    return {
        "mean": micro.value,
        "low": micro.low,
        "high": micro.high,
        "macro": macro.value,
        "macro_low": macro.low,
        "macro_high": macro.high,
    }


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


def _json_row(table: HeadlineTable, row: Run) -> dict[str, Any]:
    info = row.entry.run.info.cases if row.entry else None
    scores = {
        score.name: {
            **numbers(cell),
            "scored": cell.scored,
            "total": cell.total,
            "coverage": cell.coverage or None,
            "why": cell.micro.reason or None,
            "macro_why": cell.macro.reason or None,
            "best": cell.best(table.mean),
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
        "scores": scores,
    }
