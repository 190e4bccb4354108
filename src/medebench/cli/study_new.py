from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.console import Json, Workers, guarded, print_json, progress_bar, say

_FACTS = ("cases", "shared", "tasks", "controls", "repeats", "warnings", "already_complete")


@guarded
def new(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders, each a model to rank.", metavar="RUN...")
    ],
    out: Annotated[Path, typer.Option(help="Study folder.")],
    per_organ: Annotated[
        int,
        typer.Option(
            "--per-organ",
            "--per-group",
            min=1,
            help="Cases of each organ, or of whatever else the task groups cases by.",
        ),
    ] = 20,
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
    dimensions: Annotated[
        str | None,
        typer.Option(help="What outputs are ranked by; default: what the task asks (ea,cp,vq)."),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=0, help="Which output of each case.")] = 0,
    seed: Annotated[int, typer.Option(help="Random seed for sampling and ordering.")] = 0,
    largest: Annotated[
        int, typer.Option(min=64, max=8192, help="Longest side of the images shown, in pixels.")
    ] = 1536,
    title: Annotated[
        str | None, typer.Option(help="Title that annotators see above the panel.")
    ] = None,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Draw a sample of the cases that all runs share, for people to rank blind.

    Example: medebench study new runs/* --per-organ 20 --annotators 2 --out study
    """
    from medebench.page.number import counted
    from medebench.runs import open_run
    from medebench.study.study_setup import new_study

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
            dimensions=dimensions and [name.strip() for name in dimensions.split(",")],
            k=k,
            seed=seed,
            title=title,
            largest=largest,
            workers=workers,
            progress=progress,
        )
    by = made.study.design.grouping
    if as_json:
        print_json(
            {
                "study": str(made.study.path),
                "organs" if by == "organ" else "groups": made.groups,
                **{name: getattr(made, name) for name in _FACTS},
            }
        )
        return
    counts = sorted({taken for taken, _ in made.groups.values()})
    each = f"{counts[0]} each" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} each"
    grouped = counted(len(made.groups), by if by == "organ" else f"{by} group")
    if made.already_complete:
        say(f"already complete: {made.study.path}")
    say(f"{made.cases} cases ({grouped}, {each}), {made.shared} of them for two or more annotators")
    for name, tasks in made.tasks.items():
        extra = f"1 trial, {made.controls} controls and {made.repeats} repeats"
        say(f"{name}: {tasks} to rank, including {extra}")
    for warning in made.warnings:
        say(f"note: {warning}")
    say(f"next: medebench study serve {out}")
