"""`train`: retrain and evaluate the built-in models."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medebench.cli.console import Json, guarded, print_json, progress_bar, say
from medebench.cli.listing_commands import show_rows
from medebench.errors import InputError, NotReadyError

if TYPE_CHECKING:
    from medebench.analysis.estimate import Estimate
    from medebench.analysis.interval import Interval

Out = Annotated[Path, typer.Option(help="Where to save the model; must not exist yet.")]
Work = Annotated[
    Path | None, typer.Option(help="Folder for images and checkpoints; default: in the cache.")
]
Steps = Annotated[int | None, typer.Option(min=1, help="Override the recipe's number of steps.")]
_COUNT = "Override the recipe's number of"


@guarded
def phantom_editor(
    out: Out,
    work: Work = None,
    steps: Steps = None,
    phantoms: Annotated[int | None, typer.Option(min=260, help=f"{_COUNT} phantoms.")] = None,
) -> None:
    """Train the built-in editor again, from scratch.

    About an hour on two cores. Interrupted, the same command continues from the last checkpoint.
    The recipe, its seed and the results are in docs/phantom-editor.md.

    Examples:

        medebench train phantom-editor --out my-editor

        medebench train evaluate my-editor

        medebench edit phantoms --editor phantom-editor:my-editor --out runs/mine
    """
    from medebench.phantoms.training.model_recipes import EDITOR
    from medebench.phantoms.training.phantom_editor.train_phantom_editor import train_phantom_editor

    folder = _prepare(out, work, "phantom-editor")
    recipe = replace(
        EDITOR,
        steps=steps or EDITOR.steps,
        phantoms=phantoms or EDITOR.phantoms,
        fitted=min(EDITOR.fitted, phantoms or EDITOR.fitted),
    )
    train_phantom_editor(folder, out, recipe, progress_bar)
    say(f"saved in {out}; its loss curve is {folder / 'loss.png'}")


@guarded
def chest_model(
    out: Out,
    work: Work = None,
    steps: Steps = None,
    patients: Annotated[int | None, typer.Option(min=250, help=f"{_COUNT} patients.")] = None,
) -> None:
    """Train the built-in model of chest radiographs again, from scratch.

    Under an hour on two cores. Interrupted, the same command continues from the last checkpoint.
    The recipe is in `medebench/phantoms/training/model_recipes.py`.

    Examples:

        medebench train chest-model --out my-chests

        medebench edit chest-phantoms --editor radedit:my-chests --out runs/mine
    """
    from medebench.phantoms.training.chest_model.train_chest_model import train_chest_model
    from medebench.phantoms.training.model_recipes import CHEST

    folder = _prepare(out, work, "chest-model")
    recipe = replace(
        CHEST,
        steps=steps or CHEST.steps,
        # A short training warms up in a part of its steps.
        warm_up=min(CHEST.warm_up, (steps or CHEST.steps) // 2),
        patients=patients or CHEST.patients,
        fitted=min(CHEST.fitted, patients or CHEST.fitted),
    )
    train_chest_model(folder, out, recipe, progress_bar)
    say(f"saved in {out}; checkpoints are in {folder}")


@guarded
def chest_encoder(
    out: Out,
    work: Work = None,
    steps: Steps = None,
    patients: Annotated[int | None, typer.Option(min=1, help=f"{_COUNT} patients.")] = None,
) -> None:
    """Train the built-in encoder of the edit score again, from scratch.

    About five minutes on one core. Interrupted, the same command continues from the last
    checkpoint. The recipe, its seed and the results are in docs/chest-encoder.md.

    Examples:

        medebench train chest-encoder --out my-encoder

        medebench train evaluate-encoder my-encoder

        medebench score runs/mine --metrics edit_score:my-encoder
    """
    from medebench.phantoms.training.chest_encoder.train_chest_encoder import train_chest_encoder
    from medebench.phantoms.training.model_recipes import ENCODER

    folder = _prepare(out, work, "chest-encoder")
    recipe = replace(ENCODER, steps=steps or ENCODER.steps, patients=patients or ENCODER.patients)
    train_chest_encoder(folder, out, recipe, progress_bar)
    say(f"saved in {out}; its loss curve is {folder / 'loss.json'}")


def _prepare(out: Path, work: Path | None, name: str) -> Path:
    """The folder to work in, if the packages are there and nothing is in the way."""
    from medebench.device import TRANSFORMERS, missing_releases
    from medebench.files import cache_folder
    from medebench.systems.diffusion.diffusion_device import missing_packages

    encoder = name == "chest-encoder"
    if lacking := missing_releases(TRANSFORMERS, "metrics") if encoder else missing_packages():
        raise NotReadyError(f"train: {lacking}")
    if out.exists():
        raise InputError(f"{out}: exists already; choose another --out")
    return work or cache_folder() / name


@guarded
def evaluate(
    model: Annotated[
        str, typer.Argument(help="Folder of a pipeline; default: the built-in one.")
    ] = "",
    count: Annotated[int, typer.Option(min=2, help="Phantoms never used in training.")] = 130,
    as_json: Json = False,
) -> None:
    """Evaluate the built-in editor on phantoms it has never seen, with 95 % intervals.

    Examples:

        medebench train evaluate

        medebench train evaluate my-editor --count 26
    """
    from medebench.phantoms.training.phantom_editor.editor_evaluation import evaluate as measure
    from medebench.systems import find_system

    chosen = find_system(f"phantom-editor:{model}" if model else "phantom-editor")
    chosen.require_ready()
    with progress_bar("editing") as progress:
        figures = measure(chosen, count, progress)
    if as_json:
        return print_json([one._asdict() for one in figures])
    rows: list[dict[str, Any]] = [
        {
            "measure": one.name,
            "mean": f"{one.mean:.3f}",
            "95 % interval": _ends(one.interval) or one.why,
            "phantoms": str(one.phantoms),
        }
        for one in figures
    ]
    return show_rows(rows)


@guarded
def evaluate_encoder(
    encoder: Annotated[
        str, typer.Argument(help="A known encoder, a hub id or a folder.")
    ] = "chest-phantoms",
    count: Annotated[int, typer.Option(min=4, help="Patients never used in training.")] = 40,
    threshold: Annotated[
        float, typer.Option(min=-1, max=1, help="Edits that score lower are rejected.")
    ] = 0.2,
    whole: Annotated[
        bool, typer.Option("--whole", help="List every finding, device and kind of failure.")
    ] = False,
    figure: Annotated[
        Path | None, typer.Option(help="Where to draw a histogram of the scores (.png, .svg).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Evaluate how well the edit score separates successful edits of chest phantoms from failures.

    Prints AUROC with 95 % intervals, and what the threshold keeps and rejects.

    Examples:

        medebench train evaluate-encoder

        medebench train evaluate-encoder my-encoder --count 20 --whole
    """
    from medebench.encoders.encoder_lookup import find_encoder
    from medebench.phantoms.training.chest_encoder.encoder_evaluation import (
        ALL,
        draw_scores,
        figures,
    )
    from medebench.phantoms.training.chest_encoder.encoder_evaluation import (
        evaluate as measure,
    )

    chosen = find_encoder(encoder)
    if not chosen.texts:
        raise InputError(f"{chosen.name}: has no text encoder, and the edit score needs one")
    if problem := chosen.problem():
        raise NotReadyError(problem)
    with progress_bar("scoring edits") as progress:
        scored = measure(chosen, count, progress=progress)
    if figure is not None:
        draw_scores(scored, figure)
    found = figures(scored, threshold)
    if as_json:
        return print_json([asdict(one) for one in found])
    rows: list[dict[str, Any]] = [
        {
            "edit": one.thing,
            "failed": one.failure,
            "AUROC": _number(one.auroc),
            "95 % interval": _ends(one.auroc.interval) or one.auroc.reason or "no interval",
            "done, kept": _number(one.kept),
            "failed, rejected": _number(one.thrown),
        }
        for one in found
        if whole or ALL in (one.thing, one.failure)
    ]
    return show_rows(rows)


def _number(quantity: Estimate) -> str:
    return "-" if quantity.value is None else f"{quantity.value:.3f}"


def _ends(interval: Interval | None) -> str:
    return "" if interval is None else f"{interval.low:.3f} to {interval.high:.3f}"
