"""Every number of the trainings of the shipped models, in one place.

No seed of a stress test, a demo or an evaluation is among those of a training.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LatentSettings:
    """How pictures are encoded as latents."""

    size: int
    #: Pictures from which the autoencoder is fitted.
    fitted: int
    #: Channels of the latents; each cell stands for cell x cell pixels.
    channels: int
    cell: int
    #: 1 would give every latent channel the same variance, 0 leaves that of the pixels.
    whitening: float
    #: Noise on the latents for which the way back is fitted, as a share of their spread.
    slack: float
    #: Standard deviation of the latents before `scaling_factor`, which is its inverse.
    spread: float = 0.25


@dataclass(frozen=True)
class TextSettings:
    """How texts are tokenized and encoded."""

    tokens: int
    vocabulary: int
    text_width: int = 128
    text_layers: int = 2
    heads: int = 4


@dataclass(frozen=True)
class PaceSettings:
    """How long and how fast is learned."""

    steps: int
    rate: float
    warm_up: int = 200
    average: float = 0.998
    batch: int = 16


@dataclass(frozen=True)
class EditorRecipe(LatentSettings, TextSettings, PaceSettings):
    #: Phantoms drawn for training, from `sample(index, seed)`.
    phantoms: int = 9360
    seed: int = 20260
    size: int = 256
    fitted: int = 1040
    channels: int = 64
    cell: int = 16
    whitening: float = 0.7
    slack: float = 0.05
    tokens: int = 32
    vocabulary: int = 1600
    widths: tuple[int, int] = (128, 192)
    steps: int = 3600
    rate: float = 3e-4
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


@dataclass(frozen=True)
class ChestRecipe(LatentSettings, TextSettings, PaceSettings):
    #: Patients drawn for training, from `draw_patient(seed, index, EVERYBODY)`.
    patients: int = 12_000
    seed: int = 30_260
    size: int = 128
    fitted: int = 1_500
    channels: int = 8
    cell: int = 4
    whitening: float = 0.6
    slack: float = 0.03
    tokens: int = 24
    vocabulary: int = 1_000
    widths: tuple[int, int, int] = (64, 96, 160)
    steps: int = 3_000
    rate: float = 5e-4
    #: How often the text is withheld, for guidance.
    no_text: float = 0.12
    #: Further weight of a latent cell wholly inside a finding or a device; elsewhere it is 1.
    inside: float = 3.0


@dataclass(frozen=True)
class EncoderRecipe(TextSettings, PaceSettings):
    #: Three pictures each, from `patient_change.patient(seed, index)`; four are seen in a batch.
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
    steps: int = 1_000
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


EDITOR, CHEST, ENCODER = EditorRecipe(), ChestRecipe(), EncoderRecipe()
#: Of phantoms and patients on whom the cards' figures are measured. `phantoms:seed=0` is the
#: demo's, tests use small seeds.
EDITOR_EVALUATION_SEED, ENCODER_EVALUATION_SEED = 977, 30_264
