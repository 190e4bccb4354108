"""FLUX.1 Kontext: the input picture's tokens stand behind those of the picture to be made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from PIL import Image

from medebench.tuning.objectives.flow_matching import FlowMatching, Text, token_shift
from medebench.tuning.pairs import Pixels

if TYPE_CHECKING:
    import torch


class FluxKontextObjective(FlowMatching):
    kinds: ClassVar[tuple[str, ...]] = ("FluxKontextPipeline",)

    @property
    def without_text(self) -> str | None:
        """A model that is told its guidance as a number needs no second text."""
        return None if self.config.get("guidance_embeds") else self.blank or " "

    def latents(self, pixels: Pixels) -> torch.Tensor:
        pipe = self.pipe
        values = pipe.image_processor.preprocess(Image.fromarray(pixels))
        made: torch.Tensor = pipe._encode_vae_image(values.to(self.device, pipe.vae.dtype), None)
        return made

    def shown(self, pixels: Pixels) -> torch.Tensor:
        return self.latents(pixels)

    def encode(self, text: str, pixels: Pixels) -> Text:
        prompt, pooled, _ = self.pipe.encode_prompt(text, None, device=self.device)
        return {"prompt": prompt[0], "pooled": pooled[0]}

    def shift(self, target: torch.Tensor) -> float:
        return token_shift(self.pipe.scheduler, target.shape[-2] * target.shape[-1] // 4)

    def velocity(
        self,
        noisy: torch.Tensor,
        times: torch.Tensor,
        condition: torch.Tensor,
        texts: Sequence[Text],
    ) -> torch.Tensor:
        import torch

        made, made_ids = self._tokens(noisy)
        shown, shown_ids = self._tokens(condition)
        shown_ids[:, 0] = 1
        prompt = self.stack(texts, "prompt")
        said = self.denoiser(
            hidden_states=torch.cat([made, shown], dim=1),
            timestep=times,
            guidance=self.guidance(len(noisy)),
            pooled_projections=self.stack(texts, "pooled"),
            encoder_hidden_states=prompt,
            txt_ids=prompt.new_zeros(prompt.shape[1], 3),
            img_ids=torch.cat([made_ids, shown_ids]),
            return_dict=False,
        )[0][:, : made.shape[1]]
        cell = self.pipe.vae_scale_factor
        height, width = (side * cell for side in noisy.shape[-2:])
        unpacked: torch.Tensor = self.pipe._unpack_latents(said, height, width, cell)
        return unpacked

    def _tokens(self, latents: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Tokens of 2 x 2 cells, and the ids of their places."""
        count, channels, height, width = latents.shape
        packed = self.pipe._pack_latents(latents, count, channels, height, width).to(self.dtype)
        ids = self.pipe._prepare_latent_image_ids(
            count, height // 2, width // 2, packed.device, packed.dtype
        )
        return packed, ids
