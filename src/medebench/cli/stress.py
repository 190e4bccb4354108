from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medebench.cli.command_outcome import finish
from medebench.cli.console import (
    Json,
    RetryFailed,
    Workers,
    guarded,
    print_json,
    print_table,
    progress_bar,
    say,
    table_width,
)

if TYPE_CHECKING:
    from medebench.stresstest.stress_run import StressResult


@guarded
def stress(
    plan: Annotated[
        str,
        typer.Argument(
            help="A YAML file, or a recipe: acquisition, manifestation, population, demo (all)."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder for everything; an existing one is continued.")
    ] = None,
    count: Annotated[
        int | None, typer.Option(help="Phantoms in the test set, 4 or more (recipes only).")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Phantom seed, 0-4999 (recipes only).")] = None,
    editor: Annotated[
        str | None, typer.Option(help="Editor to use instead of the recipe's (recipes only).")
    ] = None,
    workers: Workers = None,
    retry_failed: RetryFailed = False,
    as_json: Json = False,
) -> None:
    """Find out whether a predictor sees the disease or what usually comes with it.

    Images of the test set are edited so that only one of the two is left, and the predictor is
    asked again. Interrupted, the same command continues. docs/stress.md shows how to test your
    own classifier on your own data.

    Examples:

        medebench stress demo --out stress

        medebench stress manifestation --out drains

        medebench stress plan.yaml
    """
    from medebench.stresstest.stress_call import stress as run_tests

    done = run_tests(
        plan,
        out,
        count=count,
        seed=seed,
        editor=editor,
        workers=workers,
        retry_failed=retry_failed,
        bar=progress_bar,
    )
    failed = done.without_output
    if as_json:
        tests = [_json(one) for one in done.tests]
        print_json({"page": str(done.index), "failed": failed, "tests": tests})
    else:
        for one in done.tests:
            _print(one)
        say(f"page: {done.index}")
        if failed:
            what = "1 edit has" if failed == 1 else f"{failed} edits have"
            say(f"{what} no output; the reasons are on the page and in the ledger")
    finish(done.failures, "edit")


def _print(one: StressResult) -> None:
    from collections import Counter
    from dataclasses import replace

    from medebench.stresstest.page.stress_formats import status
    from medebench.stresstest.page.stress_tables import headline_table

    outcome = one.outcome
    print_table(replace(headline_table(outcome), notes=()).rich(table_width()))
    found = Counter(status(edit) for edit in outcome.edits)
    counted = f"{found['kept']} kept, {found['thrown']} discarded, {found['failed']} failed"
    say(f"{outcome.name}: of {len(outcome.edits)} edits {counted}")
    for paragraph in outcome.words:
        say(paragraph)


def _json(one: StressResult) -> dict[str, Any]:
    import json

    found: dict[str, Any] = json.loads((one.index.parent / "results.json").read_text("utf-8"))
    return {"out": str(one.plan.out), **found}
