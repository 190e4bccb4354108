from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medebench.cli.common import (
    Json,
    RetryFailed,
    Workers,
    guarded,
    print_json,
    print_table,
    progress_bar,
    say,
)
from medebench.cli.outcome import finish

if TYPE_CHECKING:
    from medebench.stress.outcome import Quantity, Which
    from medebench.stress.page.texts import Measure
    from medebench.stress.running import Stressed

DEMO = "demo"


@guarded
def stress(
    plan: Annotated[
        str,
        typer.Argument(
            help="A YAML file; or on phantoms: acquisition, manifestation, population, demo (all)."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder for everything; an existing one is continued.")
    ] = None,
    count: Annotated[
        int | None, typer.Option(help="Phantoms in the test set, 4 or more (recipes only).")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Other phantoms, 0 to 4999 (recipes only).")
    ] = None,
    editor: Annotated[
        str | None, typer.Option(help="Another editor than the recipe's (recipes only).")
    ] = None,
    workers: Workers = None,
    retry_failed: RetryFailed = False,
    as_json: Json = False,
) -> None:
    """Find out whether a predictor sees the disease, or what usually comes with it.

    Pictures of the test set are edited so that only one of the two is left, and the predictor is
    asked again. Interrupted, the same command continues. docs/stress.md starts from your own
    table and classifier.

    Examples:

        medebench stress demo --out stress

        medebench stress manifestation --out drains

        medebench stress plan.yaml
    """
    from medebench.errors import InputError
    from medebench.runs.failed_calls import Failures
    from medebench.stress.recipes import SHIFTS

    how: dict[str, Any] = {"bar": progress_bar, "workers": workers, "retry_failed": retry_failed}
    asked = {"count": count, "seed": seed, "editor": editor}
    given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    if plan == DEMO or plan in SHIFTS:
        from medebench.stress.demonstrating import run_recipes

        shifts = SHIFTS if plan == DEMO else [shift for shift in SHIFTS if shift == plan]
        folder = (out or Path(f"stress-{plan}")).expanduser().absolute()
        done, index = run_recipes(shifts, folder, **how, **given)
    else:
        from medebench.stress.plan import read_stress
        from medebench.stress.running import run_stress

        for name in given:
            raise InputError(f"--{name}: is for the recipes on phantoms; say it in {plan}")
        one = run_stress(read_stress(plan, out), **how)
        done, index = [one], one.index
    failures = Failures()
    for one in done:
        failures.update(one.failures)
    failed = sum(not edit.output for one in done for edit in one.outcome.edits)
    if as_json:
        print_json({"page": str(index), "failed": failed, "tests": [_json(one) for one in done]})
    else:
        for one in done:
            _print(one)
        say(f"page: {index}")
        if failed:
            what = "1 edit has" if failed == 1 else f"{failed} edits have"
            say(f"{what} no picture; the reasons are on the page and in the ledger")
    finish(failures, "edit")


def _print(one: Stressed) -> None:
    from collections import Counter

    from rich import box
    from rich.table import Table

    from medebench.stress.page.texts import MEASURES, status

    outcome = one.outcome
    measure = MEASURES[outcome.headline]
    unit = f", {measure.unit}" if measure.unit else ""
    table = Table(box=box.SIMPLE_HEAD, title=f"{outcome.name}: {outcome.headline}{unit}")
    shown: dict[str, tuple[Which, str]] = {
        "test set": ("original", outcome.headline),
        "before": ("before", outcome.headline),
        "edited": ("edited", outcome.headline),
        "loss": ("loss", outcome.headline),
    }
    if outcome.task == "classification":
        # What the verdict goes by.
        shown["loss, same labels"] = ("loss", "accuracy_matched")
    for column in ("predictor", *shown, "verdict"):
        table.add_column(column, justify="left" if column in ("predictor", "verdict") else "right")
    for predictor in outcome.predictors:
        cells = [_cell(predictor.table[which].get(name), measure) for which, name in shown.values()]
        name = f"{predictor.name} (reference)" if predictor.reference else predictor.name
        table.add_row(name, *cells, outcome.verdict.get(predictor.name, ""))
    print_table(table)
    found = Counter(status(edit) for edit in outcome.edits)
    counted = f"{found['kept']} kept, {found['thrown']} thrown away, {found['failed']} failed"
    say(f"{outcome.name}: of {len(outcome.edits)} edits {counted}")
    for paragraph in outcome.words:
        say(paragraph)


def _cell(quantity: Quantity | None, measure: Measure) -> str:
    if quantity is None or quantity.value is None:
        return "-"
    shown = measure.text(quantity.value)
    return shown if quantity.interval is None else f"{shown} ({measure.ends(quantity.interval)})"


def _json(one: Stressed) -> dict[str, Any]:
    import json

    found: dict[str, Any] = json.loads((one.index.parent / "results.json").read_text("utf-8"))
    return {"out": str(one.plan.out), **found}
