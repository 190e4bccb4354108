from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.common import Json, Workers, guarded, print_json, progress_bar, say


@guarded
def new(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders, each a model to rank.", metavar="RUN...")
    ],
    out: Annotated[Path, typer.Option(help="Folder of the study.")],
    per_organ: Annotated[int, typer.Option(min=1, help="Cases of each organ.")] = 20,
    annotators: Annotated[
        str, typer.Option(help="How many annotators, or their names: Ann,Bob.", metavar="N|NAMES")
    ] = "2",
    overlap: Annotated[
        int | None, typer.Option(min=1, help="Annotators per case; default: all of them.")
    ] = None,
    controls: Annotated[
        int | None,
        typer.Option(
            min=0, help="Cases with a ruined output, per annotator; default: 5 %, at least 2."
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(min=0, help="Cases shown twice, per annotator; default: 5 %, at least 4."),
    ] = None,
    dimensions: Annotated[str, typer.Option(help="What is ranked.")] = "ea,cp,vq",
    k: Annotated[int, typer.Option("-k", min=0, help="Which output of a case.")] = 0,
    seed: Annotated[int, typer.Option(help="Of the sample and of every order.")] = 0,
    largest: Annotated[
        int, typer.Option(min=64, max=8192, help="Longer side of the pictures shown, at most.")
    ] = 1536,
    title: Annotated[str | None, typer.Option(help="What annotators see above the panel.")] = None,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Draw a sample of cases that all runs have, for people to rank blind.

    Example: medebench study new runs/* --per-organ 20 --annotators 2 --out study
    """
    from medebench.runs import open_run
    from medebench.study.making import new_study

    names = [name.strip() for name in annotators.split(",")]
    who = int(names[0]) if len(names) == 1 and names[0].isdecimal() else names
    opened = [open_run(path) for path in runs]
    with progress_bar("drawing the sample") as progress:
        made = new_study(
            opened,
            out,
            per_organ=per_organ,
            annotators=who,
            overlap=overlap,
            controls=controls,
            repeats=repeats,
            dimensions=[name.strip() for name in dimensions.split(",")],
            k=k,
            seed=seed,
            title=title,
            largest=largest,
            workers=workers,
            progress=progress,
        )
    if as_json:
        print_json(
            {
                "study": str(made.study.path),
                "cases": made.cases,
                "shared": made.shared,
                "organs": made.organs,
                "tasks": made.tasks,
                "controls": made.controls,
                "repeats": made.repeats,
                "warnings": made.warnings,
                "already_complete": made.already_complete,
            }
        )
        return
    counts = sorted({taken for taken, _ in made.organs.values()})
    each = f"{counts[0]} each" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} each"
    organs = f"{len(made.organs)} organs, {each}"
    if made.already_complete:
        say(f"already complete: {made.study.path}")
    say(f"{made.cases} cases ({organs}), {made.shared} of them for two or more annotators")
    for name, tasks in made.tasks.items():
        extra = f"1 trial, {made.controls} controls and {made.repeats} repeats among them"
        say(f"{name}: {tasks} to rank, {extra}")
    for warning in made.warnings:
        say(f"note: {warning}")
    say(f"next: medebench study serve {out}")
