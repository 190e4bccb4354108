"""`medebench train chest-encoder`: from nothing to the model that ships."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from medebench.files import whole_folder
from medebench.phantoms.training.checkpoint import Bar, same_recipe
from medebench.phantoms.training.chest_encoder.encoder_fit import Patients, learn
from medebench.phantoms.training.chest_encoder.encoder_images import draw, drawn
from medebench.phantoms.training.chest_encoder.encoder_parts import make_encoder, save_encoder
from medebench.phantoms.training.chest_encoder.encoder_recipe import EncoderRecipe
from medebench.phantoms.training.chest_encoder.patient_change import Change, patient
from medebench.phantoms.training.chest_encoder.statements import texts
from medebench.phantoms.training.text_parts import make_tokenizer


def train_chest_encoder(work: Path, out: Path, recipe: EncoderRecipe, bar: Bar) -> None:
    """Draw, learn and save the model to `out`; `work` keeps what lets it continue."""
    import torch

    work.mkdir(parents=True, exist_ok=True)
    same_recipe(work / "recipe.json", recipe)
    with bar("drawing chests") as progress:
        draw(work / "chests", recipe.patients, recipe.seed, recipe.size, progress)
    specs = [patient(recipe.seed, index) for index in range(recipe.patients)]
    patients = Patients(drawn(work / "chests", recipe.patients), specs)
    tokenizer = make_tokenizer(_examples(patients, recipe), recipe)
    torch.manual_seed(recipe.seed)
    network = make_encoder(recipe, tokenizer)
    with bar("learning chests") as progress:
        learn(patients, network, tokenizer, recipe, work, progress)
    if out.exists():
        shutil.rmtree(out)
    with whole_folder(out) as folder:
        save_encoder(folder, network, tokenizer, recipe)


def _examples(patients: Patients, recipe: EncoderRecipe) -> list[str]:
    rng = np.random.default_rng(recipe.seed)
    return [
        text
        for first, *others in patients.specs
        for other in others
        for text in texts(Change(first, other), rng)
    ]
