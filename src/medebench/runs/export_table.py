"""The long table of one or more runs, as a file other tools read."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from medebench.errors import InputError
from medebench.files import unwritable, write_bytes
from medebench.reason_groups import cause_of
from medebench.runs.run_folder import Run, open_ledgers
from medebench.runs.run_table import COLUMNS, UNEXPORTED
from medebench.runs.score_run import open_runs
from medebench.spreadsheet import plain_texts

#: Only files of these kinds are replaced.
_FORMATS = {".csv": "csv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
#: Columns that every table has; groups of the cases follow.
_OWN = len(COLUMNS) + len(UNEXPORTED)


def long_table(runs: Sequence[Run]) -> pl.DataFrame:
    """The frames of `runs` below each other; their names must differ.

    A group of cases that only some of the runs have is empty for the others.
    """
    names = [run.name for run in runs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"two runs are called '{twice[0]}'; rename one of the folders")
    table = pl.concat([run.frame() for run in runs], how="diagonal")
    reasons = table["reason"].drop_nulls().unique().to_list()
    causes = {reason: cause_of(reason) for reason in reasons}
    place = table.columns.index("kind") + 1
    cause = pl.col("reason").replace_strict(causes, return_dtype=pl.String).alias("cause")
    table = table.select(*table.columns[:place], cause, *table.columns[place:])
    return table.with_columns(pl.col(table.columns[_OWN:]).fill_null(""))


@dataclass(frozen=True)
class Export:
    """A table that was written."""

    path: Path
    rows: int
    #: How many scores are left out because their cases changed, and of how many cases.
    outdated: tuple[int, int] | None = None
    #: Runs whose cases are not at hand, so that nobody can tell whether they changed.
    unverified: tuple[Path, ...] = ()


def export(
    runs: Run | str | Path | Sequence[Run | str | Path],
    out: str | Path,
    *,
    format: str | None = None,
) -> Export:
    """Write the scores of runs as one long table: a row for each case, output and metric.

    Args:
        runs: one run or several, opened or as folders.
        out: the file; one that is no table is never replaced.
        format: csv, parquet or jsonl; by default what the file's name ends with, else csv. A name
            that ends with another one is refused.

    Returns:
        Where the table is, and how many rows it has.

    >>> run = mb.edit("phantoms:count=2", "identity", tmp / "exported")
    >>> _ = mb.score(run, "cp,psnr")
    >>> mb.export(run, tmp / "scores.csv").rows
    4
    """
    opened = open_runs(runs)
    target = Path(out).expanduser().absolute()
    told = _FORMATS.get(target.suffix.lower())
    form = format or told or "csv"
    if told not in (None, form):
        raise InputError(f"{out}: its ending says {told}, the format is {form}; change one of them")
    with open_ledgers(opened):
        rows = export_runs(opened, target, form)
        unverified = tuple(run.path for run in opened if not run.states)
        return Export(target, rows, outdated_in(opened), unverified)


def export_runs(runs: Sequence[Run], out: Path, form: str) -> int:
    """Write the long table as csv, parquet or jsonl; returns the number of rows."""
    _check_target(runs, out)
    table = long_table(runs).drop(UNEXPORTED)
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
        raise InputError(f"format '{form}': choose csv, parquet or jsonl")
    try:
        write_bytes(out, stream.getvalue())
    except OSError as error:
        raise unwritable(out, error) from error
    return table.height


def outdated_in(runs: Sequence[Run]) -> tuple[int, int] | None:
    """How many scores are left out because cases or outputs changed, and of how many cases."""
    found = [run.outdated(run.table()) for run in runs]
    scores, cases = sum(count for count, _ in found), {one for _, ids in found for one in ids}
    return (scores, len(cases)) if scores else None


def _check_target(runs: Sequence[Run], out: Path) -> None:
    """An export must not replace a run, a program or a thesis."""
    if any(out.resolve().is_relative_to(run.path.resolve()) for run in runs):
        raise InputError(f"{out}: lies inside a run; choose another --out")
    if out.is_dir():
        raise InputError(f"{out}: is a folder; name a file")
    if out.exists() and out.suffix.lower() not in _FORMATS:
        names = ", ".join(_FORMATS)
        raise InputError(f"{out}: exists and is not a table ({names}); choose another --out")
