"""Scores in Markdown tables: a score a row, or a score a column."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from medebench.judge.parser.parsed import Candidate
from medebench.judge.parser.score_numbers import Reading, Scale, is_placeholder, note_scale, read_at
from medebench.judge.parser.vocabulary import SCORE_WORD, Vocabulary
from medebench.models.answers.characters import BLANK, tidy

_ROW = re.compile(r"^[^|\n]*\|[^\n]*$", re.M)
_RULE = re.compile(r"^[\s|:+-]+$")
_SCORE_HEAD = re.compile(rf"^\W*{SCORE_WORD}\b", re.I)


@dataclass(frozen=True)
class _Row:
    cells: list[str]
    start: int
    end: int


def take_tables(text: str, scale: Scale, vocabulary: Vocabulary) -> tuple[list[Candidate], str]:
    """The scores in tables, and the text with the tables blanked out."""
    found: list[Candidate] = []
    pieces: list[str] = []
    done = 0
    for table in _tables(text):
        found.extend(_read(table, scale, vocabulary))
        start, end = table[0].start, table[-1].end
        pieces += [text[done:start], re.sub(r"[^\n]", BLANK, text[start:end])]
        done = end
    return found, "".join(pieces) + text[done:]


def _tables(text: str) -> Iterator[list[_Row]]:
    """Runs of neighbouring lines with bars; one line alone is a table if bars enclose it."""
    table: list[_Row] = []
    for match in _ROW.finditer(text):
        line = match[0].strip(" \t>")
        row = _Row([one.strip() for one in line.strip("|").split("|")], match.start(), match.end())
        if table and text[table[-1].end : row.start].strip(" \t>") != "\n":
            if _is_table(table, text):
                yield table
            table = []
        table.append(row)
    if table and _is_table(table, text):
        yield table


def _is_table(table: list[_Row], text: str) -> bool:
    enclosed = text[table[0].start : table[0].end].strip(" \t>").startswith("|")
    return enclosed or any(_RULE.match("|".join(row.cells)) for row in table)


def _read(table: list[_Row], scale: Scale, vocabulary: Vocabulary) -> Iterator[Candidate]:
    rows = [row for row in table if not _RULE.match("|".join(row.cells) or "|")]
    if not rows:
        return
    head = [vocabulary.read_key(cell) for cell in rows[0].cells]
    named = [n for n, key in enumerate(head) if key.score and key.part != "reason"]
    if len(rows) > 1 and named and not any(_cell(cell, scale) for cell in rows[0].cells):
        for row in rows[1:]:
            for number in named:
                if number < len(row.cells):
                    reading = _cell(row.cells[number], note_scale(head[number].note, scale))
                    if reading:
                        yield head[number].candidate(reading, "", row.start)
        return
    columns = [n for n, cell in enumerate(rows[0].cells) if _SCORE_HEAD.match(cell)]
    for row in rows:
        own = note_scale(rows[0].cells[columns[0]], scale) if columns else scale
        yield from _row(row, columns, own, vocabulary)


def _row(
    row: _Row, columns: list[int], scale: Scale, vocabulary: Vocabulary
) -> Iterator[Candidate]:
    for place, cell in enumerate(row.cells):
        key = vocabulary.read_key(cell)
        if key.score is None:
            continue
        scale = note_scale(key.note, scale)
        others = [c for n, c in enumerate(row.cells) if n > place and (not columns or n in columns)]
        readings = [one for one in (_cell(other, scale) for other in others) if one]
        texts = [c for n, c in enumerate(row.cells) if n > place and not _cell(c, scale)]
        for reading in readings:
            reason = tidy(max(texts, key=len)) if texts else ""
            yield key.candidate(reading, reason, row.start)
        return


def _cell(cell: str, scale: Scale) -> Reading | None:
    """A cell that holds a score and nothing else."""
    if is_placeholder(cell, scale.of):
        return None
    reading = read_at(cell, 0, scale)
    if reading is None or (reading.value is not None and re.search(r"\w", cell[reading.end :])):
        return None
    return reading
