"""Learning what chests look like and what they are called: U-Net and text encoder together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from medebench.cases.phantoms.chest.captions import any_caption
from medebench.cases.phantoms.chest.spec import ChestSpec
from medebench.progress import Progress, silent
from medebench.tuning.chest_model.recipe import ChestRecipe
from medebench.tuning.descending import Losses, descend

if TYPE_CHECKING:
    from diffusers import DDIMScheduler, UNet2DConditionModel
    from transformers import CLIPTextModel, CLIPTokenizer


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
    unet: UNet2DConditionModel,
    text_encoder: CLIPTextModel,
    tokenizer: CLIPTokenizer,
    scheduler: DDIMScheduler,
    recipe: ChestRecipe,
    folder: Path,
    progress: Progress = silent,
) -> list[dict[str, float]]:
    """Train in place, continuing what is in `folder`; returns the loss curve."""
    import torch

    networks = torch.nn.ModuleList([unet, text_encoder])
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
        read = tokenizer(texts, padding="max_length", truncation=True, return_tensors="pt")
        times = torch.from_numpy(rng.integers(1000, size=recipe.batch))
        noise = torch.randn_like(clean)
        noisy = scheduler.add_noise(clean, noise, times)
        wanted = scheduler.get_velocity(clean, noise, times)
        guess = unet(noisy, times, text_encoder(read.input_ids)[0]).sample
        error = (guess - wanted).square().mean(1)
        return {"loss": (error * weight).sum() / weight.sum()}

    return descend(networks, optimizer, losses, recipe, folder, progress)
