"""Training of the small predictors; on one thread it gives the same weights each time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn import functional

from medebench.phantoms.recipes.predictor_networks import as_batch
from medebench.phantoms.recipes.recipe_predictors import TrainSettings
from medebench.progress import Progress, silent


def train_network(
    kind: type[nn.Module],
    pictures: NDArray[np.uint8],
    truth: NDArray[np.bool_],
    settings: TrainSettings,
    seed: int,
    progress: Progress = silent,
) -> bytes:
    """Weights of a network of this kind from pictures (n, h, w) and what is true of each.

    That is whether the finding is there, or a mask of the same height and width.
    """
    with _reproducible(seed):
        network = kind().train()
        sharp = as_batch(list(pictures))
        shown = torch.cat([sharp, _blurred(sharp, settings.blur)], 1)
        wanted = torch.from_numpy(truth.astype(np.float32))
        optimizer = torch.optim.AdamW(network.parameters(), lr=settings.rate, weight_decay=1e-2)
        rng = np.random.default_rng(seed)
        for step, chosen in enumerate(_batches(len(pictures), settings, rng)):
            inputs, targets = _varied(shown[chosen], wanted[chosen], settings, rng)
            loss = functional.binary_cross_entropy_with_logits(network(inputs), targets)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            for group in optimizer.param_groups:
                group["lr"] = settings.rate * _pace((step + 1) / settings.steps)
            optimizer.step()
            progress(step + 1, settings.steps)
    return save({name: value.contiguous() for name, value in network.state_dict().items()})


def _pace(done: float) -> float:
    """The rate as a share of its highest: up over a tenth of the training, then down to 0."""
    return done / 0.1 if done < 0.1 else 0.5 + 0.5 * math.cos(math.pi * (done - 0.1) / 0.9)


def _batches(
    count: int, settings: TrainSettings, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Whole batches only: batch normalisation would suffer from a last one of two."""
    size = min(settings.batch, count)
    for _ in range(settings.epochs):
        order = rng.permutation(count)
        for start in range(0, count - size + 1, size):
            yield order[start : start + size]


def _varied(
    pictures: Tensor, targets: Tensor, settings: TrainSettings, rng: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """Moved, blurred, with noise, lighter or darker: what the way through an editor may do as well.

    Without it a predictor could go by the fine grain that no autoencoder gives back. The channels
    of `pictures` are the picture as it is, and blurred.
    """
    down, right = (int(one) for one in rng.integers(-settings.shift, settings.shift + 1, 2))
    pictures = _moved(pictures, down, right)
    if targets.ndim == 3:
        targets = _moved(targets, down, right)

    def each(low: float, high: float) -> Tensor:
        drawn = rng.uniform(low, high, (len(pictures), 1, 1, 1))
        return torch.from_numpy(drawn.astype(np.float32))

    mixed = torch.lerp(pictures[:, :1], pictures[:, 1:], each(0, 1))
    mixed = mixed * each(1 - settings.tone, 1 + settings.tone)
    mixed = mixed + 2 * each(-settings.tone, settings.tone)
    return mixed + 2 * each(0, settings.noise) * torch.randn_like(mixed), targets


def _moved(maps: Tensor, down: int, right: int) -> Tensor:
    """By whole pixels; what comes in repeats the edge."""
    height, width = maps.shape[-2:]
    rows = torch.arange(height).sub(down).clamp(0, height - 1)
    columns = torch.arange(width).sub(right).clamp(0, width - 1)
    return maps[..., rows, :][..., columns]


def _blurred(pictures: Tensor, deviation: float) -> Tensor:
    reach = 3
    at = torch.arange(-reach, reach + 1, dtype=torch.float32)
    weights = torch.exp(-0.5 * (at / deviation) ** 2)
    weights = (weights / weights.sum()).view(1, 1, -1, 1)
    padded = functional.pad(pictures, (reach,) * 4, mode="replicate")
    return functional.conv2d(functional.conv2d(padded, weights), weights.transpose(2, 3))


@contextmanager
def _reproducible(seed: int) -> Iterator[None]:
    """One thread and a seed of its own; both as before afterwards."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)
