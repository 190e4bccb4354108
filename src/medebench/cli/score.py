from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from medebench.cli.command_outcome import finish_score, print_plan
from medebench.cli.console import (
    Executor,
    Json,
    RetryFailed,
    Without,
    Workers,
    guarded,
    progress_bar,
)
from medebench.errors import InputError


@guarded
def score(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="RUN...")],
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated names, as listed by `medebench metrics`; `default` stands for "
            "those of the runs' task (and is the default), `ready` for all that can be "
            "computed here, `medgen` for those of them that MedGEN-Bench has published."
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
        str | None, typer.Option(help="Judge: a built-in rubric or a file; default: the task's.")
    ] = None,
    image_size: Annotated[
        int | None, typer.Option(help="Judge: longest side of the images sent, in pixels.")
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(help="Judge: query this many times and average.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="Judge: stop before this many US dollars.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Judge: ask again instead of using cached answers.")
    ] = False,
    timeout: Annotated[float, typer.Option(min=1, help="Judge: seconds for one call.")] = 120.0,
    deadline: Annotated[
        float | None, typer.Option(min=1, help="Judge: seconds for all calls.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Judge: estimate calls, tokens and cost; do nothing.")
    ] = False,
    without: Without = None,
    device: Annotated[
        str, typer.Option(help="Metrics with a network: auto, cpu, cuda or mps.")
    ] = "auto",
    batch: Annotated[
        int | None, typer.Option(min=1, help="Metrics with a network: images per batch.")
    ] = None,
    workers: Workers = None,
    executor: Executor = "threads",
    retry_failed: RetryFailed = False,
    as_json: Json = False,
) -> None:
    """Score the outputs of runs.

    Existing scores are not recomputed. Give runs over the same cases together: each image is then
    decoded only once.

    Examples:

        medebench score runs/* --judge offline

        medebench score runs/icedit --metrics cp,cp_published

        medebench score runs/* --metrics default,lpips_alex,kid_inception,isim:biomedclip

        medebench score runs/* --judge openai:gpt-4o --dry-run

        medebench score runs/* --judge openai:qwen2-vl --base-url http://localhost:8000/v1
    """
    from medebench.judge import ModelJudge
    from medebench.models.api_keys import keys_optional
    from medebench.runs import score as run_scoring
    from medebench.runs.failed_calls import Failures
    from medebench.runs.run_folder import open_ledgers
    from medebench.runs.score_run import judge_for, open_runs, require_judge, same_task
    from medebench.runs.stages.judge_scores import JudgeLimits, estimate_judging

    given = {"base_url": base_url, "rubric": rubric, "image_size": image_size, "repeats": repeats}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if judge is None and (options or dry_run or fresh or max_cost is not None):
        raise InputError("these options are for a judge; name one with --judge")
    names = None if metrics is None else [one.strip() for one in metrics.split(",") if one.strip()]
    if names == []:
        raise InputError("--metrics: names no metric; `medebench metrics` lists them")
    opened = open_runs(runs)
    same_task(opened)
    with keys_optional() if dry_run else nullcontext():
        found = None if judge is None else judge_for(opened[0].info.task, judge, options)
    limits = JudgeLimits(max_cost, fresh, timeout, deadline)
    if dry_run:
        if not isinstance(found, ModelJudge):
            raise InputError(f"--dry-run: judge '{judge}' makes no calls and costs nothing")
        require_judge(opened, found)
        print_plan(estimate_judging(opened, found, limits, retry_failed), found.summary, as_json)
        return
    failures = Failures()
    with open_ledgers(opened):
        with progress_bar("scoring") as progress:
            scored = run_scoring(
                opened,
                names,
                found if isinstance(found, ModelJudge) else judge,
                limits=limits,
                device=device,
                batch=batch,
                workers=workers,
                retry_failed=retry_failed,
                progress=progress,
                failures=failures,
                executor=executor,
                without=without or (),
            )
        finish_score(scored, failures, as_json)
