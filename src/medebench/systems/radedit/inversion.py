"""Edit-friendly DDPM inversion, and denoising under two masks: functions of tensors, no pipeline.

    path = diffusion_path(scheduler.alphas_cumprod.tolist(), 50)
    inverted = invert(draw_states(latents, path, generators), path, "epsilon", base)
    *_, edited = denoising(inverted, base, text, guidance=15, edit=edit, keep=keep)

`base` and `text` are functions (latents, timestep) -> prediction. Noise is drawn for every step by
itself (Huberman-Spiegelglas et al., 2024), so that what a step has to add to the network's mean is
large and carries the picture's layout to the edit.

What a step has to add is r = x_next - mean. It is used as x_next + (new mean - mean), which is the
same and loses nothing: where the network sees what it saw before, the difference is 0 and the state
is the inverted one to the last bit, in any precision. There is no division by a spread, so the
last step, which has none, needs no guard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from medebench.systems.radedit.noise_path import Path, Prediction

if TYPE_CHECKING:
    import torch
    from torch import Tensor

#: Noisy latents and a timestep to what the network says of them.
Predict = Callable[["Tensor", float], "Tensor"]


@dataclass(frozen=True)
class Inverted:
    """States of a batch of pictures along a path; the last one is the pictures' own latents."""

    path: Path
    kind: Prediction
    states: Sequence[Tensor]
    #: Where each step would have gone by the base prediction.
    means: Sequence[Tensor]


def draw_states(latents: Tensor, path: Path, generators: Sequence[torch.Generator]) -> list[Tensor]:
    """Each picture at each step's noise, then the picture; noise drawn anew for every step.

    A generator on the CPU for each picture: the same noise on every device and in every batch. The
    least noisy steps are drawn first, so that leaving out the noisiest changes nothing else.
    """
    import torch

    states = [latents]
    for step in reversed(path.steps):
        shape, dtype = latents.shape[1:], latents.dtype
        noise = torch.stack([torch.randn(shape, generator=g, dtype=dtype) for g in generators])
        states.append(noise.to(latents.device).mul_(step.s).add_(latents, alpha=step.a))
    return states[::-1]


def invert(states: Sequence[Tensor], path: Path, kind: Prediction, base: Predict) -> Inverted:
    """What `base` makes of the states, kept for `denoising`."""
    means = [
        step.mean(base(state, step.timestep), state, kind)
        for step, state in zip(path.steps, states, strict=False)
    ]
    return Inverted(path, kind, states, means)


def denoising(
    inverted: Inverted,
    base: Predict,
    text: Predict,
    guidance: float,
    edit: Tensor | None = None,
    keep: Tensor | None = None,
) -> Iterator[Tensor]:
    """The state after each step; the last one is the edited latents.

    The prediction is `base + guidance * (text - base)` where `edit` is true and `base` elsewhere;
    where `keep` is true the state becomes the inverted one of the same step. No `edit`: everywhere;
    no `keep`: nowhere. `base` must be the function that was inverted with.
    """
    import torch

    guided = guidance != 0 and (edit is None or bool(edit.any()))
    latents = inverted.states[0]
    for index, step in enumerate(inverted.path.steps):
        prediction = base(latents, step.timestep)
        if guided:
            pulled = prediction + guidance * (text(latents, step.timestep) - prediction)
            prediction = pulled if edit is None else torch.where(edit, pulled, prediction)
        mean = step.mean(prediction, latents, inverted.kind)
        there = inverted.states[index + 1]
        latents = there + (mean - inverted.means[index])
        if keep is not None:
            latents = torch.where(keep, there, latents)
        yield latents
