from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.common import (
    Json,
    guarded,
    print_json,
    print_line,
    print_table,
    say,
    table_width,
)
from medebench.cli.study_serve import Database


@guarded
def results(
    source: Annotated[
        Path, typer.Argument(help="Folder of the study, or a CSV file.", metavar="STUDY|CSV")
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
        bool, typer.Option("--anonymous", help="Call annotators 1, 2, ... in what is written.")
    ] = False,
    database: Database = None,
    k: Annotated[
        int | None, typer.Option("-k", min=0, help="For a CSV file: which output; default: 0.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the intervals.")] = 0,
    as_json: Json = False,
) -> None:
    """How far people agree, which model they prefer, and which metric stands in for them.

    A CSV file has the columns annotator, case, dimension, model, rank (1 is best, equal is a tie);
    models are named like the run folders.

    Examples: medebench study results study
              medebench study results rankings.csv --runs runs/*
    """
    from medebench.study import read_study
    from medebench.study.results.compute import study_results
    from medebench.study.results.tables import results_json
    from medebench.study.results.terminal import rich_tables
    from medebench.study.results.words import attention, overview
    from medebench.study.results.write import write_results

    told, found = read_study(source, [*(runs or []), *(more or [])], database=database, k=k)
    made = study_results(told, found, without=without or (), anonymous=anonymous, seed=seed)
    folder = out or (source / "results" if source.is_dir() else Path(f"{source.stem}-results"))
    write_results(made, folder.expanduser().absolute())
    if as_json:
        print_json({"folder": str(folder), **results_json(made)})
        return
    for table in rich_tables(made, table_width()):
        print_table(table)
    for sentence in [overview(made), *attention(made)]:
        print_line(sentence)
    for one in made.dimensions:
        print_line(f"\n{one.name}")
        for sentence in one.answer:
            print_line(f"  {sentence}")
    for note in made.notes:
        say(note)
    say(f"tables and figures: {folder}")
