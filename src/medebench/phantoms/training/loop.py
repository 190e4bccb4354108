"""The training loop of all shipped models: optimize, average and save until the last step."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from medebench.errors import InputError
from medebench.files import write_text
from medebench.phantoms.training.model_recipes import PaceSettings
from medebench.progress import Progress, silent

if TYPE_CHECKING:
    import torch

CHECKPOINT, LOG = "checkpoint.pt", "loss.json"
#: Steps between two checkpoints, and between two points of the loss curve.
KEEP_EVERY, LOG_EVERY = 100, 20
#: The losses of a step; the first is minimized, the others are only logged.
Losses = Mapping[str, Any]
#: Points of the curve that are averaged; batches of 16 differ much.
SMOOTHED = 9
#: Opens a progress bar with a title.
Bar = Callable[[str], AbstractContextManager[Progress]]


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

    averaged, begun, spent, curve = _resume(folder, networks, optimizer)
    networks.train()
    start, sums = time.perf_counter(), dict[str, float]()
    for step in range(begun, recipe.steps):
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
        seconds = spent + time.perf_counter() - start
        if done % LOG_EVERY == 0:
            means = {name: round(total / LOG_EVERY, 6) for name, total in sums.items()}
            curve.append({"step": done, **means, "seconds": round(seconds, 1)})
            sums = {}
        if done % KEEP_EVERY == 0 or done == recipe.steps:
            # The log first: a checkpoint always finds the curve that belongs to it.
            write_text(folder / LOG, json.dumps(curve))
            state = {"networks": networks.state_dict(), "optimizer": optimizer.state_dict()}
            state |= {"averaged": averaged, "step": done, "seconds": seconds}
            part = (folder / CHECKPOINT).with_suffix(".part")
            torch.save(state, part)
            part.replace(folder / CHECKPOINT)
        progress(done, recipe.steps)
    networks.load_state_dict(averaged)
    networks.eval()
    return curve


def cosine_rate(step: int, steps: int, warm_up: int) -> float:
    """The learning rate as a share of its highest: up, then down to 0 along a cosine."""
    if step < warm_up:
        return (step + 1) / warm_up
    return 0.5 * (1 + math.cos(math.pi * (step - warm_up) / (steps - warm_up)))


def average(averaged: dict[str, Any], networks: torch.nn.Module, share: float) -> None:
    """Move the averaged weights towards the present ones; `share` of them stays."""
    import torch

    with torch.no_grad():
        for name, value in networks.state_dict().items():
            if value.is_floating_point():
                averaged[name].lerp_(value, 1 - share)


def _resume(
    folder: Path, networks: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[dict[str, Any], int, float, list[dict[str, float]]]:
    """Averaged weights, steps done, seconds spent and loss curve of the checkpoint in `folder`.

    Networks and optimizer are put into its state; without one, training begins.
    """
    import torch

    if not (folder / CHECKPOINT).is_file():
        fresh = {name: value.detach().clone() for name, value in networks.state_dict().items()}
        return fresh, 0, 0.0, []
    state = torch.load(folder / CHECKPOINT, weights_only=True)
    networks.load_state_dict(state["networks"])
    optimizer.load_state_dict(state["optimizer"])
    curve = json.loads((folder / LOG).read_text("utf-8"))
    done = [point for point in curve if point["step"] <= state["step"]]
    return state["averaged"], state["step"], state["seconds"], done


def same_recipe(path: Path, recipe: Any) -> None:
    """A folder belongs to one recipe: half of another must not end up in this model."""
    text = json.dumps(asdict(recipe), indent=2)
    if path.is_file() and json.loads(path.read_text("utf-8")) != json.loads(text):
        raise InputError(
            f"{path.parent}: contains the training of another recipe; choose another --work"
        )
    write_text(path, text)


def draw_curve(curve: list[dict[str, float]], path: Path, lines: Mapping[str, str]) -> None:
    """`lines` maps the values to draw to their labels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.subplots()
    steps = np.array([point["step"] for point in curve])
    for name, label in lines.items():
        values = np.array([point[name] for point in curve])
        (line,) = axes.plot(steps, values, linewidth=0.6, alpha=0.35)
        axes.plot(steps, _smooth(values), linewidth=1.8, color=line.get_color(), label=label)
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("squared error of the latents")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=160)


def _smooth(values: NDArray[np.float64]) -> NDArray[np.float64]:
    half = SMOOTHED // 2
    padded = np.pad(values, half, "edge")
    return np.convolve(padded, np.ones(SMOOTHED) / SMOOTHED, "valid")
