"""U-Nets in the manner of InstructPix2Pix: noise is taken off latents beside those of the input."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from medebench.tuning.objectives.loss_weights import cell_weights, weighted_error
from medebench.tuning.objectives.objective import Batch, Draw, Objective
from medebench.tuning.objectives.remembered import Remembered
from medebench.tuning.pairs import TrainPair
from medebench.tuning.train_settings import Method, TrainSettings

if TYPE_CHECKING:
    import torch

#: What the U-Net may have learned to predict.
PREDICTIONS = ("epsilon", "v_prediction", "sample")


class InstructPix2PixObjective(Objective):
    """Stable Diffusion, and the built-in editor of phantoms."""

    kinds: ClassVar[tuple[str, ...]] = ("StableDiffusionInstructPix2PixPipeline",)
    part = "unet"
    methods: ClassVar[tuple[Method, ...]] = ("lora", "full")
    lora_targets: ClassVar[tuple[str, ...]] = (
        *("to_q", "to_k", "to_v", "to_out.0"),
        *("proj_in", "proj_out", "ff.net.0.proj", "ff.net.2"),
    )
    drops_image = True

    def __init__(self, pipe: Any, settings: TrainSettings) -> None:
        super().__init__(pipe, settings)
        self._seen = Remembered()

    @classmethod
    def folder_problem(cls, folder: Path) -> str | None:
        scheduler = _config(folder / "scheduler" / "scheduler_config.json")
        predicts = scheduler.get("prediction_type", "epsilon")
        if predicts not in PREDICTIONS or scheduler.get("use_flow_sigmas"):
            return f"its scheduler predicts {predicts}; trained are {', '.join(PREDICTIONS)}"
        unet, vae = (_config(folder / name / "config.json") for name in ("unet", "vae"))
        takes, latents = unet.get("in_channels"), vae.get("latent_channels")
        if takes is not None and latents is not None and takes != 2 * latents:
            return f"its U-Net takes {takes} channels, not {latents} and the input's {latents}"
        return None

    @cached_property
    def schedule(self) -> Any:
        """Noise as the pipeline's scheduler has it, whatever way of taking steps it is."""
        from diffusers import DDPMScheduler

        return DDPMScheduler.from_config(self.pipe.scheduler.config)

    def batch(self, pairs: Sequence[TrainPair], generator: torch.Generator) -> Batch:
        import torch

        with torch.no_grad():
            mode = [self._seen.picture(pair.target, self._encode) for pair in pairs]
            target = self._scaled(torch.cat(mode))
            condition = torch.cat([self._seen.picture(one.previous, self._encode) for one in pairs])
            condition = condition * self._condition_scale
            text = self._texts([pair.prompt for pair in pairs], pairs[0].previous.shape[:2])
        height, width = target.shape[-2:]
        weight = cell_weights(pairs, height, width, self.settings.roi_weight)
        return Batch(target, condition, text, weight.to(target.device))

    def draw(self, batch: Batch, generator: torch.Generator) -> Draw:
        import torch

        count, device = len(batch.target), batch.target.device
        noise = torch.randn(batch.target.shape, generator=generator)
        steps = int(self.schedule.config.num_train_timesteps)
        times = torch.randint(0, steps, (count,), generator=generator)
        chance = torch.rand(count, generator=generator)
        settings = self.settings
        text, image = settings.no_text, settings.no_text + settings.no_image
        both = (chance >= image) & (chance < image + settings.no_both)
        no_text = (chance < text) | both
        no_image = ((chance >= text) & (chance < image)) | both
        return Draw(*(one.to(device) for one in (noise, times, no_text, no_image)))

    def loss(self, batch: Batch, draw: Draw) -> torch.Tensor:
        import torch

        noisy = self.schedule.add_noise(batch.target, draw.noise, draw.times)
        condition = batch.condition.masked_fill(draw.no_image[:, None, None, None], 0)
        told = self._told(batch.text, draw.no_text)
        guess = self.denoiser(torch.cat([noisy, condition], 1), draw.times, **told).sample
        return weighted_error(guess, self._wanted(batch, draw), batch.weight)

    def _wanted(self, batch: Batch, draw: Draw) -> torch.Tensor:
        predicts = self.schedule.config.prediction_type
        if predicts == "sample":
            return batch.target
        if predicts == "epsilon":
            return draw.noise
        found: torch.Tensor = self.schedule.get_velocity(batch.target, draw.noise, draw.times)
        return found

    def _encode(self, pixels: Any) -> torch.Tensor:
        """The middle of what the autoencoder makes of a picture: what the pipeline shows."""
        import torch

        vae = self.pipe.vae
        given = torch.from_numpy(pixels.copy()).permute(2, 0, 1)[None].float() / 127.5 - 1
        made = vae.encode(given.to(vae.device, vae.dtype))
        latents = made.latents if hasattr(made, "latents") else made.latent_dist.mode()
        found: torch.Tensor = latents.float()
        return found

    def _scaled(self, latents: torch.Tensor) -> torch.Tensor:
        return latents * float(self.pipe.vae.config.scaling_factor)

    @property
    def _condition_scale(self) -> float:
        """The pipeline gives the input's latents to the U-Net as they are."""
        return 1.0

    def _texts(self, prompts: list[str], canvas: tuple[int, ...]) -> dict[str, Any]:
        import torch

        hidden = [self._seen.text(prompt, self._hidden) for prompt in prompts]
        return {"hidden": torch.cat(hidden), "blank": self._seen.text(self.blank, self._hidden)}

    def _told(self, text: dict[str, Any], withheld: torch.Tensor) -> dict[str, Any]:
        """What the U-Net is told besides latents and times."""
        import torch

        where = withheld[:, None, None]
        return {"encoder_hidden_states": torch.where(where, text["blank"], text["hidden"])}

    def _hidden(self, prompt: str) -> torch.Tensor:
        pipe = self.pipe
        found: torch.Tensor = pipe._encode_prompt([prompt], pipe.text_encoder.device, 1, False)
        return found.float()


