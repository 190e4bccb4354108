from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from medebench.cli.command_outcome import finish_outdated, outdated_facts
from medebench.cli.console import (
    Json,
    Without,
    Workers,
    guarded,
    print_json,
    print_table,
    progress_bar,
    say,
    table_width,
)
from medebench.cli.study_serve import Database


@guarded
def report(
    runs: Annotated[list[Path], typer.Argument(help="Scored run folders.", metavar="RUN...")],
    out: Annotated[Path, typer.Option(help="Folder of the report; an earlier one is updated.")],
    headline: Annotated[
        str | None,
        typer.Option(
            help="Score that leads: for editing cp (the default) or cp_published, "
            "else one of the task's headline scores."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    published: Annotated[
        bool, typer.Option(help="Show the rows of the paper's seven models (editing only).")
    ] = True,
    failures: Annotated[
        Literal["count", "omit"],
        typer.Option(
            help="What the page begins with: a failed output counts as doing nothing, "
            "or is left out. It can show both."
        ),
    ] = "count",
    scale: Annotated[
        bool,
        typer.Option(
            help="Work out what doing nothing and copying the answer get "
            "where no control is among the runs."
        ),
    ] = True,
    without: Without = None,
    audit: Annotated[
        bool,
        typer.Option(help="Say what is wrong with the case set and which scores that touches."),
    ] = True,
    study: Annotated[
        Path | None,
        typer.Option(
            help="Add a study's results: its folder, or a CSV file of rankings.",
            metavar="STUDY|CSV",
        ),
    ] = None,
    database: Database = None,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Compare runs: a page, tables and figures.

    The page opens in any browser; no server is needed.

    Example: medebench report runs/* --out report
    """
    from medebench.study.study_report import report as write_report

    with progress_bar("reporting") as progress:
        made = write_report(
            runs,
            out,
            headline=headline,
            title=title,
            published=published,
            failures=failures,
            scale=scale,
            without=without or (),
            audit=audit,
            study=study,
            database=database,
            workers=workers,
            progress=progress,
        )
    if as_json:
        facts: dict[str, object] = {"page": str(made.index), "table": made.table.to_json()}
        facts["verdict"] = made.verdicts.json() if made.verdicts else None
        print_json(facts | {"out_of_date": outdated_facts(made.outdated)})
    else:
        if made.verdicts is not None:
            print_table(made.verdicts.rich(table_width()))
        if made.table.columns:
            print_table(made.table.rich(table_width()))
        if made.learned:
            say("the learned metrics are in a section of the page")
        say(f"page: {made.index}")
    finish_outdated(made.outdated, runs)
