"""`medebench train phantom-editor`: from nothing to the pipeline that ships."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medebench.phantoms.training.checkpoint import Bar, same_recipe
from medebench.phantoms.training.latents import Projection, fit, make_autoencoder
from medebench.phantoms.training.loss_curve import draw_curve
from medebench.phantoms.training.phantom_editor.editor_fit import TrainPairs, learn
from medebench.phantoms.training.phantom_editor.editor_parts import make_unet
from medebench.phantoms.training.phantom_editor.editor_recipe import EditorRecipe
from medebench.phantoms.training.phantom_editor.instructions import wordings
from medebench.phantoms.training.phantom_editor.phantom_images import chunks, draw
from medebench.phantoms.training.pipeline_folder import PipelineParts, make_scheduler
from medebench.phantoms.training.text_parts import kept_tokenizer, make_text_encoder


def train_phantom_editor(work: Path, out: Path, recipe: EditorRecipe, bar: Bar) -> None:
    """Draw, fit, learn and save the pipeline to `out`; `work` keeps what lets it continue."""
    import torch
    from diffusers import StableDiffusionInstructPix2PixPipeline

    work.mkdir(parents=True, exist_ok=True)
    same_recipe(work / "recipe.json", recipe)
    with bar("drawing phantoms") as progress:
        draw(work / "phantoms", recipe.phantoms, recipe.seed, progress)
    pictures = _pictures_to_fit(work, recipe)
    projection = fit(pictures, recipe)
    pairs = _pairs(work, projection, recipe)
    texts = [text for one in pairs.words for text in one.texts]
    tokenizer = kept_tokenizer(work / "tokenizer", texts, recipe)
    torch.manual_seed(recipe.seed)
    # In this order: both draw their first weights from the seed.
    text_encoder, unet = make_text_encoder(recipe, tokenizer), make_unet(recipe)
    # The network predicts the clean latents: copying the input is then learned first.
    parts = PipelineParts(unet, text_encoder, tokenizer, make_scheduler("sample"))
    with bar("learning to edit") as progress:
        curve = learn(pairs, parts, projection.scaling, recipe, work, progress)
    vae = make_autoencoder(projection, pictures, recipe)
    parts.save(StableDiffusionInstructPix2PixPipeline, vae, out)
    if curve:
        lines = {"inside": "inside the ROI", "outside": "outside the ROI"}
        draw_curve(curve, work / "loss.png", lines)


def _pictures_to_fit(work: Path, recipe: EditorRecipe) -> NDArray[np.uint8]:
    drawn = chunks(work / "phantoms", recipe.fitted, recipe.cell)
    return np.concatenate([chunk["prev"] for chunk in drawn])


def _pairs(work: Path, projection: Projection, recipe: EditorRecipe) -> TrainPairs:
    before: list[NDArray[np.float16]] = []
    after: list[NDArray[np.float16]] = []
    roi: list[NDArray[np.float32]] = []
    for chunk in chunks(work / "phantoms", recipe.phantoms, recipe.cell):
        for latents, pictures in ((before, chunk["prev"]), (after, chunk["ref"])):
            latents.append(projection.encode(pictures).astype(np.float16))
        roi.append(chunk["roi"])
    return TrainPairs(
        np.concatenate(before),
        np.concatenate(after),
        np.concatenate(roi),
        wordings(recipe.phantoms, recipe.seed),
    )
