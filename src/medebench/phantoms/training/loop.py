"""The training loop of all shipped models: optimize, average and save until the last step."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medebench.files import write_text
from medebench.phantoms.training.checkpoint import (
    CHECKPOINT,
    LOG,
    average,
    cosine_rate,
    resume,
    save_checkpoint,
)
from medebench.phantoms.training.recipe_base import PaceSettings
from medebench.progress import Progress, silent

if TYPE_CHECKING:
    import torch

#: Steps between two checkpoints, and between two points of the loss curve.
KEEP_EVERY, LOG_EVERY = 100, 20
#: The losses of a step; the first is minimized, the others are only logged.
Losses = Mapping[str, Any]


def train(
    networks: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    losses: Callable[[int], Losses],
    recipe: PaceSettings,
    folder: Path,
    progress: Progress = silent,
) -> list[dict[str, float]]:
    """Train in place, continuing what is in `folder`; returns the loss curve.

    `losses` must depend on the step alone, so that a continued training is the same training. The
    optimizer's groups may have a `share` of the rate. The networks end with the averaged weights.
    """
    import torch

    state = resume(folder, networks, optimizer)
    averaged, curve = state.averaged, state.curve
    networks.train()
    start, sums = time.perf_counter(), dict[str, float]()
    for step in range(state.step, recipe.steps):
        found = losses(step)
        optimizer.zero_grad(set_to_none=True)
        next(iter(found.values())).backward()
        torch.nn.utils.clip_grad_norm_(networks.parameters(), 1.0)
        rate = recipe.rate * cosine_rate(step, recipe.steps, recipe.warm_up)
        for group in optimizer.param_groups:
            group["lr"] = rate * group.get("share", 1.0)
        optimizer.step()
        average(averaged, networks, min(recipe.average, (step + 1) / (step + 10)))
        for name, value in found.items():
            sums[name] = sums.get(name, 0.0) + float(value.detach())
        done = step + 1
        seconds = state.seconds + time.perf_counter() - start
        if done % LOG_EVERY == 0:
            means = {name: round(total / LOG_EVERY, 6) for name, total in sums.items()}
            curve.append({"step": done, **means, "seconds": round(seconds, 1)})
            sums = {}
        if done % KEEP_EVERY == 0 or done == recipe.steps:
            # The log first: a checkpoint always finds the curve that belongs to it.
            write_text(folder / LOG, json.dumps(curve))
            save_checkpoint(folder / CHECKPOINT, networks, averaged, optimizer, done, seconds)
        progress(done, recipe.steps)
    networks.load_state_dict(averaged)
    networks.eval()
    return curve
