"""The built-in editor's autoencoder: one linear projection of 16 x 16 pixels and its way back.

diffusers imports this module by the name in the model's `model_index.json`; nothing else does.
"""

from __future__ import annotations

from typing import cast

import torch
from diffusers.configuration_utils import ConfigMixin, register_to_config
from diffusers.models.autoencoders.autoencoder_tiny import AutoencoderTinyOutput
from diffusers.models.autoencoders.vae import DecoderOutput

# diffusers looks for this name here, to learn how the class is loaded.
from diffusers.models.modeling_utils import ModelMixin


class PatchAutoencoder(ModelMixin, ConfigMixin):  # type: ignore[misc]
    """Encoder: a convolution of stride 16. Decoder: a 3 x 3 convolution, then cells to pixels.

    The decoder looks at neighbouring cells, so that no seams show between them.
    """

    config_name = "config.json"

    @register_to_config  # type: ignore[untyped-decorator]
    def __init__(
        self,
        latent_channels: int = 64,
        scaling_factor: float = 1.0,
        # The pipeline reads the reduction, 2 to the number of halvings, off this list's length.
        block_out_channels: tuple[int, ...] = (1, 1, 1, 1, 1),
    ) -> None:
        super().__init__()
        cell = 2 ** (len(block_out_channels) - 1)
        self.encoder = torch.nn.Conv2d(3, latent_channels, cell, stride=cell)
        self.decoder = torch.nn.Sequential(
            torch.nn.Conv2d(
                latent_channels, 3 * cell * cell, 3, padding=1, padding_mode="replicate"
            ),
            torch.nn.PixelShuffle(cell),
        )

    def encode(self, x: torch.Tensor) -> AutoencoderTinyOutput:
        return AutoencoderTinyOutput(latents=self.encoder(x))

    def decode(
        self, z: torch.Tensor, return_dict: bool = True, generator: object = None
    ) -> DecoderOutput | tuple[torch.Tensor]:
        made = cast(torch.Tensor, self.decoder(z))
        return DecoderOutput(sample=made) if return_dict else (made,)
