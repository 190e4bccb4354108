"""An encoder without a network that counts what it is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from medebench.encoders.encoder import Encoder, Features, TextFeatures, scaled
from medebench.images.picture import Picture

ROOM = 8


class PlainEncoder(Encoder):
    """Means of colours and of halves as a vector; a text gives its letters' counts."""

    texts: ClassVar[bool] = True

    def __init__(self, name: str = "plain", identity: str = "plain 1", batch: int = 4) -> None:
        self.name = name
        self.batch = batch
        self._identity = identity
        #: How many came at once, each time.
        self.sizes: list[int] = []
        self.closed = 0

    def problem(self) -> str | None:
        return None

    @property
    def identity(self) -> str:
        return self._identity

    def prepare(self, picture: Picture, data_range: int) -> NDArray[Any]:
        return scaled(picture, data_range)

    def encode(self, prepared: Sequence[NDArray[Any]]) -> Features:
        self.sizes.append(len(prepared))
        return np.stack([self.vector(one) for one in prepared])

    @staticmethod
    def vector(picture: NDArray[Any]) -> Features:
        half = picture.shape[1] // 2
        parts = [picture[:, :half].mean((0, 1)), picture[:, half:].mean((0, 1))]
        return np.concatenate(parts).astype(np.float32) - np.float32(100)

    def read(self, texts: Sequence[str]) -> list[TextFeatures]:
        self.sizes.append(len(texts))
        return [self.one_read(text) for text in texts]

    @staticmethod
    def one_read(text: str) -> TextFeatures:
        words = text.split()
        letters = "".join(words[:ROOM])
        counts = [letters.count(one) + 0.5 for one in "aeionr"]
        return TextFeatures(np.float32(counts), len(words), min(len(words), ROOM))

    def close(self) -> None:
        self.closed += 1
