"""The parts of a pipeline during training, and the folder they are saved to."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from medebench.files import whole_folder

if TYPE_CHECKING:
    from diffusers import DDIMScheduler, DiffusionPipeline, UNet2DConditionModel
    from transformers import CLIPTextModel, CLIPTokenizer

    from medebench.phantoms.patch_autoencoder import PatchAutoencoder


@dataclass(frozen=True)
class PipelineParts:
    unet: UNet2DConditionModel
    text_encoder: CLIPTextModel
    tokenizer: CLIPTokenizer
    scheduler: DDIMScheduler

    def save(self, kind: type[DiffusionPipeline], vae: PatchAutoencoder, out: Path) -> None:
        """As a pipeline of this kind, in half precision; `out` is replaced if it is there."""
        import torch

        lacking = {"safety_checker": None, "feature_extractor": None}
        pipe = kind(**vars(self), vae=vae, **lacking, requires_safety_checker=False)
        pipe.to(dtype=torch.float16)
        if out.exists():
            shutil.rmtree(out)
        with whole_folder(out) as folder:
            pipe.save_pretrained(folder)


def make_scheduler(prediction: str, steps_offset: int = 0) -> DDIMScheduler:
    """`prediction` is what the network is asked for: `sample`, the clean latents, or a velocity."""
    from diffusers import DDIMScheduler

    return DDIMScheduler(
        num_train_timesteps=1000,
        beta_start=0.00085,
        beta_end=0.012,
        beta_schedule="scaled_linear",
        prediction_type=prediction,
        clip_sample=False,
        steps_offset=steps_offset,
        timestep_spacing="trailing",
    )
