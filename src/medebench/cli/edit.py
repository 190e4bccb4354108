from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.common import Json, RetryFailed, Workers, guarded, progress_bar
from medebench.cli.outcome import finish_edit, print_plan


@guarded
def edit(
    cases: Annotated[str, typer.Argument(help="A folder, a metadata file or `phantoms`.")],
    editor: Annotated[str, typer.Option(help="NAME[:key=value,...] or file.py:Name.")],
    out: Annotated[Path, typer.Option(help="The run's folder; an existing one is continued.")],
    seed: Annotated[int, typer.Option(help="Seed of the run.")] = 0,
    outputs: Annotated[int, typer.Option(min=1, help="Pictures per case.")] = 1,
    organ: Annotated[list[str] | None, typer.Option(help="Only this organ (repeatable).")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N cases.")] = None,
    workers: Workers = None,
    retry_failed: RetryFailed = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what calls it would take and cost; make none.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run an editor on every case of a set.

    Interrupted, the same command continues.

    Examples:

        medebench edit phantoms --editor inpaint --out runs/inpaint

        medebench edit MedEBench --editor blur:sigma=2 --out runs/blur --organ Skin

        medebench edit MedEBench --editor mine.py:MyEditor --out runs/mine

        medebench edit MedEBench --editor gemini:gemini-nano-banana-2.1 --out runs/gemini --dry-run
    """
    from medebench.cases import load_cases
    from medebench.clients.keys import keys_optional
    from medebench.editors import find_editor
    from medebench.runs import edit as run_editor
    from medebench.runs.editing import estimate_editing
    from medebench.runs.failed_calls import Failures

    with keys_optional() if dry_run else nullcontext():
        chosen = find_editor(editor)
    with progress_bar("reading cases") as progress:
        found = load_cases(cases, progress=progress).select(organs=organ, limit=limit)
    if dry_run:
        plan = estimate_editing(
            found, chosen, out, seed=seed, outputs=outputs, retry_failed=retry_failed
        )
        print_plan(plan, chosen.name, as_json)
        return
    failures = Failures()
    with progress_bar(f"editing with {chosen.name}") as progress:
        run = run_editor(
            found,
            chosen,
            out,
            seed=seed,
            outputs=outputs,
            workers=workers,
            retry_failed=retry_failed,
            progress=progress,
            failures=failures,
        )
    finish_edit(run, failures, as_json)
