"""The autoencoder, fitted rather than trained: principal components of small pixel blocks.

Trained autoencoders of this size need hours to reach what a linear projection has at once on
phantoms. The way back is a regression from each cell and its eight neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from medebench.phantoms.training.model_recipes import LatentSettings

if TYPE_CHECKING:
    from medebench.phantoms.patch_autoencoder import PatchAutoencoder

Floats = NDArray[np.float32]
Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Projection:
    #: (3 * cell * cell, channels); pixels are 0..1 less a half, in the order row, column, colour.
    matrix: Floats
    cell: int
    #: Multiplied with the latents, this gives them variance 1 on average.
    scaling: float

    def encode(self, pictures: Pixels) -> Floats:
        """Latents (n, channels, h / cell, w / cell) of pictures (n, h, w, 3)."""
        return np.asarray((_cells(pictures, self.cell) @ self.matrix).transpose(0, 3, 1, 2))


def fit(pictures: Pixels, recipe: LatentSettings) -> Projection:
    rows = _cells(pictures, recipe.cell).reshape(-1, 3 * recipe.cell**2)
    values, vectors = np.linalg.eigh((rows.T @ rows / len(rows)).astype(np.float64))
    vectors, deviation = vectors[:, ::-1][:, : recipe.channels], values[::-1][: recipe.channels]
    # The sign of an eigenvector is arbitrary; fixed, the fit is the same everywhere.
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(0), np.arange(recipe.channels)])
    deviation = np.sqrt(deviation)
    # Partly whitened: small details keep a say, large areas do not drown them.
    scaled = deviation ** (1 - recipe.whitening)
    scale = recipe.spread / np.sqrt((scaled**2).mean()) * scaled / deviation
    return Projection((vectors * scale).astype(np.float32), recipe.cell, 1 / recipe.spread)


def make_autoencoder(
    projection: Projection, pictures: Pixels, recipe: LatentSettings
) -> PatchAutoencoder:
    """The projection as a network, with the way back fitted to `pictures`."""
    import torch

    from medebench.phantoms.patch_autoencoder import PatchAutoencoder

    cell, channels = projection.cell, projection.matrix.shape[1]
    vae: PatchAutoencoder = PatchAutoencoder(
        latent_channels=channels,
        scaling_factor=projection.scaling,
        block_out_channels=(1,) * cell.bit_length(),
    )
    first = vae.decoder[0]
    with torch.no_grad():
        kernel = torch.from_numpy(projection.matrix.T.reshape(channels, cell, cell, 3))
        # The network sees -1..1, the projection 0..1 less a half.
        vae.encoder.weight.copy_(kernel.permute(0, 3, 1, 2) / 2)
        vae.encoder.bias.zero_()
        weights = _way_back(projection, pictures, recipe)
        # From row, column, colour to the order in which cells become pixels: colour first.
        shaped = weights.reshape(channels, 9, cell * cell, 3).transpose(3, 2, 0, 1)
        first.weight.copy_(torch.from_numpy(2 * shaped.reshape(3 * cell * cell, channels, 3, 3)))
        first.bias.zero_()
    return vae


def _way_back(projection: Projection, pictures: Pixels, recipe: LatentSettings) -> Floats:
    """Regression of a cell's pixels on the latents of 3 x 3 cells, as if slightly disturbed."""
    size = projection.matrix.shape[1] * 9
    left, right = np.zeros((size, size)), np.zeros((size, projection.matrix.shape[0]))
    for start in range(0, len(pictures), 64):
        some = pictures[start : start + 64]
        latents = np.pad(projection.encode(some), ((0, 0), (0, 0), (1, 1), (1, 1)), "edge")
        windows = np.lib.stride_tricks.sliding_window_view(latents, (3, 3), (2, 3))
        inputs = windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, size)
        left += inputs.T @ inputs
        right += inputs.T @ _cells(some, projection.cell).reshape(len(inputs), -1)
    cells = len(pictures) * (recipe.size // projection.cell) ** 2
    # The editor's latents are never exact: this is the regression for noise of that size.
    left += np.eye(size) * cells * (recipe.slack * recipe.spread) ** 2
    return np.linalg.solve(left, right).astype(np.float32)


def _cells(pictures: Pixels, cell: int) -> Floats:
    number, height, width, _ = pictures.shape
    values = pictures.astype(np.float32) / 255 - 0.5
    blocks = values.reshape(number, height // cell, cell, width // cell, cell, 3)
    return np.asarray(
        blocks.transpose(0, 1, 3, 2, 4, 5).reshape(number, height // cell, width // cell, -1),
        np.float32,
    )


def cell_shares(masks: NDArray[np.bool_], cell: int) -> Floats:
    """How much of each latent cell lies in masks (n, h, w)."""
    number, height, width = masks.shape
    blocks = masks.reshape(number, height // cell, cell, width // cell, cell)
    return np.asarray(blocks.mean(axis=(2, 4)), np.float32)
