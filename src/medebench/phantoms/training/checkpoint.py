"""Checkpoints, so that training can be stopped and resumed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medebench.errors import InputError
from medebench.files import write_text
from medebench.progress import Progress

if TYPE_CHECKING:
    import torch

CHECKPOINT, LOG = "checkpoint.pt", "loss.json"
#: Opens a progress bar with a title.
Bar = Callable[[str], AbstractContextManager[Progress]]


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


@dataclass
class TrainState:
    """The state of a training: averaged weights, steps done, seconds spent, loss curve."""

    averaged: dict[str, Any]
    step: int
    seconds: float
    curve: list[dict[str, float]]


def resume(folder: Path, networks: torch.nn.Module, optimizer: torch.optim.Optimizer) -> TrainState:
    """Put networks and optimizer into the state of the checkpoint in `folder`, if there is one."""
    import torch

    checkpoint = folder / CHECKPOINT
    if not checkpoint.is_file():
        fresh = {name: value.detach().clone() for name, value in networks.state_dict().items()}
        return TrainState(fresh, 0, 0.0, [])
    state = torch.load(checkpoint, weights_only=True)
    networks.load_state_dict(state["networks"])
    optimizer.load_state_dict(state["optimizer"])
    curve = json.loads((folder / LOG).read_text("utf-8"))
    done = [point for point in curve if point["step"] <= state["step"]]
    return TrainState(state["averaged"], state["step"], state["seconds"], done)


def save_checkpoint(
    path: Path,
    networks: torch.nn.Module,
    averaged: dict[str, Any],
    optimizer: torch.optim.Optimizer,
    step: int,
    seconds: float,
) -> None:
    """A checkpoint, whole or not at all."""
    import torch

    state = {
        "networks": networks.state_dict(),
        "averaged": averaged,
        "optimizer": optimizer.state_dict(),
        "step": step,
        "seconds": seconds,
    }
    partial = path.with_suffix(".part")
    torch.save(state, partial)
    partial.replace(path)


def same_recipe(path: Path, recipe: Any) -> None:
    """A folder belongs to one recipe: half of another must not end up in this model."""
    text = json.dumps(asdict(recipe), indent=2)
    if path.is_file() and json.loads(path.read_text("utf-8")) != json.loads(text):
        raise InputError(
            f"{path.parent}: contains the training of another recipe; choose another --work"
        )
    write_text(path, text)
