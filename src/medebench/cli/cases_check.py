from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medebench.cli.common import Json, Workers, guarded, print_json, print_line, progress_bar, say
from medebench.errors import InputError

if TYPE_CHECKING:
    from medebench.cases.audit import Audit


@guarded
def check(
    cases: Annotated[str, typer.Argument(help="A folder, a metadata file or `phantoms`.")],
    fix: Annotated[
        bool, typer.Option("--fix", help="Write a repaired copy to --out as well.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Where the repaired copy goes.")] = None,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Audit a set of cases: every file is read once, every flaw gets a remedy.

    Ends with 0 if there are at most warnings, with 1 if there are errors.

    Examples:

        medebench cases check MedEBench

        medebench cases check MedEBench --fix --out MedEBench-fixed
    """
    from medebench.cases import load_cases
    from medebench.cases.audit import audit
    from medebench.cases.audit import fix as repair

    if fix != (out is not None):
        raise InputError("--fix and --out go together: --fix --out FOLDER")
    with progress_bar("reading cases") as progress:
        found = load_cases(cases, strict=False, progress=progress)
    if not found.cases and not found.problems:
        raise InputError(f"{found.source}: holds no case")
    fixed = None
    if out is not None:
        with progress_bar("repairing") as progress:
            fixed = repair(found, out.expanduser().absolute(), workers=workers, progress=progress)
    with progress_bar("checking") as progress:
        result = audit(found, workers=workers, progress=progress)
    if as_json:
        print_json(result.to_json() | ({"fix": fixed.to_json()} if fixed else {}))
    else:
        _print(result)
        if fixed is not None:
            say(fixed.summary())
            for one in fixed.left_out[:20]:
                say(f"  left out: case {one.case}: {one.reason}")
    raise typer.Exit(result.exit_code)


def _ids(cases: tuple[str, ...], most: int = 24) -> str:
    more = f", ... ({len(cases)} in all; --json lists them)" if len(cases) > most else ""
    return ", ".join(cases[:most]) + more


def _print(result: Audit) -> None:
    marks = {"error": "error  ", "warning": "warning", "note": "note   "}
    for finding in result.findings:
        print_line(f"{marks[finding.severity]}  {finding.title}: {finding.detail}")
        print_line(f"         cases:  {_ids(finding.cases)}")
        print_line(f"         remedy: {finding.remedy}")
    print_line(
        f"{result.name}: {result.cases} cases, {result.files} files; "
        f"{result.errors} errors, {result.warnings} warnings, {result.notes} notes"
    )
