"""A backbone with its weights on a device, and the distance of what it sees in two pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from medebench.images.picture import Picture
from medebench.metrics.perceptual.backbones import Backbone, Conv
from medebench.metrics.perceptual.lpips_weights import Weights

if TYPE_CHECKING:
    from torch import Tensor

#: What the network takes for the mean and the spread of each channel of pictures in -1 ... 1.
_SHIFT = (-0.030, -0.088, -0.188)
_SCALE = (0.458, 0.448, 0.450)
#: Added to a length before dividing by it, as in `lpips`: where nothing is seen, all stays 0.
_EPSILON = 1e-10


class Network:
    def __init__(self, backbone: Backbone, weights: Weights, device: str) -> None:
        import torch

        self.backbone = backbone
        self.device = device
        # Channels last is the faster layout, and that in which pictures come; Apple's GPU has none.
        self._layout = torch.contiguous_format if device == "mps" else torch.channels_last
        self._kernels = [
            self._put(one).contiguous(memory_format=self._layout) for one in weights.kernels
        ]
        self._biases = [self._put(one) for one in weights.biases]
        self.heads = [self._put(one) for one in weights.heads]

    def show(self, pictures: Sequence[Picture], data_range: float, low: float) -> Tensor:
        """Pictures of one size as the network takes them, 0 ... data_range brought to low ... 1."""
        import torch

        stacked = np.stack(pictures)
        if stacked.dtype != np.uint8:
            stacked = stacked.astype(np.float32)
        shift, scale = np.array(_SHIFT), np.array(_SCALE)
        factor = self._put(((1 - low) / data_range / scale).astype(np.float32))
        offset = self._put(((low - shift) / scale).astype(np.float32))
        pixels = torch.from_numpy(stacked).to(self.device).float()
        shown = torch.addcmul(offset, pixels, factor).permute(0, 3, 1, 2)
        return shown.contiguous(memory_format=self._layout)

    def stages(self, shown: Tensor) -> Iterator[Tensor]:
        """What each stage ends with, every cell's vector brought to the length 1."""
        import torch
        from torch.nn import functional

        convolutions = iter(zip(self._kernels, self._biases, strict=True))
        seen = shown
        for stage in self.backbone:
            for layer in stage:
                if isinstance(layer, Conv):
                    kernel, bias = next(convolutions)
                    seen = functional.conv2d(
                        seen, kernel, bias, stride=layer.stride, padding=layer.padding
                    ).relu_()
                else:
                    seen = functional.max_pool2d(seen, layer.kernel, layer.stride)
            length = torch.linalg.vector_norm(seen, dim=1, keepdim=True)
            yield seen / length.add_(_EPSILON)

    def _put(self, values: np.ndarray[Any, Any]) -> Tensor:
        import torch

        return torch.from_numpy(values).to(self.device)


def weighed(difference: Tensor, head: Tensor) -> Tensor:
    """Σ head · difference² over the channels, a number a cell; `difference` is used up."""
    return difference.square_().permute(0, 2, 3, 1) @ head
