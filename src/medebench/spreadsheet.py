"""Text that stays text when somebody opens a table in a spreadsheet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

#: What spreadsheets take for the beginning of a formula, and marks that keep it from being one.
_FORMULA = r"^('*[=+\-@\t\r\n＝＋－＠])"


def plain(text: str) -> str:
    """Spreadsheets run cells that begin like a formula; names and reasons come from strangers."""
    return re.sub(_FORMULA, r"'\1", text)


def original(text: str) -> str:
    """What `plain` was given."""
    return text[1:] if text.startswith("'") and re.match(_FORMULA, text) else text


def plain_texts(table: pl.DataFrame) -> pl.DataFrame:
    """`plain` in names and texts of columns; numbers stay as they are, also negative ones."""
    import polars as pl

    texts = table.with_columns(pl.col(pl.String).str.replace(_FORMULA, "'${1}"))
    return texts.rename({name: plain(name) for name in table.columns})
