from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from medebench.cli.command_outcome import finish
from medebench.cli.console import (
    Json,
    guarded,
    print_json,
    print_line,
    print_table,
    progress_bar,
    table_width,
)
from medebench.errors import InputError

if TYPE_CHECKING:
    from medebench.cases import CaseSet
    from medebench.judge import ModelJudge
    from medebench.runs.stages.judge_scores import JudgeLimits


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
    """Test a judge on outputs whose right answer is known, and print what it gets wrong.

    Editing sets: the input unchanged, the reference, noise, the reference of another case, input
    and output swapped, and the same image under another wording. Sets that ask for texts, or for
    several kinds of outputs: the reference against an empty answer, the question copied, the other
    side, a negation, and the answer to another case. Exits with 1 if the judge fails one or leaves
    a call unanswered, with 2 if it answers none.

    Example: medebench judge audit --judge openai:gpt-4o
    """
    from medebench.cases import load_cases
    from medebench.judge import ModelJudge, find_judge
    from medebench.runs.judge_trials import audit_judge
    from medebench.runs.score_run import judge_for
    from medebench.runs.stages.judge_scores import JudgeLimits

    given = {"base_url": base_url, "rubric": rubric, "image_size": image_size}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    found = find_judge(judge, options)
    if not isinstance(found, ModelJudge):
        raise InputError(f"judge '{judge}': only models are audited; try openai:NAME")
    with progress_bar("reading cases") as progress:
        loaded = load_cases(cases, progress=progress).select(limit=limit)
    found = judge_for(loaded.task, judge, options)
    assert isinstance(found, ModelJudge)
    limits = JudgeLimits(max_cost, fresh, timeout, deadline)
    if loaded.task != "editing" or "ea" not in found.rubric.scores:
        _audit_order(found, loaded, limits, as_json)
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


def _audit_order(judge: ModelJudge, cases: CaseSet, limits: JudgeLimits, as_json: bool) -> NoReturn:
    """The table of how often known answers are ordered rightly, and the end of the command."""
    from medebench.reporting.judge_order_table import judge_order_table
    from medebench.runs.judge_controls import audit_answers

    with progress_bar(f"auditing {judge.client.name}") as progress:
        result = audit_answers(judge, cases, limits, progress=progress)
    table = judge_order_table(result)
    if as_json:
        names = ("judge", "rubric", "cases", "passed", "cost")
        told = {name: getattr(result, name) for name in names}
        print_json(told | {"verdict": result.verdict(), "order": table.json()})
    else:
        print_table(table.rich(table_width()))
        print_line(result.verdict())
    finish(result.failures, "trial")
    raise typer.Exit(0 if result.passed else 1)


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
