"""Settings shared by the recipes of the built-in models."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LatentSettings:
    """How pictures are encoded as latents."""

    size: int
    channels: int
    cell: int
    whitening: float
    spread: float
    slack: float


@dataclass(frozen=True)
class TextSettings:
    """How texts are tokenized and encoded."""

    tokens: int
    vocabulary: int
    text_width: int
    text_layers: int
    heads: int


@dataclass(frozen=True)
class PaceSettings:
    """The learning-rate schedule."""

    steps: int
    rate: float
    warm_up: int
    average: float
