from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from medebench.cli.common import Json, RetryFailed, Workers, guarded, progress_bar
from medebench.cli.outcome import finish_score, print_plan
from medebench.errors import InputError


@guarded
def score(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="RUN...")],
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Names with commas between them, as `medebench metrics` lists them; `default` "
            "stands for those that need no weights (and is the default), `ready` for all that "
            "are ready here."
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(help="offline, openai:NAME, gemini:NAME, anthropic:NAME or file.py:Name."),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Judge: address of an OpenAI-compatible server.")
    ] = None,
    rubric: Annotated[
        str | None, typer.Option(help="Judge: a built-in rubric or a YAML file.")
    ] = None,
    image_size: Annotated[
        int | None, typer.Option(help="Judge: longest side of the pictures sent.")
    ] = None,
    repeats: Annotated[int | None, typer.Option(help="Judge: ask so often, take the mean.")] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="Judge: stop before this many US dollars.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Judge: ask again instead of using kept answers.")
    ] = False,
    timeout: Annotated[float, typer.Option(min=1, help="Judge: seconds for one call.")] = 120.0,
    deadline: Annotated[
        float | None, typer.Option(min=1, help="Judge: seconds for all calls.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Judge: print calls, tokens and money; do nothing.")
    ] = False,
    device: Annotated[
        str, typer.Option(help="For metrics with a network: auto, cpu, cuda or mps.")
    ] = "auto",
    batch: Annotated[
        int | None, typer.Option(min=1, help="For metrics with a network: pictures at once.")
    ] = None,
    workers: Workers = None,
    retry_failed: RetryFailed = False,
    as_json: Json = False,
) -> None:
    """Score the outputs of runs.

    What is scored already is not done again. Runs over the same cases are best given together:
    each picture is then decoded once.

    Examples:

        medebench score runs/* --judge offline

        medebench score runs/icedit --metrics cp,cp_published

        medebench score runs/* --metrics default,lpips_alex,kid_inception,isim:biomedclip

        medebench score runs/* --judge openai:gpt-4o --dry-run

        medebench score runs/* --judge openai:qwen2-vl --base-url http://localhost:8000/v1
    """
    from medebench.clients.keys import keys_optional
    from medebench.judge import ModelJudge, find_judge
    from medebench.runs import score as run_scoring
    from medebench.runs.failed_calls import Failures
    from medebench.runs.judging import JudgeLimits, estimate_judging
    from medebench.runs.scoring import open_runs

    given = {"base_url": base_url, "rubric": rubric, "image_size": image_size, "repeats": repeats}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if judge is None and (options or dry_run or fresh or max_cost is not None):
        raise InputError("these options are for a judge; name one with --judge")
    names = None if metrics is None else [one.strip() for one in metrics.split(",") if one.strip()]
    opened = open_runs(runs)
    with keys_optional() if dry_run else nullcontext():
        found = None if judge is None else find_judge(judge, options)
    limits = JudgeLimits(max_cost, fresh, timeout, deadline)
    if dry_run:
        if not isinstance(found, ModelJudge):
            raise InputError(f"--dry-run: judge '{judge}' makes no calls and costs nothing")
        print_plan(estimate_judging(opened, found, limits, retry_failed), found.summary, as_json)
        return
    failures = Failures()
    with progress_bar("scoring") as progress:
        scored = run_scoring(
            opened,
            names,
            found,
            limits=limits,
            device=device,
            batch=batch,
            workers=workers,
            retry_failed=retry_failed,
            progress=progress,
            failures=failures,
        )
    finish_score(scored, failures, as_json)
