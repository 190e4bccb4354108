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
    from medebench.cases.hub import get_cases, is_complete

    complete = is_complete(name, out.expanduser().absolute(), revision)
    with progress_bar(f"fetching {name}") as progress:
        cases = get_cases(name, out.expanduser().absolute(), revision=revision, progress=progress)
    if as_json:
        facts = {"cases": len(cases), "problems": len(cases.problems), "already_complete": complete}
        print_json({"out": str(cases.root)} | facts)
    else:
        before = "already complete: " if complete else ""
        audited = f"`medebench cases check {out}` audits them"
        say(f"{before}{len(cases)} cases in {cases.root}; {audited}")
