"""`train chest-encoder` and `train evaluate-encoder`: the built-in encoder of the edit score."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medebench.cli.common import Json, guarded, print_json, print_table, progress_bar, say

if TYPE_CHECKING:
    from medebench.stress.outcome import Quantity


@guarded
def chest_encoder(
    out: Annotated[Path, typer.Option(help="Where to save the model; must not exist yet.")],
    work: Annotated[
        Path | None,
        typer.Option(help="Where pictures and checkpoints lie; default: in the cache."),
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Fewer or more than the recipe.")] = None,
    patients: Annotated[
        int | None, typer.Option(min=1, help="Fewer or more than the recipe.")
    ] = None,
) -> None:
    """Train the built-in encoder of the edit score again, from nothing.

    About five minutes on one core. Stopped, the same command continues from the last
    checkpoint. The recipe, its seed and what came out are in docs/chest-encoder.md.

    Examples:

        medebench train chest-encoder --out my-encoder

        medebench train evaluate-encoder my-encoder

        medebench score runs/mine --metrics edit_score:my-encoder
    """
    from dataclasses import replace

    from medebench.device import TRANSFORMERS, missing_releases
    from medebench.errors import InputError, NotReadyError
    from medebench.files import cache_folder
    from medebench.tuning.chest_encoder.recipe import RECIPE
    from medebench.tuning.chest_encoder.training import train_chest_encoder

    if lacking := missing_releases(TRANSFORMERS, "metrics"):
        raise NotReadyError(f"train: {lacking}")
    if out.exists():
        raise InputError(f"{out}: exists already; choose another --out")
    recipe = replace(RECIPE, steps=steps or RECIPE.steps, patients=patients or RECIPE.patients)
    folder = work or cache_folder() / "chest-encoder"
    train_chest_encoder(folder, out, recipe, progress_bar)
    say(f"saved in {out}; its loss curve is {folder / 'loss.json'}")


@guarded
def evaluate_encoder(
    encoder: Annotated[
        str, typer.Argument(help="A known encoder, a hub id or a folder.")
    ] = "chest-phantoms",
    count: Annotated[int, typer.Option(min=4, help="Patients never used in training.")] = 40,
    threshold: Annotated[
        float, typer.Option(min=-1, max=1, help="Edits that score lower are thrown away.")
    ] = 0.2,
    whole: Annotated[
        bool, typer.Option("--whole", help="Every finding, device and way to fail by itself.")
    ] = False,
    figure: Annotated[
        Path | None, typer.Option(help="Where to draw a histogram of the scores (.png, .svg).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print how well the edit score tells edits of chest phantoms that were done from failed ones.

    AUROC with 95 % intervals, and what the threshold keeps and throws away.

    Examples:

        medebench train evaluate-encoder

        medebench train evaluate-encoder my-encoder --count 20 --whole
    """
    from dataclasses import asdict

    from rich import box
    from rich.table import Table

    from medebench.encoders.find import find_encoder
    from medebench.errors import InputError, NotReadyError
    from medebench.tuning.chest_encoder.evaluation import ALL, evaluate, figures
    from medebench.tuning.chest_encoder.histogram import draw_scores

    chosen = find_encoder(encoder)
    if not chosen.texts:
        raise InputError(f"{chosen.name}: reads no texts, and the edit score needs them")
    if problem := chosen.problem():
        raise NotReadyError(problem)
    with progress_bar("scoring edits") as progress:
        scored = evaluate(chosen, count, progress=progress)
    if figure is not None:
        draw_scores(scored, figure)
    found = figures(scored, threshold)
    if as_json:
        return print_json([asdict(one) for one in found])
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("edit", "failed", "AUROC", "95 % interval", "done, kept", "failed, thrown"):
        table.add_column(column, justify="left" if column in ("edit", "failed") else "right")
    for one in found:
        if whole or ALL in (one.thing, one.failure):
            table.add_row(
                one.thing,
                one.failure,
                _number(one.auroc),
                _ends(one.auroc),
                _number(one.kept),
                _number(one.thrown),
            )
    return print_table(table)


def _number(quantity: Quantity) -> str:
    return "-" if quantity.value is None else f"{quantity.value:.3f}"


def _ends(quantity: Quantity) -> str:
    ends = quantity.interval
    return "-" if ends is None else f"{ends.low:.3f} to {ends.high:.3f}"
