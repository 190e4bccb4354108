"""How ground ends: types and counts per run, means against chance, the exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import typer

from medebench.cli.common import print_json, print_table, say
from medebench.cli.outcome import is_broken, run_facts, say_reasons

if TYPE_CHECKING:
    from medebench.cases import Case
    from medebench.runs import Run
    from medebench.runs.ledger import ScoreRow


def finish_ground(runs: Sequence[Run], as_json: bool) -> None:
    """Report the findings of runs; exit 1 if an output itself is missing or unreadable."""
    facts = [_summary(run) for run in runs]
    floors = _floors(runs)
    if as_json:
        print_json({"runs": facts} | ({"attention_floors": floors} if floors else {}))
    else:
        _print(facts, floors)
        for one in facts:
            if one["reasons"]:
                say(f"{one['run']}: {sum(one['reasons'].values())} outputs without a finding")
                say_reasons(one["reasons"])
    if any(is_broken(reason) for one in facts for reason in one["reasons"]):
        raise typer.Exit(1)


def _summary(run: Run) -> dict[str, Any]:
    from medebench.grounding import FAILURE_TYPES
    from medebench.runs.diagnosing import FINDING
    from medebench.runs.ledger import STALE, STALE_CASE

    # A score of a picture that is no longer the output is no score of the output.
    rows = [row for row in run.scores() if row.reason not in (STALE, STALE_CASE)]
    found = [row for row in rows if row.metric == FINDING]
    types = Counter(str(row.detail["type"]) for row in found if row.value is not None)
    reasons = Counter(row.reason for row in found if row.reason is not None)
    judges = Counter(row.detail.get("judge") for row in found if row.value is not None)
    return run_facts(run) | {
        "outputs": len(found),
        "types": {kind: types[kind] for kind in FAILURE_TYPES},
        "reasons": dict(reasons.most_common()),
        "judges": {str(name or "none"): count for name, count in judges.most_common()},
        "change_iou": _mean(rows, "change_iou"),
        "attention_iou": _mean(rows, "attention_iou"),
        "attention_iou_chance": _mean(rows, "attention_iou_chance"),
    }


def _floors(runs: Sequence[Run]) -> dict[str, float]:
    """By name, the mean IoU of maps that never saw the picture, on all cases with attention."""
    from medebench.grounding.floors import FLOORS, case_floors

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


def _print(facts: Sequence[dict[str, Any]], floors: dict[str, float]) -> None:
    from rich.table import Table
    from rich.text import Text

    from medebench.grounding import FAILURE_TYPES

    table = Table(expand=False)
    table.add_column("run", overflow="fold")
    table.add_column("outputs", justify="right")
    for label in FAILURE_TYPES.values():
        table.add_column(label, justify="right")
    table.add_column("no finding", justify="right")
    table.add_column("change IoU", justify="right")
    attended = any(one["attention_iou"] is not None for one in facts)
    if attended:
        table.add_column("attention IoU (chance)", justify="right")
    for one in facts:
        cells: list[str | Text] = [Text(one["run"]), str(one["outputs"])]
        cells += [str(count) for count in one["types"].values()]
        cells += [str(sum(one["reasons"].values())), _number(one["change_iou"])]
        if attended:
            level = _number(one["attention_iou_chance"])
            known = one["attention_iou"] is not None
            cells.append(f"{_number(one['attention_iou'])} ({level})" if known else "–")
        table.add_row(*cells)
    for label, mean in floors.items():
        blank = [""] * (len(table.columns) - 2)
        table.add_row(f"floor: {label}", *blank, _number(mean), style="dim")
    print_table(table)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
