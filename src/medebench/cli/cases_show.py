from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.common import Json, guarded, print_json, print_line, progress_bar, say


@guarded
def show(
    cases: Annotated[str, typer.Argument(help="A folder, a metadata file or `phantoms`.")],
    case_id: Annotated[str | None, typer.Argument(help="One case; without it, a summary.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Also write previous, reference and ROI as one PNG.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Look at a set of cases, or at one case.

    Examples:

        medebench cases show phantoms

        medebench cases show phantoms 7 --out case7.png
    """
    from medebench.cases import load_cases
    from medebench.cases.show import describe_case, describe_set, strip
    from medebench.errors import InputError
    from medebench.files import write_bytes

    with progress_bar("reading cases") as progress:
        found = load_cases(cases, progress=progress)
    if out is not None and case_id is None:
        raise InputError("--out needs the id of one case")
    facts = describe_set(found) if case_id is None else describe_case(found[case_id])
    if out is not None and case_id is not None:
        write_bytes(out.expanduser().absolute(), strip(found[case_id]))
        say(f"picture in {out}")
    if as_json:
        return print_json(facts)
    for name, value in facts.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {count}" for key, count in value.items())
        print_line(f"{name + ':':18} {value}")
    return None
