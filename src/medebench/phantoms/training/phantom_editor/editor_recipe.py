"""Every number of the training, in one place; the seeds of evaluation are never among them."""

from __future__ import annotations

from dataclasses import dataclass

from medebench.phantoms.training.recipe_base import LatentSettings, PaceSettings, TextSettings


@dataclass(frozen=True)
class EditorRecipe(LatentSettings, TextSettings, PaceSettings):
    #: Phantoms drawn for training, from `sample(index, seed)`.
    phantoms: int = 9360
    seed: int = 20260
    size: int = 256
    #: Phantoms from which the autoencoder is fitted.
    fitted: int = 1040
    #: Channels of the latents; each cell stands for 16 x 16 pixels.
    channels: int = 64
    cell: int = 16
    #: 1 would give every latent channel the same variance, 0 leaves that of the pixels.
    whitening: float = 0.7
    #: Standard deviation of the latents before `scaling_factor`, which is its inverse.
    spread: float = 0.25

    #: Noise on the latents for which the way back is fitted, as a share of their spread.
    slack: float = 0.05

    tokens: int = 32
    vocabulary: int = 1600
    text_width: int = 128
    text_layers: int = 2
    widths: tuple[int, int] = (128, 192)
    heads: int = 4

    steps: int = 3600
    batch: int = 16
    rate: float = 3e-4
    warm_up: int = 200
    average: float = 0.998
    #: How often the instruction does not belong to the picture, and nothing should happen.
    wrong: float = 0.14
    #: How often the picture needs no edit any more, and nothing should happen.
    finished: float = 0.03
    #: How often the text, and how often the picture, is withheld (for guidance).
    no_text: float = 0.05
    no_picture: float = 0.03
    #: Weight of the loss on attention, and the step from which it counts.
    gaze: float = 0.05
    gaze_from: int = 1200
    #: Largest weight of a latent cell inside the ROI; outside it is 1.
    inside: float = 20.0


RECIPE = EditorRecipe()
#: `phantoms:seed=0` is the demo's, tests use small seeds: training must share none of them.
EVALUATION_SEED = 977
