"""`train`: make the built-in models again, and see what they can do."""

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

    from medebench.files import cache_folder
    from medebench.tuning.phantom_editor.recipe import RECIPE
    from medebench.tuning.phantom_editor.training import train_phantom_editor

    _require(out)
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
def chest_model(
    out: Annotated[Path, typer.Option(help="Where to save the pipeline; must not exist yet.")],
    work: Annotated[
        Path | None,
        typer.Option(help="Where pictures and checkpoints lie; default: in the cache."),
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Fewer or more than the recipe.")] = None,
    patients: Annotated[
        int | None, typer.Option(min=250, help="Fewer or more than the recipe.")
    ] = None,
) -> None:
    """Train the built-in model of chest radiographs again, from nothing.

    Under an hour on two cores. Stopped, the same command continues from the last
    checkpoint. The recipe is in `medebench/tuning/chest_model/recipe.py`.

    Examples:

        medebench train chest-model --out my-chests

        medebench edit chest-phantoms --editor radedit:my-chests --out runs/mine
    """
    from dataclasses import replace

    from medebench.files import cache_folder
    from medebench.tuning.chest_model.recipe import RECIPE
    from medebench.tuning.chest_model.training import train_chest_model

    _require(out)
    recipe = replace(
        RECIPE,
        steps=steps or RECIPE.steps,
        # A short training warms up in a part of its steps.
        warm_up=min(RECIPE.warm_up, (steps or RECIPE.steps) // 2),
        patients=patients or RECIPE.patients,
        fitted=min(RECIPE.fitted, patients or RECIPE.fitted),
    )
    folder = work or cache_folder() / "chest-model"
    train_chest_model(folder, out, recipe, progress_bar)
    say(f"saved in {out}; the work lies in {folder}")


def _require(out: Path) -> None:
    from medebench.editors.diffusion.device import missing_packages
    from medebench.errors import InputError, NotReadyError

    if lacking := missing_packages():
        raise NotReadyError(f"train: {lacking}")
    if out.exists():
        raise InputError(f"{out}: exists already; choose another --out")


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