class SdxlInstructPix2PixObjective(InstructPix2PixObjective):
    """SDXL: two text encoders, a pooled text, and the sizes of the picture."""

    kinds: ClassVar[tuple[str, ...]] = ("StableDiffusionXLInstructPix2PixPipeline",)

    def _scaled(self, latents: torch.Tensor) -> torch.Tensor:
        config = self.pipe.vae.config
        mean, deviation = config.get("latents_mean"), config.get("latents_std")
        if mean is None or deviation is None:
            return super()._scaled(latents)
        middle = latents.new_tensor(mean).view(1, -1, 1, 1)
        spread = latents.new_tensor(deviation).view(1, -1, 1, 1)
        return (latents - middle) * float(config.scaling_factor) / spread

    @property
    def _condition_scale(self) -> float:
        scaled = getattr(self.pipe, "is_cosxl_edit", False)
        return float(self.pipe.vae.config.scaling_factor) if scaled else 1.0

    def _texts(self, prompts: list[str], canvas: tuple[int, ...]) -> dict[str, Any]:
        import torch

        made = [self._seen.text(prompt, self._both) for prompt in prompts]
        hidden, pooled = (torch.cat(one) for one in zip(*made, strict=True))
        blank, blank_pooled = self._blank(made[0])
        height, width = canvas
        sizes = hidden.new_tensor([height, width, 0, 0, height, width]).expand(len(prompts), -1)
        found = {"hidden": hidden, "blank": blank, "sizes": sizes}
        return found | {"pooled": pooled, "blank_pooled": blank_pooled}

    def _blank(self, like: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """Without a negative prompt most of these pipelines take zeros in place of a text."""
        if not self.blank and self.pipe.config.get("force_zeros_for_empty_prompt"):
            hidden, pooled = like
            return hidden.new_zeros(hidden.shape), pooled.new_zeros(pooled.shape)
        return self._seen.text(self.blank, self._both)

    def _told(self, text: dict[str, Any], withheld: torch.Tensor) -> dict[str, Any]:
        import torch

        pooled = torch.where(withheld[:, None], text["blank_pooled"], text["pooled"])
        added = {"text_embeds": pooled, "time_ids": text["sizes"]}
        return {**super()._told(text, withheld), "added_cond_kwargs": added}

    def _both(self, prompt: str) -> tuple[torch.Tensor, torch.Tensor]:
        pipe = self.pipe
        device = pipe.text_encoder_2.device
        found = pipe.encode_prompt([prompt], device=device, do_classifier_free_guidance=False)
        return found[0].float(), found[2].float()


def _config(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
