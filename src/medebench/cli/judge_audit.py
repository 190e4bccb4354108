from __future__ import annotations

from typing import Annotated, Any

import typer

from medebench.cli.command_outcome import finish
from medebench.cli.console import Json, guarded, print_json, print_line, progress_bar
from medebench.errors import InputError


@guarded
def audit(
    judge: Annotated[str, typer.Option(help="openai:NAME, gemini:NAME or anthropic:NAME.")],
    cases: Annotated[str, typer.Option(help="Cases to take the controls from.")] = (
        "phantoms:count=13"
    ),
    base_url: Annotated[str | None, typer.Option(help="Address of the server.")] = None,
    rubric: Annotated[str | None, typer.Option(help="A built-in rubric or a YAML file.")] = None,
    image_size: Annotated[int | None, typer.Option(help="Longest side of the images sent.")] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, help="Limit in US dollars.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ignore cached answers.")] = False,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds for one call.")] = 120.0,
    deadline: Annotated[float | None, typer.Option(min=1, help="Seconds for all calls.")] = None,
    limit: Annotated[int | None, typer.Option(min=2, help="Only the first N cases.")] = None,
    as_json: Json = False,
) -> None:
    """Test a judge on images whose right answer is known, and print what it gets wrong.

    Controls: identity, reference, noise, the reference of another case, input and output swapped,
    and the same image under another wording. Exits with 1 if the judge fails one or leaves a call
    unanswered, with 2 if it answers none.

    Example: medebench judge audit --judge openai:gpt-4o
    """
    from medebench.cases import load_cases
    from medebench.judge import ModelJudge, find_judge
    from medebench.runs.judge_trials import audit_judge
    from medebench.runs.stages.judge_scores import JudgeLimits

    given = {"base_url": base_url, "rubric": rubric, "image_size": image_size}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    found = find_judge(judge, options)
    if not isinstance(found, ModelJudge):
        raise InputError(f"judge '{judge}': only models are audited; try openai:NAME")
    with progress_bar("reading cases") as progress:
        loaded = load_cases(cases, progress=progress).select(limit=limit)
    limits = JudgeLimits(max_cost, fresh, timeout, deadline)
    with progress_bar(f"auditing {judge}") as progress:
        result = audit_judge(found, loaded, limits, progress=progress)
    if as_json:
        print_json(result.to_json())
    else:
        for one in result.results:
            mark = "passed" if one.passed else "FAILED" if one.total else "silent"
            told = f"right in {one.right} of {one.total}" if one.total else "not answered"
            lost = f", {len(one.unanswered)} not answered" if one.total and one.unanswered else ""
            print_line(f"{mark}  {one.name}: {told}{lost} ({one.expected})")
            for trial in one.wrong[:5]:
                said = trial.reason or f"EA {_shown(trial.ea)}, VQ {_shown(trial.vq)}"
                print_line(f"        case {trial.case}: {said}")
        print_line(result.verdict())
    finish(result.failures, "trial")
    raise typer.Exit(0 if result.passed else 1)


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
