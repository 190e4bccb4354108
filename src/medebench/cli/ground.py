"""`ground`: types of failure and counts per run, means against chance, the exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medebench.cli.command_outcome import reason_facts, run_facts, say_groups
from medebench.cli.console import (
    Executor,
    Json,
    RetryFailed,
    Workers,
    guarded,
    print_json,
    print_line,
    progress_bar,
    say,
)
from medebench.cli.listing_commands import show_rows
from medebench.errors import InputError

if TYPE_CHECKING:
    from medebench.cases import Case
    from medebench.runs import Run
    from medebench.runs.ledger import ScoreRow


@guarded
def ground(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="RUN...")],
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            help="Override a threshold between types of failure (repeatable).",
            metavar="KEY=VALUE",
        ),
    ] = None,
    workers: Workers = None,
    executor: Executor = "threads",
    retry_failed: RetryFailed = False,
    as_json: Json = False,
) -> None:
    """Find out why outputs fail.

    Compares where each output changed and, for editors that record it, where they looked with the
    region of interest, then classifies each output as a success or one type of failure.
    Measurements are kept, findings are always updated: run it again after a judge. The report
    then has a section on it.

    Examples:

        medebench ground runs/*

        medebench ground runs/icedit --threshold good_ea=0.6 --threshold wrong_spill=0.5
    """
    from medebench.grounding import Thresholds
    from medebench.runs import ground as run_grounding
    from medebench.runs.run_folder import open_ledgers
    from medebench.runs.score_run import open_runs
    from medebench.settings import read_settings

    given: dict[str, str] = {}
    for pair in threshold or []:
        key, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"--threshold '{pair}': expected key=value")
        given[key.strip()] = value.strip()
    limits = read_settings(Thresholds, given, "--threshold")
    opened = open_runs(runs)
    with open_ledgers(opened):
        with progress_bar("grounding") as progress:
            grounded = run_grounding(
                opened,
                thresholds=limits,
                workers=workers,
                retry_failed=retry_failed,
                progress=progress,
                executor=executor,
            )
        _finish(grounded, as_json)


def _finish(runs: Sequence[Run], as_json: bool) -> None:
    """Report the findings of runs; exit 1 if an output itself is missing or unreadable."""
    from medebench.runs.failed_calls import is_lost

    facts = [_summary(run) for run in runs]
    floors = _floors(runs)
    if as_json:
        print_json({"runs": facts} | ({"attention_floors": floors} if floors else {}))
    else:
        _print(facts, floors)
        if (ceiling := _ceiling(facts)) is not None:
            say(ceiling)
        for one in facts:
            print_line(f"{one['run']}: {_types(one)}")
            say_groups(one["reason_groups"], print_line)
    if any(is_lost(reason) for one in facts for reason in one["reasons"]):
        raise typer.Exit(1)


def _summary(run: Run) -> dict[str, Any]:
    from medebench.grounding import FAILURE_TYPES
    from medebench.runs.ledger import STALE, STALE_CASE
    from medebench.runs.stages.run_diagnosis import FINDING

    # A score of a picture that is no longer the output is no score of the output.
    rows = [row for row in run.scores() if row.reason not in (STALE, STALE_CASE)]
    found = [row for row in rows if row.metric == FINDING]
    types = Counter(str(row.detail["type"]) for row in found if row.value is not None)
    reasons = [row.reason for row in found if row.reason is not None]
    judges = Counter(row.detail.get("judge") for row in found if row.value is not None)
    counts = {"outputs": len(found), "types": {kind: types[kind] for kind in FAILURE_TYPES}}
    return (
        run_facts(run)
        | counts
        | {
            **reason_facts(reasons),
            "judges": {str(name or "none"): count for name, count in judges.most_common()},
            "change_iou": _mean(rows, "change_iou"),
            "attention_iou": _mean(rows, "attention_iou"),
            "attention_iou_chance": _mean(rows, "attention_iou_chance"),
        }
    )


def _ceiling(facts: Sequence[dict[str, Any]]) -> str | None:
    """Which row shows what the references themselves get, or how to have one."""
    names = [one["run"] for one in facts if one["editor"] == "reference"]
    if names:
        return f"ceiling (the references themselves): {', '.join(names)}"
    return "no ceiling: add a run of the control `reference`" if facts else None


def _floors(runs: Sequence[Run]) -> dict[str, float]:
    """By name, the mean IoU of maps that never saw the picture, on all cases with attention."""
    from medebench.grounding.attention_floors import FLOORS, case_floors

    cases: dict[str, Case] = {}
    attended = set()
    for run in runs:
        with run.ledger() as ledger:
            digests = ledger.cases()
            own = {row.case_id for row in ledger.scores() if _has_attention(row)}
        if not own:
            continue
        # Runs may hold different cases under one id.
        keys = {case.id: f"{case.id} {digests[case.id].digest}" for case in run.cases}
        cases |= {keys[case.id]: case for case in run.cases}
        attended |= {keys[case_id] for case_id in own if case_id in keys}
    every = case_floors(cases, sorted(attended)).values()
    found = [one for one in every if not isinstance(one, str)]
    means = {}
    for name, label in FLOORS.items():
        if values := [one[name].iou for one in found if name in one]:
            means[label] = sum(values) / len(values)
    return means


def _has_attention(row: ScoreRow) -> bool:
    return row.metric == "attention_iou" and row.value is not None


def _mean(rows: Iterable[ScoreRow], metric: str) -> float | None:
    values = [row.value for row in rows if row.metric == metric and row.value is not None]
    return sum(values) / len(values) if values else None


def _types(one: dict[str, Any]) -> str:
    """ "9 wrong place, 4 nothing done, 2 without a finding", the commonest first."""
    from medebench.grounding import FAILURE_TYPES

    found = sorted(one["types"].items(), key=lambda item: -item[1])
    told = [f"{count:,} {FAILURE_TYPES[kind]}" for kind, count in found if count]
    if none := sum(one["reasons"].values()):
        told.append(f"{none:,} without a finding")
    return ", ".join(told) or "no output"


def _print(facts: Sequence[dict[str, Any]], floors: dict[str, float]) -> None:
    attended = any(one["attention_iou"] is not None for one in facts)
    rows: list[dict[str, Any]] = []
    for one in facts:
        row = {"run": one["run"], "outputs": str(one["outputs"])}
        row["success"] = str(one["types"]["success"])
        row["change IoU"] = _number(one["change_iou"])
        if attended:
            chance = f" ({_number(one['attention_iou_chance'])})"
            known = one["attention_iou"] is not None
            row["attention IoU (chance)"] = _number(one["attention_iou"]) + chance * known
        rows.append(row)
    for label, mean in floors.items():
        rows.append(dict.fromkeys(rows[0], "") | {"run": f"floor: {label}"})
        rows[-1]["attention IoU (chance)"] = _number(mean)
    show_rows(rows)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
