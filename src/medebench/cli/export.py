from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.common import Json, guarded, print_json, say
from medebench.cli.outcome import finish_outdated, outdated_facts


class Format(str, Enum):
    csv = "csv"
    parquet = "parquet"
    jsonl = "jsonl"


@guarded
def export(
    runs: Annotated[list[Path], typer.Argument(help="Scored run folders.", metavar="RUN...")],
    out: Annotated[Path, typer.Option(help="File to write.")],
    form: Annotated[Format, typer.Option("--format", help="Kind of file.")] = Format.csv,
    as_json: Json = False,
) -> None:
    """Write the scores of runs as one long table.

    Its columns: run, editor, organ, task, case, k, metric, value, reason, finding.

    Example: medebench export runs/* --format parquet --out scores.parquet
    """
    from medebench.runs import open_run
    from medebench.runs.exporting import export_runs, outdated_in

    opened = [open_run(path) for path in runs]
    rows = export_runs(opened, out.expanduser().absolute(), form.value)
    outdated = outdated_in(opened)
    if as_json:
        print_json({"out": str(out), "rows": rows, "out_of_date": outdated_facts(outdated)})
    else:
        say(f"{rows} rows in {out}")
    for run in opened:
        if not run.states:
            say(f"{run.path}: its cases are not at hand, so nobody can tell whether they changed")
    finish_outdated(outdated, runs)
