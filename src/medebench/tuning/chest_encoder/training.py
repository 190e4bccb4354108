"""`medebench train chest-encoder`: from nothing to the model that ships."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np

from medebench.files import whole_folder, write_text
from medebench.tuning.chest_encoder.changing import Change, patient
from medebench.tuning.chest_encoder.drawing import draw, drawn
from medebench.tuning.chest_encoder.learning import Patients, learn
from medebench.tuning.chest_encoder.network import make_encoder, save_encoder
from medebench.tuning.chest_encoder.recipe import EncoderRecipe
from medebench.tuning.chest_encoder.wording import texts
from medebench.tuning.keeping import LOG, Bar, same_recipe
from medebench.tuning.reading import make_tokenizer


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
        curve = learn(patients, network, tokenizer, recipe, work, progress)
    if out.exists():
        shutil.rmtree(out)
    with whole_folder(out) as folder:
        save_encoder(folder, network, tokenizer, recipe)
    write_text(work / LOG, json.dumps(curve))


def _examples(patients: Patients, recipe: EncoderRecipe) -> list[str]:
    rng = np.random.default_rng(recipe.seed)
    return [
        text
        for first, *others in patients.specs
        for other in others
        for text in texts(Change(first, other), rng)
    ]
