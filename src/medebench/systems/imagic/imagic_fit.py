"""Learning one picture: first its text, then the network; and leaving the network as it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

#: Timesteps at which the loss is told, in equal distances.
PROBES = 4


class Diverged(Exception):
    """The loss is no number any more; the text says when."""


@dataclass(frozen=True)
class Denoising:
    """The task: find in noisy latents of the picture what the network was made to predict."""

    unet: Any
    #: Share of the picture's variance left at each timestep.
    kept: Tensor
    prediction: str
    latents: Tensor
    #: What the network is shown beside the noisy latents.
    beside: Tensor | None = None

    def loss(self, text: Tensor, timestep: int, noise: Tensor) -> Tensor:
        import torch
        from torch.nn.functional import mse_loss

        signal, spread = self.kept[timestep] ** 0.5, (1 - self.kept[timestep]) ** 0.5
        noise = noise.to(self.latents.device)
        seen = signal * self.latents + spread * noise
        if self.beside is not None:
            seen = torch.cat([seen, self.beside], dim=1)
        dtype = self.unet.dtype
        made = self.unet(seen.to(dtype), timestep, encoder_hidden_states=text.to(dtype)).sample
        target = {
            "epsilon": noise,
            "v_prediction": signal * noise - spread * self.latents,
            "sample": self.latents,
        }[self.prediction]
        return mse_loss(made.float(), target)


class Draws:
    """Timesteps and noise, all from one generator on the CPU."""

    def __init__(self, task: Denoising, generator: np.random.Generator) -> None:
        self._shape, self._generator = task.latents.shape, generator
        self._count = len(task.kept)
        strata = (np.arange(PROBES) + 0.5) * self._count / PROBES
        self.probes = [(int(timestep), self._noise()) for timestep in strata]

    def draw(self) -> tuple[int, Tensor]:
        return int(self._generator.integers(self._count)), self._noise()

    def _noise(self) -> Tensor:
        import torch

        return torch.from_numpy(self._generator.standard_normal(self._shape, np.float32))


def probe(task: Denoising, text: Tensor, draws: Draws, when: str = "the end") -> float:
    """The loss over the same timesteps and noise each time it is asked."""
    import torch

    with torch.no_grad():
        loss = float(np.mean([float(task.loss(text, *one)) for one in draws.probes]))
    if not np.isfinite(loss):
        raise Diverged(when)
    return loss


def learn(
    task: Denoising,
    text: Tensor,
    learned: Sequence[Tensor],
    rate: float,
    steps: int,
    draws: Draws,
) -> None:
    """Move `learned`, the text or the network's weights, towards a smaller loss."""
    import torch

    # One tensor after the other: the quicker way needs the memory of all of them once more.
    adam = torch.optim.Adam(learned, lr=rate, foreach=False)
    with torch.enable_grad():
        for step in range(steps):
            adam.zero_grad(set_to_none=True)
            loss = task.loss(text, *draws.draw())
            if not bool(torch.isfinite(loss)):
                raise Diverged(f"step {step + 1} of {steps}")
            loss.backward()
            adam.step()
    for one in learned:
        one.grad = None


@contextmanager
def left_as_it_was(unet: Any, tuned: bool, checkpointing: bool) -> Iterator[None]:
    """Whatever happens in here, the network comes out with the weights it came in with.

    It is tuned in place and what it was is kept in main memory: on a GPU that takes none.
    """
    import torch

    flags = [one.requires_grad for one in unet.parameters()]
    before = {}
    if tuned:
        before = {name: one.to("cpu", copy=True) for name, one in unet.state_dict().items()}
    checkpointed = unet.is_gradient_checkpointing
    try:
        if checkpointing and not checkpointed:
            unet.enable_gradient_checkpointing()
        yield
    finally:
        for one, flag in zip(unet.parameters(), flags, strict=True):
            one.grad = None
            one.requires_grad_(flag)
        if before:
            with torch.no_grad():
                for name, one in unet.state_dict().items():
                    one.copy_(before[name])
        if checkpointing and not checkpointed:
            unet.disable_gradient_checkpointing()
