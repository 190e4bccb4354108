from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.common import (
    Json,
    Workers,
    guarded,
    print_json,
    print_table,
    progress_bar,
    say,
    table_width,
)


@guarded
def report(
    runs: Annotated[list[Path], typer.Argument(help="Scored run folders.", metavar="RUN...")],
    out: Annotated[Path, typer.Option(help="Folder of the report; an earlier one is renewed.")],
    headline: Annotated[
        str, typer.Option(help="Which contextual preservation leads: cp or cp_published.")
    ] = "cp",
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    published: Annotated[
        bool, typer.Option(help="Show the rows of the paper's seven models.")
    ] = True,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Compare runs: a page, tables and figures.

    The page opens from the disk.

    Example: medebench report runs/* --out report
    """
    from medebench.report import build_report
    from medebench.runs import open_run

    opened = [open_run(path) for path in runs]
    with progress_bar("reporting") as progress:
        made = build_report(
            opened,
            out.expanduser().absolute(),
            headline=headline,
            title=title,
            published=published,
            workers=workers,
            progress=progress,
        )
    if as_json:
        print_json({"page": str(made.index), "table": made.table.to_json()})
    else:
        if made.table.columns:
            print_table(made.table.rich(table_width()))
        if made.learned:
            say("the learned metrics are in a section of the page")
        say(f"page: {made.index}")
