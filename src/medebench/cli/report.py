from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from medebench.cli.outcome import finish_outdated, outdated_facts
from medebench.cli.study_serve import Database

if TYPE_CHECKING:
    from medebench.report.section import Section
    from medebench.runs import Run


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
    study: Annotated[
        Path | None,
        typer.Option(
            help="Add what people said: a study's folder, or a CSV of rankings.",
            metavar="STUDY|CSV",
        ),
    ] = None,
    database: Database = None,
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
    sections = [] if study is None else [_people(study, opened, database)]
    with progress_bar("reporting") as progress:
        made = build_report(
            opened,
            out.expanduser().absolute(),
            headline=headline,
            title=title,
            published=published,
            sections=sections,
            workers=workers,
            progress=progress,
        )
    if as_json:
        facts = {"page": str(made.index), "table": made.table.to_json()}
        print_json(facts | {"out_of_date": outdated_facts(made.outdated)})
    else:
        if made.table.columns:
            print_table(made.table.rich(table_width()))
        if made.learned:
            say("the learned metrics are in a section of the page")
        say(f"page: {made.index}")
    finish_outdated(made.outdated, runs)


def _people(study: Path, runs: list[Run], database: str | None) -> Section:
    from medebench.study import read_study
    from medebench.study.results.compute import study_results
    from medebench.study.results.section import section

    told, _ = read_study(study, [run.path for run in runs], database=database)
    # Models come before controls, as in the rest of the report: their colours go by place.
    names = [run.name for run in sorted(runs, key=lambda run: run.info.control)]
    # A report is shown around; who the annotators are is not its business.
    return section(study_results(told, runs, anonymous=True), names)
