"""Every number of the chest encoder's training; no seed of a stress test is among them."""

from __future__ import annotations

from dataclasses import dataclass

from medebench.phantoms.training.recipe_base import PaceSettings, TextSettings

#: Patients on whom the card's figures are measured, and none of whom was seen before.
EVALUATION_SEED = 30_264


@dataclass(frozen=True)
class EncoderRecipe(TextSettings, PaceSettings):
    #: Three pictures each, from `patient_change.patient(seed, index)`.
    patients: int = 2_500
    seed: int = 30_261
    size: int = 128

    #: Pixels to a side of the first squares, then width and blocks of each stage of ConvNeXt.
    patch: int = 8
    widths: tuple[int, int, int, int] = (48, 64, 96, 128)
    depths: tuple[int, int, int, int] = (1, 1, 1, 1)
    #: Numbers that a picture or a text becomes.
    numbers: int = 64
    tokens: int = 32
    vocabulary: int = 1_200
    text_width: int = 96
    text_layers: int = 2
    heads: int = 4

    steps: int = 1_000
    #: Patients at once, four pictures each.
    batch: int = 16
    rate: float = 2e-3
    warm_up: int = 100
    decay: float = 0.02
    average: float = 0.995
    #: How sharply likenesses are compared, of pictures with texts and of changes with changes.
    sharpness: float = 10.0
    change_sharpness: float = 8.0
    #: Weight of the two losses on changes beside the one on pictures and texts.
    telling: float = 1.0
    pointing: float = 1.0

    #: Largest disturbances: pixels moved, width of the blur, noise, contrast, brightness.
    shift: int = 3
    blur: float = 1.0
    noise: float = 0.025
    contrast: float = 0.08
    brightness: float = 0.03
    #: How often a picture is brought through 8 of 16 numbers for each 4 x 4 pixels.
    compressed: float = 0.4


RECIPE = EncoderRecipe()
