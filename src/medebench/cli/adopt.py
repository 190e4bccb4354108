from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.command_outcome import finish_edit
from medebench.cli.console import Json, Workers, guarded, progress_bar


@guarded
def adopt(
    folder: Annotated[Path, typer.Argument(help="Images named <id>_<k>.png or <id>.png.")],
    cases: Annotated[str, typer.Option(help="The cases they were made from.")],
    out: Annotated[Path, typer.Option(help="The run's folder.")],
    name: Annotated[
        str | None, typer.Option(help="Name of the editor; default: the folder's.")
    ] = None,
    control: Annotated[bool, typer.Option("--control", help="Mark the run as a control.")] = False,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Take over outputs that already exist.

    They are copied; the folder stays as it is.

    Example: medebench adopt generated_images/icedit --cases MedEBench --out runs/icedit
    """
    from medebench.runs import adopt as take_over
    from medebench.runs.failed_calls import Failures

    failures = Failures()
    with progress_bar(f"adopting {folder.name}") as progress:
        run = take_over(
            folder,
            cases,
            out,
            name=name,
            control=control,
            workers=workers,
            progress=progress,
            failures=failures,
        )
    finish_edit(run, failures, as_json)
