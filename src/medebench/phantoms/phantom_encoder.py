"""The encoder that ships, for the edit score of stress tests on chest phantoms."""

from __future__ import annotations

from medebench.encoders.encoder_lookup import EncoderKind

CHEST_PHANTOMS = EncoderKind(
    "medebench.encoders.dual:DualEncoder",
    "built in: chest phantoms and their captions",
    weights="builtin:chest-encoder",
)
