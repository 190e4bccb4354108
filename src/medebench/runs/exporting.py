"""The long table of one or more runs, as a file other tools read."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from medebench.errors import InputError
from medebench.files import unwritable, write_bytes
from medebench.runs.run import COLUMNS, Run
from medebench.spreadsheet import plain_texts

#: Only files of these kinds are replaced.
SUFFIXES = (".csv", ".parquet", ".jsonl", ".ndjson")


def long_table(runs: Sequence[Run]) -> pl.DataFrame:
    """The frames of `runs` below each other; their names must differ."""
    names = [run.name for run in runs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"two runs are called '{twice[0]}'; rename one of the folders")
    return pl.concat([run.frame() for run in runs])


def export_runs(runs: Sequence[Run], out: Path, form: str) -> int:
    """Write the columns `COLUMNS` as csv, parquet or jsonl; returns the number of rows."""
    _check_target(runs, out)
    table = long_table(runs).select(COLUMNS)
    if not table.height:
        raise InputError(f"{runs[0].path}: has no scores yet; run `medebench score` first")
    stream = io.BytesIO()
    if form == "csv":
        plain_texts(table).write_csv(stream)
    elif form == "parquet":
        table.write_parquet(stream)
    elif form == "jsonl":
        table.write_ndjson(stream)
    else:
        raise InputError(f"format '{form}': csv, parquet and jsonl are written")
    try:
        write_bytes(out, stream.getvalue())
    except OSError as error:
        raise unwritable(out, error) from error
    return table.height


def outdated_in(runs: Sequence[Run]) -> tuple[int, int] | None:
    """How many scores are left out because their cases changed, and of how many cases."""
    found = [run.outdated(run.table()) for run in runs]
    scores, cases = sum(count for count, _ in found), {one for _, ids in found for one in ids}
    return (scores, len(cases)) if scores else None


def _check_target(runs: Sequence[Run], out: Path) -> None:
    """An export must not replace a run, a program or a thesis."""
    if any(out.resolve().is_relative_to(run.path.resolve()) for run in runs):
        raise InputError(f"{out}: lies inside a run; choose another --out")
    if out.is_dir():
        raise InputError(f"{out}: is a folder; name a file")
    if out.exists() and out.suffix.lower() not in SUFFIXES:
        names = ", ".join(SUFFIXES)
        raise InputError(f"{out}: exists and is no table ({names}); choose another --out")
