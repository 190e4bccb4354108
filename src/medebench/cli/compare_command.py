from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.console import (
    Json,
    guarded,
    print_json,
    print_line,
    print_table,
    progress_bar,
    say,
    table_width,
)
from medebench.errors import InputError


@guarded
def compare(
    baseline: Annotated[
        Path, typer.Argument(help="A scored run, or a file that --save wrote.", metavar="BASELINE")
    ],
    run: Annotated[
        Path | None, typer.Argument(help="The scored run to compare with it.", metavar="RUN")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Comma-separated names; default: all that both have.")
    ] = None,
    failures: Annotated[
        str,
        typer.Option(help="count: a failed output counts as doing nothing; omit: it is left out."),
    ] = "count",
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            help="A difference up to this is not worse; for all metrics or one (repeatable).",
            metavar="[METRIC=]VALUE",
        ),
    ] = None,
    identity: Annotated[
        Path | None,
        typer.Option(help="A scored run of the control identity: what doing nothing scores."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Keep the scores of BASELINE in this JSON file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare a run with a baseline, paired over the cases both have.

    Exits with 1 if the run is significantly worse on any metric (5 %, corrected for their number),
    with 0 if not, with 2 if the two cannot be compared.

    Examples:

        medebench compare runs/v1 runs/v2

        medebench compare runs/v1 --save baseline.json

        medebench compare baseline.json runs/v2 --metrics cp,ssim --tolerance cp=0.01
    """
    from medebench.reporting.baseline import save_baseline
    from medebench.reporting.run_comparison import compare as compare_two

    limits = _limits(tolerance or [])
    if run is None and save is None:
        raise InputError("give a run to compare with the baseline, or --save FILE to keep one")
    if save is not None:
        if baseline.is_file():
            raise InputError(f"--save: {baseline} is saved already; give a run's folder")
        kept = save_baseline(baseline, save)
        if run is None:
            return print_json({"saved": str(kept)}) if as_json else say(f"baseline: {kept}")
    assert run is not None
    with progress_bar("scoring what doing nothing gets") as progress:
        found = compare_two(
            baseline,
            run,
            metrics=metrics,
            failures=failures,  # type: ignore[arg-type]  # refused there
            tolerance=limits,
            identity=identity,
            progress=progress,
        )
    if as_json:
        print_json(found.to_json())
    else:
        print_table(found.table().rich(table_width()))
        print_line(found.verdict)
    raise typer.Exit(1 if found.worse else 0)


def _limits(given: list[str]) -> float | dict[str, float]:
    """One tolerance for all metrics, or one by name."""
    found: dict[str, float] = {}
    for pair in given:
        name, equals, value = pair.rpartition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            raise InputError(f"--tolerance '{pair}': expected VALUE or METRIC=VALUE") from None
        if not equals and len(given) > 1:
            raise InputError(f"--tolerance '{pair}': one for all metrics stands alone")
    return found.get("", 0.0) if "" in found or not found else found
