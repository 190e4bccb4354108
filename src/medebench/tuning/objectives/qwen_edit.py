"""Qwen-Image-Edit: the input picture is read together with the text, and its tokens stand behind
those of the picture to be made."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from PIL import Image

from medebench.tuning.objectives.flow_matching import FlowMatching, Text, token_shift
from medebench.tuning.objectives.remembered import Remembered
from medebench.tuning.pairs import Pixels
from medebench.tuning.train_settings import TrainSettings

if TYPE_CHECKING:
    import torch

#: The first of these pipelines brings all input pictures to about as many pixels.
_AREA = 1024 * 1024


class QwenEditObjective(FlowMatching):
    kinds: ClassVar[tuple[str, ...]] = ("QwenImageEditPlusPipeline", "QwenImageEditPipeline")

    def __init__(self, pipe: Any, settings: TrainSettings) -> None:
        super().__init__(pipe, settings)
        self._read: dict[str, Remembered] = {}

    @property
    def without_text(self) -> str | None:
        return self.blank or " "

    @property
    def _plus(self) -> bool:
        return type(self.pipe).__name__ == "QwenImageEditPlusPipeline"

    def latents(self, pixels: Pixels) -> torch.Tensor:
        picture = Image.fromarray(pixels)
        return self._encoded(picture, picture.size)

    def shown(self, pixels: Pixels) -> torch.Tensor:
        picture = Image.fromarray(pixels)
        return self._encoded(picture, self._size(picture, "VAE_IMAGE_SIZE"))

    def encode(self, text: str, pixels: Pixels) -> Text:
        picture = Image.fromarray(pixels)
        width, height = self._size(picture, "CONDITION_IMAGE_SIZE")
        seen = self.pipe.image_processor.resize(picture, height, width)
        prompt, mask = self.pipe.encode_prompt(
            text, image=[seen] if self._plus else seen, device=self.device
        )
        return {"prompt": prompt[0] if mask is None else prompt[0][mask[0].bool()]}

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

        made, shown = self._tokens(noisy), self._tokens(condition)
        shapes = [(1, one.shape[-2] // 2, one.shape[-1] // 2) for one in (noisy, condition)]
        said = self.denoiser(
            hidden_states=torch.cat([made, shown], dim=1).to(self.dtype),
            timestep=times,
            guidance=self.guidance(len(noisy)),
            encoder_hidden_states=self.stack(texts, "prompt"),
            encoder_hidden_states_mask=self._mask(texts),
            img_shapes=[shapes] * len(noisy),
            return_dict=False,
        )[0][:, : made.shape[1]]
        cell = self.pipe.vae_scale_factor
        height, width = (side * cell for side in noisy.shape[-2:])
        unpacked: torch.Tensor = self.pipe._unpack_latents(said, height, width, cell)
        return unpacked[:, :, 0]

    def _text(self, text: str, pixels: Pixels) -> Text:
        """Remembered for each picture: the same words in front of another one are another text."""
        read = self._read.setdefault(text, Remembered())
        return read.picture(pixels, lambda pixels: self._kept(text, pixels))

    def _mask(self, texts: Sequence[Text]) -> torch.Tensor | None:
        """Which tokens are text; None where all are, as in the pipeline."""
        import torch

        lengths = torch.tensor([len(text["prompt"]) for text in texts], device=self.device)
        mask = torch.arange(int(lengths.max()), device=self.device) < lengths[:, None]
        return None if bool(mask.all()) else mask.long()

    def _tokens(self, latents: torch.Tensor) -> torch.Tensor:
        """Tokens of 2 x 2 cells."""
        packed: torch.Tensor = self.pipe._pack_latents(latents, *latents.shape)
        return packed

    def _encoded(self, picture: Image.Image, size: tuple[int, int]) -> torch.Tensor:
        """Latents of a film of one picture, without their dimension of time."""
        pipe, (width, height) = self.pipe, size
        values = pipe.image_processor.preprocess(picture, height, width).unsqueeze(2)
        made = pipe._encode_vae_image(values.to(self.device, pipe.vae.dtype), None)
        found: torch.Tensor = made[:, :, 0]
        return found

    def _size(self, picture: Image.Image, name: str) -> tuple[int, int]:
        """What the pipeline brings an input picture to; the first one has one size for both."""
        module: Any = sys.modules[type(self.pipe).__module__]
        area = getattr(module, name) if self._plus else _AREA
        width, height = module.calculate_dimensions(area, picture.width / picture.height)[:2]
        return int(width), int(height)
