from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.command_outcome import finish
from medebench.cli.console import (
    Json,
    RetryFailed,
    Workers,
    fail,
    guarded,
    print_json,
    print_table,
    progress_bar,
    say,
    table_width,
)
from medebench.cli.tune import say_unfinished, tuning_facts, tuning_failure


@guarded
def run(
    plan: Annotated[
        str, typer.Argument(help="A YAML file, or the name of a built-in plan.")
    ] = "demo",
    out: Annotated[
        Path | None, typer.Option(help="Folder for runs and report; default: the plan's.")
    ] = None,
    workers: Workers = None,
    retry_failed: RetryFailed = False,
    as_json: Json = False,
) -> None:
    """Do everything a plan says: edit, score, ground, report, tune.

    Interrupted, the same command continues.

    Examples:

        medebench run

        medebench run plan.yaml --out results
    """
    from medebench.plan import load_plan, run_plan
    from medebench.settings import in_words

    loaded = load_plan(plan, out)
    done = run_plan(loaded, workers=workers, retry_failed=retry_failed, bar=progress_bar)
    if as_json:
        print_json(
            {
                "out": str(loaded.out),
                "runs": [str(one.path) for one in done.runs],
                "page": None if done.report is None else str(done.report.index),
                "table": None if done.report is None else done.report.table.to_json(),
                "failed": done.failed,
                "skipped": list(done.skipped),
                "stopped": list(done.stopped),
                **({} if done.tuning is None else {"tuning": tuning_facts(done.tuning)}),
            }
        )
    else:
        if done.report is not None:
            print_table(done.report.table.rich(table_width()))
            say(f"page: {done.report.index}")
        if done.runs:
            say(f"runs: {loaded.out / 'runs'}")
        for one in done.runs:
            if (tuned := one.info.tuned) is not None:
                what = in_words(tuned.tried[tuned.best].settings)
                say(
                    f"{one.name}: {what}, chosen among {len(tuned.tried)} by {tuned.metric} "
                    f"on {tuned.cases} other cases"
                )
        if done.tuning is not None:
            for line in done.tuning.words:
                say(line)
            if done.tuning.index is not None:
                say(f"page: {done.tuning.index}")
            say_unfinished(done.tuning)
        for line in done.skipped:
            say(f"skipped: {line}")
        for line in done.stopped:
            say(f"not finished: {line}")
        if done.failed:
            say(f"{done.failed} outputs failed; their reasons are in the ledgers and the report")
    if done.tuning is not None and (message := tuning_failure(done.tuning)):
        raise fail(message, 1)
    finish(done.failures, "call", " of an editor, a judge or a metric")
    if done.stopped:
        raise typer.Exit(1)
