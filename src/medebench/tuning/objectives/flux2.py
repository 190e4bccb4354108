"""FLUX.2, dev and klein: joined cells are normalised, places have four numbers, of which one tells
the input picture from the one to be made.

FLUX.2 [klein] comes distilled to few steps, or as the base model; only the base is trained, for
training by flow matching undoes what makes few steps do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from PIL import Image

from medebench.errors import InputError
from medebench.tuning.objectives.flow_matching import ATTENTION, FlowMatching, Text
from medebench.tuning.pairs import Pixels
from medebench.tuning.train_settings import TrainSettings

if TYPE_CHECKING:
    import torch

#: The shift depends on the number of steps too; this many are what the pipelines take by default.
_STEPS = 50
#: An input picture of more pixels is made smaller by the pipeline.
_LARGEST = 1024 * 1024


class Flux2Objective(FlowMatching):
    kinds: ClassVar[tuple[str, ...]] = ("Flux2Pipeline", "Flux2KleinPipeline")
    #: Single blocks make queries, keys, values and the inside of their network in one layer.
    lora_targets: ClassVar[tuple[str, ...]] = (*ATTENTION, "to_qkv_mlp_proj")

    @classmethod
    def problem(cls, index: dict[str, Any], settings: TrainSettings) -> str | None:
        if index.get("is_distilled"):
            return "it is distilled to few steps, which training would undo; use its base model"
        return super().problem(index, settings)

    @property
    def without_text(self) -> str | None:
        """Klein's base model works against an empty text; dev is told its guidance as a number."""
        return "" if type(self.pipe).__name__ == "Flux2KleinPipeline" else None

    def latents(self, pixels: Pixels) -> torch.Tensor:
        return self._encoded(Image.fromarray(pixels))

    def shown(self, pixels: Pixels) -> torch.Tensor:
        processor, picture = self.pipe.image_processor, Image.fromarray(pixels)
        try:
            processor.check_image_input(picture)
        except ValueError as error:
            raise InputError(f"size: {error}; choose a larger size, or crop the pictures") from None
        if picture.width * picture.height > _LARGEST:
            picture = processor._resize_to_target_area(picture, _LARGEST)
        return self._encoded(picture)

    def encode(self, text: str, pixels: Pixels) -> Text:
        prompt, _ = self.pipe.encode_prompt(text, device=self.device)
        return {"prompt": prompt[0]}

    def shift(self, target: torch.Tensor) -> float:
        from diffusers.pipelines.flux2.pipeline_flux2 import compute_empirical_mu

        return float(compute_empirical_mu(target.shape[-2] * target.shape[-1], _STEPS))

    def velocity(
        self,
        noisy: torch.Tensor,
        times: torch.Tensor,
        condition: torch.Tensor,
        texts: Sequence[Text],
    ) -> torch.Tensor:
        import torch

        pipe, count = self.pipe, len(noisy)
        prompt = self.stack(texts, "prompt")
        made, shown = pipe._pack_latents(noisy), pipe._pack_latents(condition)
        made_ids = pipe._prepare_latent_ids(noisy)
        shown_ids = pipe._prepare_image_ids([condition[:1]]).expand(count, -1, -1)
        said = self.denoiser(
            hidden_states=torch.cat([made, shown], dim=1).to(self.dtype),
            timestep=times,
            guidance=self.guidance(count),
            encoder_hidden_states=prompt,
            txt_ids=pipe._prepare_text_ids(prompt).to(self.device),
            img_ids=torch.cat([made_ids, shown_ids], dim=1).to(self.device),
            return_dict=False,
        )[0][:, : made.shape[1]]
        unpacked: torch.Tensor = said.transpose(1, 2).reshape(noisy.shape)
        return unpacked

    def _encoded(self, picture: Image.Image) -> torch.Tensor:
        """Latents of 2 x 2 joined cells, normalised by the autoencoder's statistics."""
        pipe = self.pipe
        cell = pipe.vae_scale_factor * 2
        width, height = (side // cell * cell for side in picture.size)
        values = pipe.image_processor.preprocess(picture, height, width, resize_mode="crop")
        made: torch.Tensor = pipe._encode_vae_image(values.to(self.device, pipe.vae.dtype), None)
        return made
