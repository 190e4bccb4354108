from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.command_outcome import finish_edits
from medebench.cli.console import Json, Workers, guarded, progress_bar
from medebench.errors import InputError


@guarded
def adopt(
    folders: Annotated[
        list[Path],
        typer.Argument(
            help="Images named <id>_<k>.png, <id>_seed<k>.png or <id>.png.", metavar="FOLDER..."
        ),
    ],
    cases: Annotated[str, typer.Option(help="The cases they were made from.")],
    out: Annotated[
        str,
        typer.Option(
            help="The run's folder; of several, or with a / at the end, that of the runs."
        ),
    ],
    name: Annotated[
        str | None, typer.Option(help="Name of the editor; default: the folder's.")
    ] = None,
    control: Annotated[bool, typer.Option("--control", help="Mark the run as a control.")] = False,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Take over outputs that already exist.

    They are copied; the folders stay as they are. Each of several folders becomes a run of its own
    under --out, by the folder's name; so does a single one where --out ends with a slash.

    Examples:

        medebench adopt generated_images/icedit --cases MedEBench --out runs/icedit

        medebench adopt generated_images/* --cases MedEBench --out runs/
    """
    from medebench.cases import load_cases
    from medebench.runs import adopt as take_over
    from medebench.runs.adoption import match_files
    from medebench.runs.failed_calls import Failures
    from medebench.runs.run_folder import INFO

    # A pattern of the shell also finds a README beside the folders.
    given = [one for one in folders if one.is_dir()] or folders
    into = Path(out)
    inside = len(given) > 1 or (out.endswith(("/", os.sep)) and not (into / INFO).is_file())
    targets = [into / one.resolve().name for one in given] if inside else [into]
    if len(given) > 1 and name is not None:
        raise InputError(
            f"--name '{name}': {len(given)} folders cannot have one name; leave it out"
        )
    if len(set(targets)) < len(targets):
        twice = next(one for one in targets if targets.count(one) > 1)
        raise InputError(f"two folders are called '{twice.name}'; adopt them one by one")
    loaded = load_cases(cases)
    for folder in given:
        match_files(folder.expanduser().absolute(), loaded)
    failures, runs = Failures(), []
    for folder, target in zip(given, targets, strict=True):
        with progress_bar(f"adopting {folder.name}") as progress:
            runs.append(
                take_over(
                    folder,
                    loaded,
                    target,
                    name=name,
                    control=control,
                    workers=workers,
                    progress=progress,
                    failures=failures,
                )
            )
    retry = "replace these files and run the same command again"
    finish_edits(runs, failures, as_json, retry, loaded)
