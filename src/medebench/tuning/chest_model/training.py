"""`medebench train chest-model`: from nothing to the pipeline that ships."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medebench.cases.phantoms.chest.captions import any_caption
from medebench.cases.phantoms.chest.sampling import EVERYBODY, draw_patient
from medebench.files import write_text
from medebench.tuning.chest_model.drawing import chunks, draw
from medebench.tuning.chest_model.learning import Chests, learn
from medebench.tuning.chest_model.network import make_scheduler, make_unet
from medebench.tuning.chest_model.recipe import ChestRecipe
from medebench.tuning.curve import draw_curve
from medebench.tuning.keeping import LOG, Bar, same_recipe
from medebench.tuning.latents import Projection, fit, make_autoencoder
from medebench.tuning.reading import kept_tokenizer, make_text_encoder
from medebench.tuning.saving import save_pipeline


def train_chest_model(work: Path, out: Path, recipe: ChestRecipe, bar: Bar) -> None:
    """Draw, fit, learn and save the pipeline to `out`; `work` keeps what lets it continue."""
    import torch
    from diffusers import StableDiffusionPipeline

    work.mkdir(parents=True, exist_ok=True)
    same_recipe(work / "recipe.json", recipe)
    with bar("drawing chests") as progress:
        draw(work / "chests", recipe.patients, recipe.seed, recipe.size, progress)
    drawn = chunks(work / "chests", recipe.fitted)
    pictures = in_colour(np.concatenate([chunk.pictures for chunk in drawn]))
    projection = fit(pictures, recipe)
    chests = _chests(work, projection, recipe)
    rng = np.random.default_rng(recipe.seed)
    texts = [any_caption(one, rng) for one in chests.patients]
    tokenizer = kept_tokenizer(work / "tokenizer", texts, recipe)
    torch.manual_seed(recipe.seed)
    text_encoder, unet = make_text_encoder(recipe, tokenizer), make_unet(recipe)
    scheduler = make_scheduler()
    with bar("learning chests") as progress:
        curve = learn(chests, unet, text_encoder, tokenizer, scheduler, recipe, work, progress)
    vae = make_autoencoder(projection, pictures, recipe)
    save_pipeline(
        StableDiffusionPipeline,
        out,
        vae=vae,
        text_encoder=text_encoder,
        tokenizer=tokenizer,
        unet=unet,
        scheduler=scheduler,
    )
    write_text(work / LOG, json.dumps(curve))
    if curve:
        draw_curve(curve, work / "loss.png", {"loss": "all cells, findings and devices weighted"})


def in_colour(pictures: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.repeat(pictures[..., None], 3, axis=-1)


def _chests(work: Path, projection: Projection, recipe: ChestRecipe) -> Chests:
    latents: list[NDArray[np.float16]] = []
    things: list[NDArray[np.float16]] = []
    cell = recipe.cell
    for chunk in chunks(work / "chests", recipe.patients):
        coded = projection.encode(in_colour(chunk.pictures)) * projection.scaling
        latents.append(coded.astype(np.float16))
        number, height, width = chunk.things.shape
        cells = chunk.things.reshape(number, height // cell, cell, width // cell, cell)
        things.append(cells.mean(axis=(2, 4)).astype(np.float16))
    patients = [draw_patient(recipe.seed, k, EVERYBODY) for k in range(recipe.patients)]
    return Chests(np.concatenate(latents), np.concatenate(things), patients)
