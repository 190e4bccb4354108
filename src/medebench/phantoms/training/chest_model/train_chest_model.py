"""`medebench train chest-model`: from nothing to the pipeline that ships."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medebench.phantoms.chest.captions import any_caption
from medebench.phantoms.chest.patients import EVERYBODY, draw_patient
from medebench.phantoms.training.checkpoint import Bar, same_recipe
from medebench.phantoms.training.chest_model.chest_fit import Chests, learn
from medebench.phantoms.training.chest_model.chest_images import chunks, draw
from medebench.phantoms.training.chest_model.chest_parts import make_unet
from medebench.phantoms.training.chest_model.chest_recipe import ChestRecipe
from medebench.phantoms.training.latents import Projection, fit, make_autoencoder
from medebench.phantoms.training.loss_curve import draw_curve
from medebench.phantoms.training.pipeline_folder import PipelineParts, make_scheduler
from medebench.phantoms.training.text_parts import kept_tokenizer, make_text_encoder


def train_chest_model(work: Path, out: Path, recipe: ChestRecipe, bar: Bar) -> None:
    """Draw, fit, learn and save the pipeline to `out`; `work` keeps what lets it continue."""
    import torch
    from diffusers import StableDiffusionPipeline

    work.mkdir(parents=True, exist_ok=True)
    same_recipe(work / "recipe.json", recipe)
    with bar("drawing chests") as progress:
        draw(work / "chests", recipe.patients, recipe.seed, recipe.size, progress)
    drawn = chunks(work / "chests", recipe.fitted)
    pictures = in_colour(np.concatenate([chunk["pictures"] for chunk in drawn]))
    projection = fit(pictures, recipe)
    chests = _chests(work, projection, recipe)
    rng = np.random.default_rng(recipe.seed)
    texts = [any_caption(one, rng) for one in chests.patients]
    tokenizer = kept_tokenizer(work / "tokenizer", texts, recipe)
    torch.manual_seed(recipe.seed)
    # In this order: both draw their first weights from the seed.
    text_encoder, unet = make_text_encoder(recipe, tokenizer), make_unet(recipe)
    scheduler = make_scheduler("v_prediction", steps_offset=1)
    parts = PipelineParts(unet, text_encoder, tokenizer, scheduler)
    with bar("learning chests") as progress:
        curve = learn(chests, parts, recipe, work, progress)
    parts.save(StableDiffusionPipeline, make_autoencoder(projection, pictures, recipe), out)
    if curve:
        draw_curve(curve, work / "loss.png", {"loss": "all cells, findings and devices weighted"})


def in_colour(pictures: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.repeat(pictures[..., None], 3, axis=-1)


def _chests(work: Path, projection: Projection, recipe: ChestRecipe) -> Chests:
    latents: list[NDArray[np.float16]] = []
    things: list[NDArray[np.float16]] = []
    cell = recipe.cell
    for chunk in chunks(work / "chests", recipe.patients):
        coded = projection.encode(in_colour(chunk["pictures"])) * projection.scaling
        latents.append(coded.astype(np.float16))
        number, height, width = chunk["things"].shape
        cells = chunk["things"].reshape(number, height // cell, cell, width // cell, cell)
        things.append(cells.mean(axis=(2, 4)).astype(np.float16))
    patients = [draw_patient(recipe.seed, k, EVERYBODY) for k in range(recipe.patients)]
    return Chests(np.concatenate(latents), np.concatenate(things), patients)
