"""Text-to-image pipelines seen as one thing: latents and a text in, a prediction out.

The pipeline's own call is not used, and neither is its scheduler's step: only the scheduler's
levels of noise are. So it does not matter which scheduler a model was saved with.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.errors import InputError
from medebench.systems.imagic.pipeline_parts import likeliest
from medebench.systems.radedit.noise_path import Path, Prediction, diffusion_path

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Text:
    """Texts of a batch as the network reads them."""

    states: Tensor
    #: What some networks are told beside it, by the name of their argument.
    more: dict[str, Tensor] = field(default_factory=dict)


class Network(ABC):
    """One kind of pipeline; see kinds.py."""

    #: The part of the pipeline that predicts.
    part: ClassVar[str]

    def __init__(self, pipe: Any) -> None:
        self.pipe = pipe
        vae = pipe.vae
        # As the pipelines themselves do: these autoencoders overflow in half precision.
        if str(vae.dtype) == "torch.float16" and vae.config.get("force_upcast", True):
            vae.float()

    @property
    def denoiser(self) -> Any:
        return getattr(self.pipe, self.part)

    @property
    def device(self) -> Any:
        return self.pipe._execution_device

    @property
    def prediction(self) -> Prediction:
        said: Prediction = self.pipe.scheduler.config.prediction_type
        return said

    def path(self, steps: int, width: int, height: int) -> Path:
        """`steps` steps for a canvas of this size; InputError where the model has fewer."""
        kept = self.pipe.scheduler.alphas_cumprod.double().cpu().tolist()
        if steps > len(kept):
            raise InputError(f"steps={steps}: this model was trained on {len(kept)}; use fewer")
        if self.prediction == "epsilon" and kept[-1] <= 0:
            raise InputError(
                "radedit: this model predicts noise, and its last timestep holds nothing else: "
                "no picture can be told from that; use another model"
            )
        return diffusion_path(kept, steps)

    @abstractmethod
    def read(self, texts: Sequence[str]) -> Text:
        """The texts through the pipeline's own encoders."""

    @abstractmethod
    def _predict(self, latents: Tensor, timestep: float, text: Text) -> Tensor: ...

    def predict(self, latents: Tensor, timestep: float, text: Text) -> Tensor:
        """The prediction in the precision of `latents`, whatever the network computes in."""
        seen = latents.to(self.denoiser.dtype)
        return self._predict(seen, timestep, text).to(latents.dtype)

    def encode(self, pictures: Sequence[Image.Image]) -> Tensor:
        """Latents in 32 bits or more, scaled as the denoiser knows them; the likeliest, no draw."""
        import torch

        vae = self.pipe.vae
        pixels = self.pipe.image_processor.preprocess(list(pictures))
        made = likeliest(vae.encode(pixels.to(self.device, vae.dtype)))
        mean, spread = self._scale()
        wide = made.to(torch.promote_types(made.dtype, torch.float32))
        latents: Tensor = (wide - mean) / spread
        return latents

    def decode(self, latents: Tensor) -> NDArray[np.float32]:
        """Pictures (n, height, width, 3) in 0..1."""
        mean, spread = self._scale()
        vae = self.pipe.vae
        made = vae.decode((latents * spread + mean).to(vae.dtype), return_dict=False)[0]
        pictures = self.pipe.image_processor.postprocess(made.float().detach(), output_type="np")
        self.pipe.maybe_free_model_hooks()
        return np.asarray(pictures, np.float32)

    def _scale(self) -> tuple[Any, Any]:
        """Mean and spread of what the autoencoder gives, as its configuration tells them."""
        import torch

        config = self.pipe.vae.config
        factor = config.scaling_factor
        mean, spread = config.get("latents_mean"), config.get("latents_std")
        if mean is not None and spread is not None:
            shape = (1, -1, 1, 1)
            mean, spread = (torch.tensor(one, device=self.device) for one in (mean, spread))
            return mean.view(shape), spread.view(shape) / factor
        return config.get("shift_factor") or 0.0, 1 / factor
