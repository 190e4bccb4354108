"""The way from a picture to noise and the steps back, as plain numbers.

At step t a picture x_0 has become x_t = a_t x_0 + s_t e, where e is noise of variance 1. That is
all that the kinds of diffusion models differ in: variance-preserving ones have a^2 + s^2 = 1, flow
matching has a = 1 - s. The last step ends at the picture itself: a = 1, s = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from torch import Tensor

#: What a network says of noisy latents: their noise, v = a e - s x_0, the picture, or e - x_0.
Prediction = Literal["epsilon", "v_prediction", "sample", "flow"]


@dataclass(frozen=True)
class Step:
    """From (a, s) to the next, less noisy (a_next, s_next)."""

    #: What the network is told of the time.
    timestep: float
    a: float
    s: float
    a_next: float
    s_next: float

    @property
    def sd(self) -> float:
        """Standard deviation of what an ancestral step adds: q(x_next | x, x_0) has this spread."""
        left = self.s**2 - (self.a / self.a_next * self.s_next) ** 2
        return self.s_next / self.s * sqrt(max(left, 0.0))

    def clean_and_noise(
        self, prediction: Tensor, latents: Tensor, kind: Prediction
    ) -> tuple[Tensor, Tensor]:
        """(x_0, e) as the network sees them."""
        a, s = self.a, self.s
        if kind == "epsilon":
            return (latents - s * prediction) / a, prediction
        if kind == "v_prediction":
            return a * latents - s * prediction, a * prediction + s * latents
        if kind == "sample":
            return prediction, (latents - a * prediction) / s
        return latents - s * prediction, latents + a * prediction

    def mean(self, prediction: Tensor, latents: Tensor, kind: Prediction) -> Tensor:
        """Where an ancestral step goes before its noise is added."""
        clean, noise = self.clean_and_noise(prediction, latents, kind)
        return self.a_next * clean + sqrt(max(self.s_next**2 - self.sd**2, 0.0)) * noise


@dataclass(frozen=True)
class Path:
    """All steps, from the noisiest to the picture."""

    steps: tuple[Step, ...]

    def __len__(self) -> int:
        return len(self.steps)

    def skipped(self, share: float) -> Path:
        """Without the noisiest `share` of the steps; one step is always left."""
        left_out = min(round(share * len(self)), len(self) - 1)
        return Path(self.steps[left_out:])


def path_of(timesteps: Sequence[float], a: Sequence[float], s: Sequence[float]) -> Path:
    """The steps through these levels of noise and on to the picture."""
    levels = [*zip(a, s, strict=True), (1.0, 0.0)]
    if any(less[1] >= more[1] for more, less in pairwise(levels)):
        raise ValueError("the noise does not decrease from step to step")
    pairs = zip(timesteps, pairwise(levels), strict=True)
    return Path(tuple(Step(float(time), *one, *two) for time, (one, two) in pairs))


def diffusion_path(kept: Sequence[float], count: int) -> Path:
    """`count` timesteps in equal distances, the last one of the training first.

    `kept` is the share of the picture's variance at each timestep of the training
    (`alphas_cumprod`). With as many steps as the training had, these are DDPM's.
    """
    if not 1 <= count <= len(kept):
        raise ValueError(f"{count} steps of {len(kept)} timesteps")
    chosen = [round(len(kept) * (count - done) / count) - 1 for done in range(count)]
    shares = [kept[timestep] for timestep in chosen]
    return path_of(chosen, [sqrt(one) for one in shares], [sqrt(1 - one) for one in shares])


def flow_path(timesteps: Sequence[float], sigmas: Sequence[float]) -> Path:
    """Flow matching: s = sigma, a = 1 - sigma; `sigmas` without the 0 at the end."""
    return path_of(timesteps, [1 - sigma for sigma in sigmas], sigmas)
