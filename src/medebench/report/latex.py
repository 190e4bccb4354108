"""The headline table for a paper: booktabs, and nothing in a name can break it."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from medebench.report.facts import STAND_IN, Score

if TYPE_CHECKING:
    from medebench.report.tables import Cell, HeadlineTable, Row

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "–": "--",
    "—": "---",
    "−": "$-$",
    "≤": r"$\le$",
    "×": r"$\times$",
    "†": r"$^\dagger$",
    "‘": "`",
    "’": "'",
    "…": r"\ldots{}",
    "µ": r"$\mu$",
}


def escape(text: str) -> str:
    """Text for the body of a LaTeX document; what pdflatex cannot set becomes its code point."""
    found = []
    for c in " ".join(text.split()):
        if c in _SPECIAL:
            found.append(_SPECIAL[c])
        elif c.isascii() and c.isprintable():
            found.append(c)
        elif unicodedata.category(c)[0] in "LN" and ord(c) < 0x180:
            found.append(c)  # Latin letters, which every LaTeX with UTF-8 input knows
        else:
            found.append(f"[U+{ord(c):04X}]")
    return "".join(found)


def latex_table(table: HeadlineTable) -> str:
    """A `table` environment; needs `\\usepackage{booktabs}`."""
    columns = table.columns
    heads = [
        rf"\shortstack{{{escape(s.label)}{'*' if s.stand_in else ''}\\{_arrow(s)}}}"
        for s in columns
    ]
    lines = [
        "% needs \\usepackage{booktabs}; written by medebench",
        r"\begin{table}",
        r"  \centering\footnotesize\setlength{\tabcolsep}{3.5pt}",
        rf"  \begin{{tabular}}{{l{'r' * len(columns)}}}",
        r"    \toprule",
        "    " + " & ".join(["Run", *heads]) + r" \\",
    ]
    for kind in ("model", "control", "published"):
        if rows := table.of(kind):
            lines.append(r"    \midrule")
            lines.extend(_group(table, kind, len(columns)))
            lines.extend(_line(table, row) for row in rows)
    lines += [
        r"    \bottomrule",
        r"  \end{tabular}",
        rf"  \caption{{{_caption(table)}}}",
        r"  \label{tab:medebench}",
        r"\end{table}",
        "",
    ]
    return "\n".join(lines)


def _group(table: HeadlineTable, kind: str, width: int) -> list[str]:
    titles = {"model": "Models", "control": "Controls", "published": "Published"}
    title = titles[kind]
    if kind == "published" and table.published:
        p = table.published
        title = f"Published: {p.name}, {p.judge} judge, {p.cases:,} real cases; not comparable"
    return [rf"    \multicolumn{{{width + 1}}}{{l}}{{\emph{{{escape(title)}}}}} \\"]


def _line(table: HeadlineTable, row: Row) -> str:
    cells = [_cell(row, row.cells.get((table.basis, s.name)), s) for s in table.columns]
    return "    " + " & ".join([escape(row.name), *cells]) + r" \\"


def _cell(row: Row, cell: Cell | None, score: Score) -> str:
    if cell is None or cell.micro.mean is None:
        return "" if cell is None else "--"
    text = escape(row.text(score, cell.micro.mean))
    if cell.best_micro:
        text = rf"\textbf{{{text}}}"
    if cell.mark:
        text += r"$^\dagger$"
    low, high = cell.micro.low, cell.micro.high
    if low is None or high is None:
        return text
    ends = f"{_number(score, low)}--{_number(score, high)}"
    return rf"\begin{{tabular}}[t]{{@{{}}r@{{}}}}{text}\\[-1pt]{{\tiny {ends}}}\end{{tabular}}"


def _number(score: Score, value: float) -> str:
    return escape(score.text(value))


def _arrow(score: Score) -> str:
    return {"higher": r"$\uparrow$", "lower": r"$\downarrow$", "neither": r"~"}[score.better]


def _caption(table: HeadlineTable) -> str:
    notes = [("* " if note.endswith(f"{STAND_IN}.") else "") + note for note in table.notes]
    notes += [f"{row.name}: {row.doubt}." for row in table.rows if row.doubt]
    return escape(" ".join(notes))
