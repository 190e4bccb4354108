"""A table as HTML, in the classes of `static/page.css`."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from medebench.page.table import Cell, Column, Row, Table

_STAND_IN = Markup(' <span class="standin">stand-in</span>')


def html(table: Table) -> Markup:
    heads = Markup("").join(map(_head, table.columns))
    bodies = []
    for group in table.groups:
        title = Markup("")
        if group.title:
            title = Markup('<tr class="group"><th colspan="{}">{}</th></tr>').format(
                len(table.columns), group.title
            )
        bodies.append(Markup("<tbody>{}{}</tbody>").format(title, _rows(table, group.rows)))
    return Markup('<table class="kit"><thead><tr>{}</tr></thead>{}</table>').format(
        heads, Markup("\n").join(bodies)
    )


def _head(column: Column) -> Markup:
    kind = "name" if column.align == "left" else "n"
    star = _STAND_IN if column.stand_in else ""
    return Markup('<th scope="col" class="{}">{}{}</th>').format(kind, column.head, star)


def _rows(table: Table, rows: Sequence[Row]) -> Markup:
    return Markup("\n").join(
        Markup("<tr{}>{}{}</tr>").format(
            Markup(' class="aside"') if row.aside else "",
            _name(row),
            Markup("").join(
                _cell(cell, column)
                for cell, column in zip(row.cells, table.columns[1:], strict=True)
            ),
        )
        for row in rows
    )


def _name(row: Row) -> Markup:
    dot = Markup("")
    if row.colour:
        kind = "dot control" if row.control else "dot"
        dot = Markup('<span class="{}" style="--c: var({})"></span>').format(kind, row.colour)
    note = Markup('<span class="sub">{}</span>').format(row.note) if row.note else ""
    return Markup(
        '<th scope="row" class="name"><span class="who">{}<span>{}{}{}</span></span></th>'
    ).format(dot, row.name, _STAND_IN if row.stand_in else "", note)


def _cell(cell: Cell, column: Column) -> Markup:
    kind = "n" if column.align == "right" else ""
    if cell.value is None and cell.reason:
        return Markup('<td class="{} none why">{}</td>').format(kind, cell.reason)
    text = Markup('<span class="m{}">{}{}</span>').format(
        " best" if cell.bold else "",
        cell.text,
        Markup('<span class="mark">{}</span>').format(cell.mark) if cell.mark else "",
    )
    ends = Markup('<span class="ci">{}</span>').format(cell.ends) if cell.ends else ""
    part = ""
    if cell.part:
        part = Markup('<span class="cov" title="{}">{}</span>').format(cell.reason, cell.part)
    return Markup('<td class="{}">{}{}{}</td>').format(kind, text, ends, part)
