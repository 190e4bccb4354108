from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.console import (
    Json,
    Workers,
    guarded,
    print_json,
    print_table,
    progress_bar,
    say,
    table_width,
)


@guarded
def describe(
    cases: Annotated[str, typer.Argument(help="A folder, a file of records or a built-in set.")],
    out: Annotated[Path, typer.Option(help="Folder of the page; an earlier one is updated.")],
    encoder: Annotated[
        str | None,
        typer.Option(help="Also compare prompts with images; never downloaded.", metavar="NAME"),
    ] = None,
    device: Annotated[str, typer.Option(help="Of the encoder: auto, cpu, cuda or mps.")] = "auto",
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Draw what a set is made of: groups, image sizes, ROIs, texts, sources.

    A page, figures (SVG, PDF) and tables (CSV); `cases check` says what is wrong with a set.

    Examples:

        medebench cases describe MedEBench --out described

        medebench cases describe MedEBench --encoder clip-vit-l14 --out described
    """
    from medebench.reporting.set_description import describe_cases

    with progress_bar("reading cases") as progress:
        made = describe_cases(
            cases, out, encoder=encoder, device=device, workers=workers, progress=progress
        )
    if as_json:
        print_json({"page": str(made.index), "numbers": made.numbers.json()})
    else:
        print_table(made.numbers.rich(table_width()))
        say(f"page: {made.index}")
