from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.command_outcome import finish_outdated, outdated_facts
from medebench.cli.console import Json, guarded, print_json, say


class Format(str, Enum):
    csv = "csv"
    parquet = "parquet"
    jsonl = "jsonl"


@guarded
def export(
    runs: Annotated[list[Path], typer.Argument(help="Scored run folders.", metavar="RUN...")],
    out: Annotated[Path, typer.Option(help="File to write.")],
    form: Annotated[
        Format | None, typer.Option("--format", help="File format; default: what --out ends with.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the scores of runs as one long table.

    Columns: run, editor, organ, task, case, k, metric, value, reason, finding, kind and cause
    (stable codes of the reason), then any further groups of the cases.

    Example: medebench export runs/* --out scores.parquet
    """
    from medebench.runs.export_table import export as write_table

    made = write_table(runs, out, format=form.value if form else None)
    if as_json:
        facts = {"out": str(out), "rows": made.rows}
        print_json(facts | {"out_of_date": outdated_facts(made.outdated)})
    else:
        say(f"{made.rows} rows in {out}")
    for path in made.unverified:
        say(f"{path}: its cases are not at hand, so changes in them cannot be noticed")
    finish_outdated(made.outdated, runs)
