"""`medebench train phantom-editor`: from nothing to the pipeline that ships."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medebench.files import write_text
from medebench.tuning.curve import draw_curve
from medebench.tuning.keeping import LOG, Bar, same_recipe
from medebench.tuning.latents import Projection, fit, make_autoencoder
from medebench.tuning.phantom_editor.drawing import chunks, draw
from medebench.tuning.phantom_editor.learning import Lessons, learn
from medebench.tuning.phantom_editor.network import make_scheduler, make_unet
from medebench.tuning.phantom_editor.recipe import Recipe
from medebench.tuning.phantom_editor.wording import wordings
from medebench.tuning.reading import kept_tokenizer, make_text_encoder
from medebench.tuning.saving import save_pipeline


def train_phantom_editor(work: Path, out: Path, recipe: Recipe, bar: Bar) -> None:
    """Draw, fit, learn and save the pipeline to `out`; `work` keeps what lets it continue."""
    import torch
    from diffusers import StableDiffusionInstructPix2PixPipeline

    work.mkdir(parents=True, exist_ok=True)
    same_recipe(work / "recipe.json", recipe)
    with bar("drawing phantoms") as progress:
        draw(work / "phantoms", recipe.phantoms, recipe.seed, progress)
    pictures = _pictures_to_fit(work, recipe)
    projection = fit(pictures, recipe)
    lessons = _lessons(work, projection, recipe)
    texts = [text for one in lessons.words for text in one.texts]
    tokenizer = kept_tokenizer(work / "tokenizer", texts, recipe)
    torch.manual_seed(recipe.seed)
    text_encoder, unet = make_text_encoder(recipe, tokenizer), make_unet(recipe)
    scheduler = make_scheduler()
    with bar("learning to edit") as progress:
        curve = learn(
            lessons,
            unet,
            text_encoder,
            tokenizer,
            scheduler,
            projection.scaling,
            recipe,
            work,
            progress,
        )
    vae = make_autoencoder(projection, pictures, recipe)
    save_pipeline(
        StableDiffusionInstructPix2PixPipeline,
        out,
        vae=vae,
        text_encoder=text_encoder,
        tokenizer=tokenizer,
        unet=unet,
        scheduler=scheduler,
    )
    write_text(work / LOG, json.dumps(curve))
    if curve:
        lines = {"inside": "inside the ROI", "outside": "outside the ROI"}
        draw_curve(curve, work / "loss.png", lines)


def _pictures_to_fit(work: Path, recipe: Recipe) -> NDArray[np.uint8]:
    drawn = chunks(work / "phantoms", recipe.fitted, recipe.cell)
    return np.concatenate([chunk.previous for chunk in drawn])


def _lessons(work: Path, projection: Projection, recipe: Recipe) -> Lessons:
    before: list[NDArray[np.float16]] = []
    after: list[NDArray[np.float16]] = []
    roi: list[NDArray[np.float32]] = []
    for chunk in chunks(work / "phantoms", recipe.phantoms, recipe.cell):
        for latents, pictures in ((before, chunk.previous), (after, chunk.reference)):
            latents.append(projection.encode(pictures).astype(np.float16))
        roi.append(chunk.roi)
    return Lessons(
        np.concatenate(before),
        np.concatenate(after),
        np.concatenate(roi),
        wordings(recipe.phantoms, recipe.seed),
    )
