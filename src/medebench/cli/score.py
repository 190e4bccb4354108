from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.common import Json, RetryFailed, Workers, guarded, progress_bar
from medebench.cli.outcome import finish_score


@guarded
def score(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="RUN...")],
    metrics: Annotated[
        str | None, typer.Option(help="Names with commas between them; default: all built-in.")
    ] = None,
    judge: Annotated[str | None, typer.Option(help="A judge, e.g. offline.")] = None,
    workers: Workers = None,
    retry_failed: RetryFailed = False,
    as_json: Json = False,
) -> None:
    """Score the outputs of runs.

    What is scored already is not done again.

    Runs over the same cases are best given together: each picture is then decoded once.

    Examples:

        medebench score runs/* --judge offline

        medebench score runs/icedit --metrics cp,cp_published
    """
    from medebench.runs import score as run_scoring

    names = None if metrics is None else [name for name in metrics.split(",") if name]
    with progress_bar("scoring") as progress:
        scored = run_scoring(
            runs, names, judge, workers=workers, retry_failed=retry_failed, progress=progress
        )
    finish_score(scored, as_json)
