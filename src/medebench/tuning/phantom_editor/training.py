"""`medebench train phantom-editor`: from nothing to the pipeline that ships."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.errors import InputError
from medebench.files import whole_folder, write_text
from medebench.progress import Progress
from medebench.tuning.phantom_editor.curve import draw_curve
from medebench.tuning.phantom_editor.drawing import chunks, draw
from medebench.tuning.phantom_editor.latents import Projection, fit, make_autoencoder
from medebench.tuning.phantom_editor.learning import Lessons, learn
from medebench.tuning.phantom_editor.network import (
    make_scheduler,
    make_text_encoder,
    make_unet,
)
from medebench.tuning.phantom_editor.recipe import Recipe
from medebench.tuning.phantom_editor.wording import make_tokenizer, wordings

#: Opens a progress bar with a title.
Bar = Callable[[str], AbstractContextManager[Progress]]


def train_phantom_editor(work: Path, out: Path, recipe: Recipe, bar: Bar) -> None:
    """Draw, fit, learn and save the pipeline to `out`; `work` keeps what lets it continue."""
    import torch

    work.mkdir(parents=True, exist_ok=True)
    _same_recipe(work / "recipe.json", recipe)
    with bar("drawing phantoms") as progress:
        draw(work / "phantoms", recipe.phantoms, recipe.seed, progress)
    pictures = _pictures_to_fit(work, recipe)
    projection = fit(pictures, recipe)
    lessons = _lessons(work, projection, recipe)
    tokenizer = make_tokenizer([t for one in lessons.words for t in one.texts], recipe)
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
    _save(out, vae, text_encoder, tokenizer, unet, scheduler)
    write_text(work / "loss.json", json.dumps(curve))
    if curve:
        draw_curve(curve, work / "loss.png")


def _same_recipe(path: Path, recipe: Recipe) -> None:
    """A folder holds the work of one recipe: half of another must not end up in this model."""
    text = json.dumps(asdict(recipe), indent=2)
    if path.is_file() and path.read_text("utf-8") != text:
        raise InputError(f"{path.parent}: holds the training of another recipe; choose --work")
    write_text(path, text)


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


def _save(
    out: Path, vae: Any, text_encoder: Any, tokenizer: Any, unet: Any, scheduler: Any
) -> None:
    """An ordinary pipeline folder, in half precision."""
    import torch
    from diffusers import StableDiffusionInstructPix2PixPipeline

    pipe = StableDiffusionInstructPix2PixPipeline(
        vae=vae,
        text_encoder=text_encoder,
        tokenizer=tokenizer,
        unet=unet,
        scheduler=scheduler,
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipe.to(dtype=torch.float16)
    if out.exists():
        shutil.rmtree(out)
    with whole_folder(out) as folder:
        pipe.save_pretrained(folder)
