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
            help="Images named <id>_<k>.png, <id>_seed<k>.png or <id>.png; or a results file.",
            metavar="OUTPUTS...",
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
        str | None, typer.Option(help="Name of the system; default: that of the folder or file.")
    ] = None,
    control: Annotated[bool, typer.Option("--control", help="Mark the run as a control.")] = False,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Take over outputs that already exist.

    They are copied; the folders stay as they are. Each of several folders becomes a run of its own
    under --out, by the folder's name; so does a single one where --out ends with a slash.

    A results file (.jsonl, .json) has a record for each output: sample_id, response, output_image
    (a path relative to the file). Records are matched by sample_id, never by position; errors that
    were written down as answers become reasons.

    Examples:

        medebench adopt generated_images/icedit --cases MedEBench --out runs/icedit

        medebench adopt generated_images/* --cases MedEBench --out runs/

        medebench adopt results/gpt-4o.jsonl --cases MedGEN_data --out runs/gpt-4o
    """
    from medebench.cases import load_cases
    from medebench.runs import adopt as take_over
    from medebench.runs.adoption import match_outputs
    from medebench.runs.failed_calls import Failures
    from medebench.runs.result_records import is_results
    from medebench.runs.run_folder import INFO

    # A pattern of the shell also finds a README beside the folders.
    given = [one for one in folders if one.is_dir() or is_results(one)] or folders
    into = Path(out)
    inside = len(given) > 1 or (out.endswith(("/", os.sep)) and not (into / INFO).is_file())
    names = [one.resolve().name if one.is_dir() else one.stem for one in given]
    targets = [into / one for one in names] if inside else [into]
    if len(given) > 1 and name is not None:
        raise InputError(
            f"--name '{name}': {len(given)} folders cannot have one name; leave it out"
        )
    if len(set(targets)) < len(targets):
        twice = next(one for one in targets if targets.count(one) > 1)
        raise InputError(f"two folders are called '{twice.name}'; adopt them one by one")
    loaded = load_cases(cases)
    for folder in given:
        match_outputs(folder.expanduser().absolute(), loaded)
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
