"""A table as Markdown, as LaTeX and on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from medebench.page import escape
from medebench.page.table import Cell, Column, Row, Table

if TYPE_CHECKING:
    from rich.table import Table as RichTable
    from rich.text import Text

NEEDS = "% needs \\usepackage{booktabs}; written by medebench"
#: What the names and one column take on a terminal; titles of groups are folded beyond the third.
_NAME_WIDTH, _COLUMN_WIDTH, _MOST_WIDTH = 22, 16, 36


def markdown(table: Table) -> str:
    heads = [escape.markdown(one.head) + _star(one, " \\*") for one in table.columns]
    rules = ["---" if one.align == "left" else "---:" for one in table.columns]
    lines = [_bars(heads), f"|{'|'.join(rules)}|"]
    for group in table.groups:
        if group.title:
            lines.append(f"| *{escape.markdown(group.title)}* |" + " |" * (len(heads) - 1))
        for row in group.rows:
            lines.append(_bars([_markdown_name(row), *map(_markdown_cell, row.cells)]))
    below = [text for text in (table.caption, *table.notes) if text]
    return "\n".join([*lines, "", *(f"{_starred(text)}\n" for text in below)])


def _bars(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _star(one: Column | Row, star: str) -> str:
    return star if one.stand_in else ""


def _markdown_name(row: Row) -> str:
    name = escape.markdown(row.name) + (f" ({escape.markdown(row.note)})" if row.note else "")
    return f"*{name}*" if row.aside else name + _star(row, " \\*")


def _starred(note: str) -> str:
    """A note to a star keeps it; everything else in it is text."""
    star = "* " if note.startswith("* ") else ""
    return f"\\{star}{escape.markdown(note[2:])}" if star else escape.markdown(note)


def _markdown_cell(cell: Cell) -> str:
    text = escape.markdown(cell.text)
    parts = [
        (f"**{text}**" if cell.bold else text) + cell.mark,
        f"[{cell.ends}]" if cell.ends else "",
        f"({escape.markdown(cell.part)})" if cell.part else "",
    ]
    return " ".join(filter(None, parts))


def latex(table: Table) -> str:
    width = len(table.columns)
    lines = [
        r"\begin{table}",
        r"  \centering\footnotesize\setlength{\tabcolsep}{4pt}",
        rf"  \begin{{tabular}}{{{''.join(one.align[0] for one in table.columns)}}}",
        r"    \toprule",
        _ampersands([_latex_head(one) for one in table.columns]),
    ]
    for group in table.groups:
        lines.append(r"    \midrule")
        if group.title:
            title = escape.latex(group.title)
            lines.append(rf"    \multicolumn{{{width}}}{{l}}{{\emph{{{title}}}}} \\")
        lines += [
            _ampersands([_latex_name(row), *map(_latex_cell, row.cells)]) for row in group.rows
        ]
    caption = escape.latex(" ".join(filter(None, [table.caption, *table.notes])))
    lines += [r"    \bottomrule", r"  \end{tabular}", rf"  \caption{{{caption}}}"]
    if table.label:
        lines.append(rf"  \label{{{table.label}}}")
    return "\n".join([*lines, r"\end{table}", ""])


def _ampersands(cells: list[str]) -> str:
    return f"    {' & '.join(cells)} \\\\"


def _latex_head(column: Column) -> str:
    text = escape.latex(column.head) + _star(column, "*")
    arrows = {"higher": r"$\uparrow$", "lower": r"$\downarrow$", "neither": "~"}
    return rf"\shortstack{{{text}\\{arrows[column.better]}}}" if column.better else text


def _latex_name(row: Row) -> str:
    name = escape.latex(row.name) + _star(row, "*")
    name += rf" {{\tiny ({escape.latex(row.note)})}}" if row.note else ""
    return rf"\quad {name}" if row.aside else name


def _latex_cell(cell: Cell) -> str:
    text = escape.latex(cell.text)
    text = rf"\textbf{{{text}}}" if cell.bold else text
    text += escape.latex(cell.mark)
    small = escape.latex(", ".join(filter(None, [cell.ends, cell.part])))
    if not small:
        return text
    return rf"\begin{{tabular}}[t]{{@{{}}r@{{}}}}{text}\\[-1pt]{{\tiny {small}}}\end{{tabular}}"


def rich_table(table: Table, width: int | None = None) -> RichTable:
    from rich.table import Table as Made
    from rich.text import Text

    name, *columns = table.columns
    fit = len(columns)
    if width is not None:
        fit = min(fit, max(1, (width - _NAME_WIDTH - 4) // _COLUMN_WIDTH))
    notes = [text for text in (table.caption, *table.notes) if text]
    if left := len(columns) - fit:
        notes.append(f"{left} more columns do not fit on this terminal.")
    made = Made(
        title=Text(table.title, style="bold") if table.title else None,
        title_justify="left",
        caption=Text(" ".join(notes)) if notes else None,
        caption_justify="left",
        expand=False,
    )
    least = _NAME_WIDTH - 4
    made.add_column(Text(name.head), overflow="fold", min_width=least, max_width=_MOST_WIDTH)
    for one in columns[:fit]:
        made.add_column(
            Text(one.head + _star(one, " *")), justify=one.align, no_wrap=one.align == "right"
        )
    for group in table.groups:
        made.add_section()
        if group.title:
            made.add_row(Text(group.title, style="italic"))
        for row in group.rows:
            label = Text(row.name + _star(row, " *"), style="italic" if row.aside else "")
            label.append(f"\n{row.note}" if row.note else "", style="dim")
            made.add_row(label, *map(_rich_cell, row.cells[:fit]))
    return made


def _rich_cell(cell: Cell) -> Text:
    from rich.text import Text

    text = Text(cell.text + cell.mark, style="bold" if cell.bold else "")
    small = "\n".join(filter(None, [cell.ends, cell.part]))
    return text.append(f"\n{small}" if small else "", style="not bold dim")
