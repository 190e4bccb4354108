"""The Inception that FID and KID are defined with, as an encoder.

Pictures are prepared as clean-fid does in its mode "clean": each channel is resized to 299 x 299
in floating point with Pillow's antialiased bicubic filter, cut to 0 ... 255 and never rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.device import TORCH, choose_device, exact, missing_releases
from medebench.encoders.encoder import Features
from medebench.encoders.local_encoder import LocalEncoder
from medebench.errors import MedebenchError
from medebench.images.picture import Picture
from medebench.weights.local_weights import GIVEN

#: Changes when the same weights would give other vectors.
PREPARED = "clean-1"
_SIDE = 299


class InceptionEncoder(LocalEncoder):
    """2048 numbers a picture, the mean of the last layer over the frame."""

    usual = "inception"

    def lacking(self) -> str | None:
        return missing_releases(TORCH, "metrics")

    def problem(self) -> str | None:
        if told := super().problem():
            return told
        if self.weights.origin == GIVEN:
            # Known files have a checksum; this one is the user's, and is better read now than late.
            from medebench.encoders.inception_weights import read_inception

            try:
                read_inception(self.weights.path)
            except MedebenchError as error:
                return str(error)
        return None

    @cached_property
    def identity(self) -> str:
        return f"inception {self.weights.identity} pictures {PREPARED}"

    def prepare(self, picture: Picture, data_range: int) -> NDArray[np.float32]:
        """(299, 299, 3) in 0 ... 255."""
        grey = bool((picture == picture[..., :1]).all())
        planes = [
            _resized(picture[..., channel], 255 / data_range) for channel in range(1 if grey else 3)
        ]
        return np.stack(planes * 3 if grey else planes, axis=-1)

    def encode(self, prepared: Sequence[NDArray[Any]]) -> Features:
        import torch

        network, device = self.network(), choose_device(self.device)
        # As they lie, pictures are channels last, and so are the kernels.
        pixels = torch.from_numpy(np.stack(prepared)).to(device).permute(0, 3, 1, 2)
        with torch.inference_mode(), exact(device):
            vectors: Features = network((pixels - 128) / 128).cpu().numpy()
        return vectors

    def _load(self, device: str) -> Any:
        from medebench.encoders.inception_network import Network
        from medebench.encoders.inception_weights import read_inception

        return Network(read_inception(self.weights.path)).to(device).eval()


def _resized(plane: NDArray[Any], factor: float) -> NDArray[np.float32]:
    values = plane.astype(np.float32)
    if factor != 1:
        values *= np.float32(factor)
    image = Image.fromarray(values).resize((_SIDE, _SIDE), Image.Resampling.BICUBIC)
    return np.asarray(image).clip(0, 255)
