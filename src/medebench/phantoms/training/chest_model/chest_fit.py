"""Learning what chests look like and what they are called: U-Net and text encoder together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medebench.phantoms.chest.captions import any_caption
from medebench.phantoms.chest.chest_spec import ChestSpec
from medebench.phantoms.training.chest_model.chest_recipe import ChestRecipe
from medebench.phantoms.training.loop import Losses, train
from medebench.phantoms.training.pipeline_folder import PipelineParts
from medebench.progress import Progress, silent


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
