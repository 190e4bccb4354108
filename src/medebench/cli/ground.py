from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.common import Json, RetryFailed, Workers, guarded, progress_bar
from medebench.errors import InputError


@guarded
def ground(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="RUN...")],
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            help="Where one type of failure ends and the next begins; may be given several times.",
            metavar="KEY=VALUE",
        ),
    ] = None,
    workers: Workers = None,
    retry_failed: RetryFailed = False,
    as_json: Json = False,
) -> None:
    """Find out why outputs fail.

    Measures where each output changed and, for editors that show it, where they looked, against
    the region of interest; then gives each output one type of failure, or success. What is
    measured already is not done again; findings are always settled anew, so ground again after a
    judge. The report then has a section on it.

    Examples:

        medebench ground runs/*

        medebench ground runs/icedit --threshold good_ea=0.6 --threshold wrong_spill=0.5
    """
    from medebench.cli.findings import finish_ground
    from medebench.grounding import Thresholds
    from medebench.runs import ground as run_grounding
    from medebench.runs.scoring import open_runs
    from medebench.settings import read_settings

    given: dict[str, str] = {}
    for pair in threshold or []:
        key, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"--threshold '{pair}': expected key=value")
        given[key.strip()] = value.strip()
    limits = read_settings(Thresholds, given, "--threshold")
    opened = open_runs(runs)
    with progress_bar("grounding") as progress:
        grounded = run_grounding(
            opened,
            thresholds=limits,
            workers=workers,
            retry_failed=retry_failed,
            progress=progress,
        )
    finish_ground(grounded, as_json)
