"""`train`: make the built-in model again, and see what it can do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.common import Json, guarded, print_json, print_table, progress_bar, say


@guarded
def phantom_editor(
    out: Annotated[Path, typer.Option(help="Where to save the pipeline; must not exist yet.")],
    work: Annotated[
        Path | None,
        typer.Option(help="Where phantoms and checkpoints lie; default: in the cache."),
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Fewer or more than the recipe.")] = None,
    phantoms: Annotated[
        int | None, typer.Option(min=260, help="Fewer or more than the recipe.")
    ] = None,
) -> None:
    """Train the built-in editor again, from nothing.

    An hour or so on two cores. Stopped, the same command continues from the last
    checkpoint. The recipe, its seed and what came out are in docs/phantom-editor.md.

    Examples:

        medebench train phantom-editor --out my-editor

        medebench train evaluate my-editor

        medebench edit phantoms --editor phantom-editor:my-editor --out runs/mine
    """
    from dataclasses import replace

    from medebench.editors.diffusion.device import missing_packages
    from medebench.errors import InputError, NotReadyError
    from medebench.files import cache_folder
    from medebench.tuning.phantom_editor.recipe import RECIPE
    from medebench.tuning.phantom_editor.training import train_phantom_editor

    if lacking := missing_packages():
        raise NotReadyError(f"train: {lacking}")
    if out.exists():
        raise InputError(f"{out}: exists already; choose another --out")
    recipe = replace(
        RECIPE,
        steps=steps or RECIPE.steps,
        phantoms=phantoms or RECIPE.phantoms,
        fitted=min(RECIPE.fitted, phantoms or RECIPE.fitted),
    )
    folder = work or cache_folder() / "phantom-editor"
    train_phantom_editor(folder, out, recipe, progress_bar)
    say(f"saved in {out}; its loss curve is {folder / 'loss.png'}")


@guarded
def evaluate(
    model: Annotated[
        str, typer.Argument(help="Folder of a pipeline; default: the built-in one.")
    ] = "",
    count: Annotated[int, typer.Option(min=2, help="Phantoms never used in training.")] = 130,
    as_json: Json = False,
) -> None:
    """Print what the built-in editor does on phantoms it has never seen, with 95 % intervals.

    Examples:

        medebench train evaluate

        medebench train evaluate my-editor --count 26
    """
    from rich import box
    from rich.table import Table

    from medebench.editors import find_editor
    from medebench.tuning.phantom_editor.evaluation import evaluate as measure

    chosen = find_editor(f"phantom-editor:{model}" if model else "phantom-editor")
    chosen.require_ready()
    with progress_bar("editing") as progress:
        figures = measure(chosen, count, progress)
    if as_json:
        return print_json([one._asdict() for one in figures])
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("measure", "mean", "95 % interval", "phantoms"):
        table.add_column(column, justify="left" if column == "measure" else "right")
    for one in figures:
        ends = "-" if one.interval is None else f"{one.interval.low:.3f} to {one.interval.high:.3f}"
        table.add_row(one.name, f"{one.mean:.3f}", ends, str(one.phantoms))
    return print_table(table)
