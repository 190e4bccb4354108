"""The long table of one or more runs, as a file other tools read."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from medebench.errors import InputError
from medebench.files import write_bytes
from medebench.runs.run import COLUMNS, Run


def long_table(runs: Sequence[Run]) -> pl.DataFrame:
    """The frames of `runs` below each other; their names must differ."""
    names = [run.name for run in runs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"two runs are called '{twice[0]}'; rename one of the folders")
    return pl.concat([run.frame() for run in runs])


def export_runs(runs: Sequence[Run], out: Path, form: str) -> int:
    """Write the columns `COLUMNS` as csv, parquet or jsonl; returns the number of rows."""
    table = long_table(runs).select(COLUMNS)
    stream = io.BytesIO()
    if form == "csv":
        table.write_csv(stream)
    elif form == "parquet":
        table.write_parquet(stream)
    elif form == "jsonl":
        table.write_ndjson(stream)
    else:
        raise InputError(f"format '{form}': csv, parquet and jsonl are written")
    write_bytes(out, stream.getvalue())
    return table.height
