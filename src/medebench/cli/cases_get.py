from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.common import Json, guarded, print_json, progress_bar, say


@guarded
def get(
    name: Annotated[str, typer.Argument(help="medebench, or hub:owner/name.")],
    out: Annotated[Path, typer.Option(help="Folder to write; must not exist yet.")],
    revision: Annotated[str, typer.Option(help="Branch, tag or commit.")] = "main",
    as_json: Json = False,
) -> None:
    """Fetch a published set of cases from the Hugging Face hub; interrupted, it continues.

    Example: medebench cases get medebench --out MedEBench
    """
    from medebench.cases.hub import get_cases

    with progress_bar(f"fetching {name}") as progress:
        cases = get_cases(name, out.expanduser().absolute(), revision=revision, progress=progress)
    if as_json:
        print_json({"out": str(cases.root), "cases": len(cases), "problems": len(cases.problems)})
    else:
        say(f"{len(cases)} cases in {cases.root}; `medebench cases check {out}` audits them")
