from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.command_outcome import finish
from medebench.cli.console import (
    Json,
    RetryFailed,
    Workers,
    guarded,
    print_json,
    print_table,
    progress_bar,
    say,
    table_width,
)


@guarded
def pairing(
    cases: Annotated[str, typer.Argument(help="A folder, a metadata file or a built-in set.")],
    system: Annotated[str, typer.Option(help="NAME[:key=value,...] or file.py:Name.")],
    out: Annotated[Path, typer.Option(help="Folder of the runs; an existing one is continued.")],
    metrics: Annotated[
        str | None,
        typer.Option(help="Comma-separated names; default: whether answers are right."),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Task of a folder with a table: a name or file.py:Name.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N cases.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the runs.")] = 0,
    workers: Workers = None,
    retry_failed: RetryFailed = False,
    as_json: Json = False,
) -> None:
    """Find out how far scores depend on the image: show a system something else in its place.

    Runs it as it is and under five controls: a blank image, the image of another case of another
    modality, of the same, of any (shuffled), and the instruction of another case. Prints what is
    lost, paired and corrected, and writes pairing.json beside the runs.

    Example: medebench pairing medgen-phantoms --system phantom-answerer --out pairing
    """
    from medebench.cases import load_cases
    from medebench.reporting.pairing_experiment import RESULT, run_pairing
    from medebench.tasks import find_task

    with progress_bar("reading cases") as progress:
        if task:
            find_task(task)
        chosen = load_cases(cases, task=task, progress=progress).select(limit=limit)
    found = run_pairing(
        chosen,
        system,
        out,
        metrics=metrics.split(",") if metrics else None,
        seed=seed,
        workers=workers,
        retry_failed=retry_failed,
        bar=progress_bar,
    )
    if as_json:
        print_json(found.to_json())
    else:
        print_table(found.table().rich(table_width()))
        say(f"result: {out / RESULT}")
    finish(found.failures, "output")
