"""Every number of the chest model's training; no seed of a stress test is among them."""

from __future__ import annotations

from dataclasses import dataclass

from medebench.phantoms.training.recipe_base import LatentSettings, PaceSettings, TextSettings


@dataclass(frozen=True)
class ChestRecipe(LatentSettings, TextSettings, PaceSettings):
    #: Patients drawn for training, from `draw_patient(seed, index, EVERYBODY)`.
    patients: int = 12_000
    seed: int = 30_260
    size: int = 128
    #: Patients from whom the autoencoder is fitted.
    fitted: int = 1_500
    #: Channels of the latents; each cell stands for 4 x 4 pixels.
    channels: int = 8
    cell: int = 4
    #: 1 would give every latent channel the same variance, 0 leaves that of the pixels.
    whitening: float = 0.6
    #: Standard deviation of the latents before `scaling_factor`, which is its inverse.
    spread: float = 0.25
    #: Noise on the latents for which the way back is fitted, as a share of their spread.
    slack: float = 0.03

    tokens: int = 24
    vocabulary: int = 1_000
    text_width: int = 128
    text_layers: int = 2
    widths: tuple[int, int, int] = (64, 96, 160)
    heads: int = 4

    steps: int = 3_000
    batch: int = 16
    rate: float = 5e-4
    warm_up: int = 200
    average: float = 0.998
    #: How often the text is withheld, for guidance.
    no_text: float = 0.12
    #: Further weight of a latent cell wholly inside a finding or a device; elsewhere it is 1.
    inside: float = 3.0


RECIPE = ChestRecipe()
