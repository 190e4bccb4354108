"""`metrics`, `judges`: what is there, and what each needs."""

from __future__ import annotations

from typing import Any

from medebench.cli.console import Json, guarded, print_json, print_line, print_table


@guarded
def metrics(as_json: Json = False) -> None:
    """List the metrics: direction, range, what each needs, and whether it is ready here.

    The CLIP family takes an encoder: isim:biomedclip, isim:owner/model, isim:FOLDER. Others take
    a file of weights: lpips_alex:FILE.

    Example: medebench metrics
    """
    from medebench.metrics import list_metrics

    rows: list[dict[str, Any]] = [
        {
            "metric": one.name,
            "better": one.better,
            "range": [_finite(one.low), _finite(one.high)],
            "needs": list(one.needs) or ["nothing"],
            "ready": one.problem or "yes",
            "summary": one.summary,
        }
        for one in list_metrics()
    ]
    if as_json:
        return print_json(rows)
    lacking: dict[str, list[str]] = {}
    for row in rows:
        if row["ready"] != "yes":
            lacking.setdefault(str(row["ready"]), []).append(str(row["metric"]))
            row["ready"] = "no"
    show_rows(rows)
    for problem, names in lacking.items():
        print_line(f"{', '.join(names)}: {problem}")
    return None


def _finite(limit: float) -> float | None:
    return None if limit in (float("inf"), float("-inf")) else limit


@guarded
def judges(as_json: Json = False) -> None:
    """List the judges: what each scores and needs, and whether it is ready here.

    Example: medebench judges
    """
    from medebench.judge import list_judges

    rows: list[dict[str, Any]] = [
        {
            "judge": one.name,
            "version": one.version,
            "stand-in": one.stand_in,
            "scores": list(one.scores) or ["those of its rubric"],
            "needs": " ".join(one.needs) or "nothing",
            "ready": one.problem or "yes",
            "summary": one.summary,
        }
        for one in list_judges()
    ]
    return print_json(rows) if as_json else show_rows(rows)


def show_rows(rows: list[dict[str, Any]]) -> None:
    """A table with a column for every key."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for number, column in enumerate(rows[0]):
        # What is to be typed is never cut.
        table.add_column(column, no_wrap=number == 0)
    for row in rows:
        # Text, not markup: "[judges]" is the name of an extra.
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    print_table(table)


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={one}" for key, one in value.items()) or "-"
    if isinstance(value, list):
        if all(one is None or isinstance(one, float) for one in value):
            low, high = ("∞" if one is None else f"{one:g}" for one in value)
            return f"{'−' if low == '∞' else ''}{low} to {high}"
        return ", ".join(map(str, value))
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else value
