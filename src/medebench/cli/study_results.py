from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.console import (
    Json,
    guarded,
    print_json,
    print_line,
    print_table,
    say,
    table_width,
)
from medebench.cli.study_serve import Database, StudyFolder


@guarded
def results(
    source: Annotated[
        Path, typer.Argument(help="Study folder, or a CSV file.", metavar="STUDY|CSV")
    ],
    more: Annotated[
        list[Path] | None, typer.Argument(help="The same as --runs.", metavar="[RUN]...")
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            help="Scored run folders, e.g. --runs runs/*; default: those of the study.",
            metavar="RUN...",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the tables and figures; default: STUDY/results.")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="Leave this annotator out.", metavar="NAME")
    ] = None,
    anonymous: Annotated[
        bool,
        typer.Option("--anonymous", help="Replace annotators' names by numbers in the results."),
    ] = False,
    database: Database = None,
    k: Annotated[
        int | None,
        typer.Option("-k", min=0, help="For a CSV file: which output was ranked; default: 0."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the bootstrap.")] = 0,
    as_json: Json = False,
) -> None:
    """How far people agree, which model they prefer, and which metric stands in for them.

    A CSV file has the columns annotator, case, dimension, model, rank (1 is best, equal is a tie);
    models are named like the run folders.

    Examples: medebench study results study
              medebench study results rankings.csv --runs runs/*
    """
    from medebench.study.results.answer_text import attention, overview
    from medebench.study.results.compute import study_results
    from medebench.study.results.people_tables import terminal
    from medebench.study.results.study_tables import results_json

    folder = out or (source / "results" if source.is_dir() else Path(f"{source.stem}-results"))
    made = study_results(
        source,
        [*(runs or []), *(more or [])],
        out=folder,
        without=without or (),
        anonymous=anonymous,
        database=database,
        k=k,
        seed=seed,
    )
    if as_json:
        print_json({"folder": str(folder), **results_json(made)})
        return
    for table in terminal(made):
        print_table(table.rich(table_width()))
    for sentence in [overview(made), *attention(made)]:
        print_line(sentence)
    for one in made.dimensions:
        print_line(f"\n{one.name}")
        for sentence in one.answer:
            print_line(f"  {sentence}")
    for note in made.notes:
        say(note)
    say(f"tables and figures: {folder}")


@guarded
def export(
    study: StudyFolder,
    out: Annotated[Path, typer.Option(help="The CSV file.")],
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Write the rankings as CSV, a row for each annotator, case, dimension and model.

    `medebench study results` reads such a file as well.

    Example: medebench study export study --out rankings.csv
    """
    from medebench.study import export_rankings, open_study

    rows = export_rankings(open_study(study), out, database)
    if as_json:
        print_json({"rows": rows, "file": str(out)})
    else:
        say(f"{rows:,} ranks: {out}")
