"""`medebench train chest-encoder`: from nothing to the model that ships."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from medebench.files import whole_folder, write_text
from medebench.phantoms.chest import render
from medebench.phantoms.training.chest_encoder.encoder_fit import Patients, learn
from medebench.phantoms.training.chest_encoder.statements import Change, patient, texts
from medebench.phantoms.training.loop import Bar, same_recipe
from medebench.phantoms.training.model_recipes import EncoderRecipe
from medebench.phantoms.training.pipeline_folder import make_tokenizer, text_config
from medebench.phantoms.training.render_pool import Chunk, draw_chunks, read_chunks

if TYPE_CHECKING:
    from transformers import CLIPTokenizer, VisionTextDualEncoderModel
#: Patients in a file of drawings.
CHUNK = 100
#: Grey from black to white becomes -1 to 1.
MIDDLE = 0.5


def train_chest_encoder(work: Path, out: Path, recipe: EncoderRecipe, bar: Bar) -> None:
    """Draw, learn and save the model to `out`; `work` keeps what lets it continue."""
    import torch

    same_recipe(work / "recipe.json", recipe)
    with bar("drawing chests") as progress:
        settings = (CHUNK, recipe.seed, recipe.size)
        draw_chunks(draw_chunk, work / "chests", recipe.patients, *settings, progress=progress)
    specs = [patient(recipe.seed, index) for index in range(recipe.patients)]
    drawn = read_chunks(work / "chests", recipe.patients, CHUNK)
    patients = Patients(np.concatenate([one["pictures"] for one in drawn]), specs)
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


def draw_chunk(start: int, number: int, seed: int, size: int) -> Chunk:
    patients = (patient(seed, index) for index in range(start, start + number))
    pictures = [[render(one, size).picture for one in ways] for ways in patients]
    return {"pictures": np.array(pictures)}


def make_encoder(recipe: EncoderRecipe, tokenizer: CLIPTokenizer) -> VisionTextDualEncoderModel:
    import transformers

    sees = transformers.ConvNextConfig(
        image_size=recipe.size,
        patch_size=recipe.patch,
        hidden_sizes=list(recipe.widths),
        depths=list(recipe.depths),
        # The dual encoder asks for it, and ConvNeXt has several.
        hidden_size=recipe.widths[-1],
        # Made for networks of many blocks, where each begins as almost nothing.
        layer_scale_init_value=0.0,
    )
    reads = text_config(recipe, tokenizer, recipe.numbers)
    both = transformers.VisionTextDualEncoderConfig.from_vision_text_configs
    config = both(sees, reads, projection_dim=recipe.numbers)
    return transformers.VisionTextDualEncoderModel(config)


def save_encoder(
    folder: Path,
    network: VisionTextDualEncoderModel,
    tokenizer: CLIPTokenizer,
    recipe: EncoderRecipe,
) -> None:
    """Into an existing folder, in half precision."""
    network.half().save_pretrained(folder)
    # How it was called last would be saved along with it.
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.save_pretrained(folder)
    said = {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": recipe.size, "width": recipe.size},
        "resample": 3,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": [MIDDLE] * 3,
        "image_std": [MIDDLE] * 3,
    }
    write_text(folder / "preprocessor_config.json", json.dumps(said, indent=2) + "\n")
