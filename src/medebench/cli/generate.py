"""`generate`, and `edit`, its name for editing sets."""

from __future__ import annotations

from contextlib import nullcontext
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from medebench.cli.command_outcome import finish_edit, print_plan
from medebench.cli.console import Executor, Json, RetryFailed, Workers, guarded, progress_bar


@guarded
def generate(
    cases: Annotated[str, typer.Argument(help="A folder, a file of records or a built-in set.")],
    system: Annotated[
        str,
        typer.Option(
            "--system", "--editor", help="NAME[:key=value,...], file.py:Name or a trained FOLDER."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The run's folder; an existing one is continued.")],
    task: Annotated[
        str | None, typer.Option(help="Task of a folder with a table: a name or file.py:Name.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the run.")] = 0,
    outputs: Annotated[int, typer.Option(min=1, help="Outputs per case.")] = 1,
    organ: Annotated[list[str] | None, typer.Option(help="Only this organ (repeatable).")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N cases.")] = None,
    workers: Workers = None,
    executor: Executor = "threads",
    retry_failed: RetryFailed = False,
    circular: Annotated[
        bool,
        typer.Option("--circular", help="Ask once for each rotation of the choices of a question."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate API calls and cost without making any.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a system on every case of a set, whatever its task: images, texts or both come out.

    Interrupted, the same command continues.

    Examples:

        medebench generate phantoms --system inpaint --out runs/inpaint

        medebench generate questions.py:QUESTIONS --system mine.py:Answerer --out runs/mine

        medebench generate questions.py:QUESTIONS --system mine.py:Answerer --circular --out runs/c

        medebench generate SET --system openai:gpt-4o,max_cost=5 --out runs/gpt-4o

        medebench generate SET --system composed:openai:gpt-4o+qwen-image-edit --out runs/two
    """
    from medebench.cases import load_cases
    from medebench.models.api_keys import keys_optional
    from medebench.runs.failed_calls import Failures
    from medebench.runs.generate_run import estimate_generation
    from medebench.runs.generate_run import generate as run_system
    from medebench.systems import find_system
    from medebench.tasks import find_task

    system = f"circular:{system}" if circular else system
    with keys_optional() if dry_run else nullcontext():
        found = find_system(system)
    with progress_bar("reading cases") as progress:
        if task:
            find_task(task)
        chosen = load_cases(cases, task=task, progress=progress).select(organs=organ, limit=limit)
    if dry_run:
        plan = estimate_generation(
            chosen, found, out, seed=seed, outputs=outputs, retry_failed=retry_failed
        )
        print_plan(plan, found.name, as_json)
        return
    failures = Failures()
    verb = "editing" if found.noun == "editor" else "running"
    with progress_bar(f"{verb} with {found.name}") as progress:
        run = run_system(
            chosen,
            # Only a name travels to another process.
            found if executor == "threads" else system,
            out,
            seed=seed,
            outputs=outputs,
            workers=workers,
            retry_failed=retry_failed,
            progress=progress,
            failures=failures,
            executor=executor,
        )
    finish_edit(run, failures, as_json)


@wraps(generate, assigned=("__module__", "__annotations__"))
def edit(**given: Any) -> None:
    """Run an editor on every case of an editing set.

    Interrupted, the same command continues. It is `generate` by another name.

    Examples:

        medebench edit phantoms --editor inpaint --out runs/inpaint

        medebench edit MedEBench --editor blur:sigma=2 --out runs/blur --organ Skin

        medebench edit MedEBench --editor mine.py:MyEditor --out runs/mine

        medebench edit MedEBench --editor gemini:gemini-nano-banana-2.1 --out runs/gemini --dry-run
    """
    generate(**given)
