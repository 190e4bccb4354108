from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.console import Json, guarded, print_json, progress_bar, say


@guarded
def figure(
    runs: Annotated[
        list[Path], typer.Argument(help="Scored run folders, or one sweep.", metavar="RUN...")
    ],
    cases: Annotated[str, typer.Option(help="Ids of the cases, such as 48,102.")],
    out: Annotated[Path, typer.Option(help="File to write: .svg, .pdf or .png.")],
    metrics: Annotated[
        str | None,
        typer.Option(help="Scores under each output; those that lead the report by default."),
    ] = None,
    k: Annotated[
        int | None, typer.Option(min=0, help="Which output of each case; the first by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw chosen cases as one figure: input, reference, every output with its scores.

    A sweep is drawn as a grid over its settings.

    Examples:

        medebench figure runs/* --cases 48,102 --metrics cp,ssim --out figure.pdf

        medebench figure results/sweeps/tuned --cases 48 --out settings.svg
    """
    from medebench.reporting.case_figure import case_figure

    ids, names = _split(cases), None if metrics is None else _split(metrics)
    with progress_bar("drawing") as progress:
        path = case_figure(runs, ids, out.expanduser(), metrics=names, k=k)
        progress(1, 1)
    if as_json:
        print_json({"figure": str(path), "cases": ids})
    else:
        say(f"figure: {path}")


def _split(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]
