"""`medebench train chest-model`: from nothing to the pipeline that ships."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from medebench.phantoms.chest import render
from medebench.phantoms.chest.captions import any_caption
from medebench.phantoms.chest.chest_spec import ChestSpec
from medebench.phantoms.chest.patients import EVERYBODY, draw_patient
from medebench.phantoms.training.latents import Projection, cell_shares, fit, make_autoencoder
from medebench.phantoms.training.loop import Bar, Losses, draw_curve, same_recipe, train
from medebench.phantoms.training.model_recipes import ChestRecipe
from medebench.phantoms.training.pipeline_folder import (
    PipelineParts,
    kept_tokenizer,
    make_scheduler,
    make_text_encoder,
    unet_settings,
)
from medebench.phantoms.training.render_pool import Chunk, draw_chunks, read_chunks
from medebench.progress import Progress, silent

if TYPE_CHECKING:
    from diffusers import UNet2DConditionModel
#: Patients in a file of drawings.
CHUNK = 250


def train_chest_model(work: Path, out: Path, recipe: ChestRecipe, bar: Bar) -> None:
    """Draw, fit, learn and save the pipeline to `out`; `work` keeps what lets it continue."""
    import torch
    from diffusers import StableDiffusionPipeline

    same_recipe(work / "recipe.json", recipe)
    with bar("drawing chests") as progress:
        settings = (CHUNK, recipe.seed, recipe.size)
        draw_chunks(draw_chunk, work / "chests", recipe.patients, *settings, progress=progress)
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
    for chunk in chunks(work / "chests", recipe.patients):
        coded = projection.encode(in_colour(chunk["pictures"])) * projection.scaling
        latents.append(coded.astype(np.float16))
        things.append(cell_shares(chunk["things"], recipe.cell).astype(np.float16))
    patients = [draw_patient(recipe.seed, k, EVERYBODY) for k in range(recipe.patients)]
    return Chests(np.concatenate(latents), np.concatenate(things), patients)


def draw_chunk(start: int, number: int, seed: int, size: int) -> Chunk:
    drawn = [render(draw_patient(seed, start + k, EVERYBODY), size) for k in range(number)]
    nothing = np.zeros((size, size), np.bool_)
    things = [np.any([nothing, *one.cores.values()], axis=0) for one in drawn]
    return {
        "pictures": np.stack([one.picture for one in drawn]),
        "things": np.packbits(np.stack(things), axis=-1),
    }


def chunks(folder: Path, count: int) -> Iterator[Chunk]:
    """`pictures` (n, h, w) of consecutive patients, and their `things` as masks."""
    for one in read_chunks(folder, count, CHUNK):
        yield one | {"things": np.unpackbits(one["things"], axis=-1).astype(np.bool_)}


def make_unet(recipe: ChestRecipe) -> UNet2DConditionModel:
    from diffusers import UNet2DConditionModel

    return UNet2DConditionModel(
        in_channels=recipe.channels,
        # Attention over 32 x 32 cells would cost as much as all the rest.
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        **unet_settings(recipe),
    )


@dataclass(frozen=True)
class Chests:
    """Scaled latents (n, channels, h, w), the share of each cell that shows something, patients."""

    latents: NDArray[np.float16]
    things: NDArray[np.float16]
    patients: Sequence[ChestSpec]

    def __len__(self) -> int:
        return len(self.patients)


def learn(
    chests: Chests,
    parts: PipelineParts,
    recipe: ChestRecipe,
    folder: Path,
    progress: Progress = silent,
) -> list[dict[str, float]]:
    """Train in place, continuing what is in `folder`; returns the loss curve."""
    import torch

    networks = torch.nn.ModuleList([parts.unet, parts.text_encoder])
    optimizer = torch.optim.AdamW(networks.parameters(), lr=recipe.rate, weight_decay=1e-2)

    def losses(step: int) -> Losses:
        rng = np.random.default_rng((recipe.seed, step))
        torch.manual_seed(recipe.seed * 100_003 + step)
        chosen = rng.integers(len(chests), size=recipe.batch)
        clean = torch.from_numpy(chests.latents[chosen].astype(np.float32))
        weight = 1 + recipe.inside * torch.from_numpy(chests.things[chosen].astype(np.float32))
        texts = [
            "" if rng.random() < recipe.no_text else any_caption(chests.patients[index], rng)
            for index in chosen
        ]
        read = parts.tokenizer(texts, padding="max_length", truncation=True, return_tensors="pt")
        times = torch.from_numpy(rng.integers(1000, size=recipe.batch))
        noise = torch.randn_like(clean)
        noisy = parts.scheduler.add_noise(clean, noise, times)
        wanted = parts.scheduler.get_velocity(clean, noise, times)
        guess = parts.unet(noisy, times, parts.text_encoder(read.input_ids)[0]).sample
        error = (guess - wanted).square().mean(1)
        return {"loss": (error * weight).sum() / weight.sum()}

    return train(networks, optimizer, losses, recipe, folder, progress)
