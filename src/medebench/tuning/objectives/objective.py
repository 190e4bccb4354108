"""The contract between a family of pipelines and the training loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from medebench.tuning.pairs import TrainPair
from medebench.tuning.train_settings import Method, TrainSettings

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Batch:
    """Pairs as the denoiser sees them; what the frozen parts of the pipeline made of them.

    `target` and `condition` are latents (n, channels, [1,] height, width), scaled as the denoiser
    expects them; `text` whatever the family needs, by name; `weight` (n, height, width) of each
    latent cell in the loss.
    """

    target: torch.Tensor
    condition: torch.Tensor
    text: dict[str, Any]
    weight: torch.Tensor


@dataclass(frozen=True)
class Draw:
    """All that is random in a step, so that a loss is a function of pairs, weights and this."""

    #: Of the shape of `Batch.target`.
    noise: torch.Tensor
    #: (n,): timesteps of the scheduler, or sigmas from 0 to 1 of a flow.
    times: torch.Tensor
    #: (n,) each: whose text, and whose input image, is withheld.
    no_text: torch.Tensor
    no_image: torch.Tensor


class Objective(ABC):
    """The loss of one family of pipelines; only `denoiser` learns, everything else is frozen."""

    #: Classes of pipelines that it trains.
    kinds: ClassVar[tuple[str, ...]]
    #: The pipeline's part that learns.
    part: ClassVar[str]
    methods: ClassVar[tuple[Method, ...]] = ("lora",)
    #: Layers that a LoRA is put on, as peft's `target_modules`.
    lora_targets: ClassVar[tuple[str, ...]]
    #: Whether it can do without its input image, and so learn image guidance.
    drops_image: ClassVar[bool] = False
    #: What the pipeline is told where the text is withheld: the system's negative prompt.
    blank: str = ""

    def __init__(self, pipe: Any, settings: TrainSettings) -> None:
        self.pipe, self.settings = pipe, settings

    @property
    def denoiser(self) -> torch.nn.Module:
        found: torch.nn.Module = getattr(self.pipe, self.part)
        return found

    @classmethod
    def problem(cls, index: dict[str, Any], settings: TrainSettings) -> str | None:
        """Why a pipeline with this `model_index.json` cannot be trained so."""
        if settings.method not in cls.methods:
            return f"method={settings.method}: {cls.kinds[0]} is trained as {cls.methods[0]} only"
        return None

    @classmethod
    def folder_problem(cls, folder: Path) -> str | None:
        """The same from the files of its parts, of which none is loaded."""
        return None

    @abstractmethod
    def batch(self, pairs: Sequence[TrainPair], generator: torch.Generator) -> Batch:
        """Encode pairs of one canvas without gradients; texts are encoded once and remembered.

        `generator` is there for families whose autoencoder draws its latents.
        """

    @abstractmethod
    def draw(self, batch: Batch, generator: torch.Generator) -> Draw:
        """Noise, times and what is withheld; `generator` is on the CPU."""

    @abstractmethod
    def loss(self, batch: Batch, draw: Draw) -> torch.Tensor:
        """Weighted mean of the squared error of the denoiser's prediction, as a scalar."""
