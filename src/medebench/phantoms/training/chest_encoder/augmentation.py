"""Changes that an editor makes to a picture without editing anything.

An encoder that has only seen clean phantoms takes the slight softness of a diffusion model for a
change of the patient.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from medebench.phantoms.training.chest_encoder.encoder_recipe import EncoderRecipe

if TYPE_CHECKING:
    from torch import Tensor

#: Pixels to each side that a blur looks at.
REACH = 3
CELL, KEPT = 4, 8


def disturb(pictures: Tensor, recipe: EncoderRecipe) -> Tensor:
    """Each picture (n, 1, h, w), 0 to 1, in its own way; drawn from torch's generator."""
    import torch

    count = len(pictures)
    through = torch.rand(count, 1, 1, 1) < recipe.compressed
    pictures = torch.where(through, compress(pictures), pictures)
    # Half of them stay as sharp as they are.
    pictures = blurred(pictures, recipe.blur * torch.relu(2 * torch.rand(count) - 1))
    tone = 2 * torch.rand(count, 2, 1, 1, 1) - 1
    middle = pictures.mean((1, 2, 3), keepdim=True)
    pictures = middle + (pictures - middle) * (1 + recipe.contrast * tone[:, 0])
    pictures = pictures + recipe.brightness * tone[:, 1]
    noise = recipe.noise * torch.rand(count, 1, 1, 1).square()
    return (pictures + noise * torch.randn_like(pictures)).clamp(0, 1)


def moved(pictures: Tensor, right: int, down: int) -> Tensor:
    """All pictures by whole pixels; what comes in is what was at the edge."""
    from torch.nn.functional import pad

    height, width = pictures.shape[-2:]
    far = max(abs(right), abs(down))
    wide = pad(pictures, (far,) * 4, mode="replicate")
    return wide[..., far - down : far - down + height, far - right : far - right + width]


def blurred(pictures: Tensor, widths: Tensor) -> Tensor:
    """Each with a Gaussian of its own width in pixels; 0 leaves a picture as it is."""
    import torch
    from torch.nn.functional import conv2d, pad

    at = torch.arange(-REACH, REACH + 1)
    kernel = torch.exp(-0.5 * (at / widths[:, None].clamp(min=1e-3)).square())
    kernel = kernel / kernel.sum(1, keepdim=True)
    count = len(pictures)
    # A picture is a channel, and channels are not mixed.
    rows = pad(pictures.transpose(0, 1), (REACH,) * 4, mode="replicate")
    rows = conv2d(rows, kernel[:, None, None, :], groups=count)
    return conv2d(rows, kernel[:, None, :, None], groups=count).transpose(0, 1)


def compress(pictures: Tensor) -> Tensor:
    """Only the 8 smoothest of 16 patterns of every 4 x 4 pixels are left, as in an autoencoder."""
    from torch.nn.functional import conv2d, conv_transpose2d

    patterns = _patterns()
    return conv_transpose2d(conv2d(pictures, patterns, stride=CELL), patterns, stride=CELL)


def _patterns() -> Tensor:
    """The cosine transform's, smooth ones first."""
    import torch

    at = (torch.arange(CELL) + 0.5) * math.pi / CELL
    waves = torch.stack([torch.cos(at * order) for order in range(CELL)])
    waves = waves / waves.norm(dim=1, keepdim=True)
    orders = sorted(
        ((one, other) for one in range(CELL) for other in range(CELL)),
        key=lambda pair: (pair[0] ** 2 + pair[1] ** 2, pair),
    )
    chosen = [torch.outer(waves[one], waves[other]) for one, other in orders[:KEPT]]
    return torch.stack(chosen)[:, None]
