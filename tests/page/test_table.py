"""A table says the same in every format, and no name can break it."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

from medebench.analysis.estimate import Estimate
from medebench.analysis.interval import Interval
from medebench.page.escape import latex, markdown
from medebench.page.number import between, listed, number, percent
from medebench.page.table import Cell, Column, Group, Row, Table, cell, csv_text

HOSTILE = "<b>a|b</b> & 50% $x_1$ \\end{table} *y* [z](w)"
SCORED = Estimate(0.71234, Interval(0.65, 0.8), 8, 9, "1 undefined")
TABLE = Table(
    [Column("Run", "left"), Column("CP", better="higher"), Column("EA", stand_in=True)],
    [
        Group([Row("good", [cell(SCORED, 3, bold=True), Cell("0.9", mark="†")])], "Models"),
        Group([Row(HOSTILE, [cell(Estimate(reason=HOSTILE)), Cell(HOSTILE)], HOSTILE, aside=True)]),
    ],
    caption=HOSTILE,
    notes=["* a stand-in", HOSTILE],
    label="tab:x",
)


def test_markdown_keeps_its_shape() -> None:
    lines = [line for line in TABLE.markdown().splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {4}
    assert "| good | **0.712** [0.650–0.800] (8/9) | 0.9† |" in lines
    assert "\\* a stand-in" in TABLE.markdown() and "EA \\*" in lines[0]


def test_latex_is_whole_and_escaped() -> None:
    text = TABLE.latex()
    assert text.count(r"\begin") == text.count(r"\end") and text.count(r"\end{table}") == 1
    body = re.sub(r"\\begin\{tabular\}\[t\].*?\\end\{tabular\}", "x", text)
    rows = [line for line in body.splitlines() if " & " in line]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in rows} == {2}
    assert r"\textbf{0.712}" in text and "0.650--0.800, 8/9" in text and r"$\uparrow$" in text


def test_html_holds_names_as_text() -> None:
    text = str(TABLE.html())
    assert "<b>" not in text and "&lt;b&gt;" in text
    assert text.count("<tr") == text.count("</tr>") == 4
    assert '<span class="m best">0.712</span><span class="ci">0.650–0.800</span>' in text


def test_csv_and_json_hold_numbers_in_full() -> None:
    rows = list(csv.DictReader(io.StringIO(TABLE.csv())))
    assert float(rows[0]["CP"]) == SCORED.value and rows[1]["CP"] == "–"
    assert json.loads(json.dumps(TABLE.json()))["rows"][0]["CP"] == SCORED.value


@pytest.mark.parametrize("width", [60, 200])
def test_terminal_fits_and_says_what_it_leaves_out(width: int) -> None:
    from rich.console import Console

    columns = [Column("Run", "left"), *(Column(f"score {i}") for i in range(9))]
    wide = Table(columns, [Group([Row("[a](b)", [Cell("0.5", "0.4–0.6")] * 9)])])
    console = Console(width=width, file=io.StringIO(), no_color=True)
    console.print(wide.rich(width))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert max(map(len, text.splitlines())) <= width and "[a](b)" in text
    assert ("more columns do not fit" in " ".join(text.split())) == (width == 60)


def test_no_cell_of_a_spreadsheet_is_a_formula() -> None:
    assert csv_text([["=1+1", "@x", "-a", -0.5]]) == "'=1+1,'@x,'-a,-0.5\n"


@pytest.mark.parametrize("text", ["a_b & 50% #1 {x} $y$ ~z ^w \\v", "=", "<|>", "日本", "−0.1 ≤ †"])
def test_latex_escapes(text: str) -> None:
    found = latex(text)
    bare = found
    for allowed in ("\\_", "\\&", "\\%", "\\#", "\\{", "\\}", "\\$"):
        bare = bare.replace(allowed, "")
    for command in ("textbackslash", "textasciitilde", "textasciicircum", "textless"):
        bare = bare.replace("\\" + command + "{}", "")
    for command in ("textgreater", "textbar"):
        bare = bare.replace("\\" + command + "{}", "")
    for maths in ("$-$", "$\\le$", "$^\\dagger$"):
        bare = bare.replace(maths, "")
    assert not set(bare) & set("\\&%#_{}$~^<>|")
    assert bare.isascii()


def test_numbers_as_text() -> None:
    assert number(-0.0004, 3) == "0.000" and number(0.5, 2, signed=True) == "+0.50"
    assert between((-0.3, -0.1)) == "−0.30 to −0.10" and between(None) == ""
    assert percent(0.999) == "> 99 %" and listed(["a", "b"]) == "a and b"
    assert markdown("a|b") == r"a\|b"
    with pytest.raises(ValueError, match="not a result"):
        number(float("nan"))
