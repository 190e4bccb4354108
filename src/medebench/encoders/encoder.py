"""What an encoder is: a network that turns pictures, and perhaps texts, into vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from medebench.encoders.image_framing import Framing
from medebench.images.picture import Picture

#: One vector, or one a row.
Features: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True)
class TextFeatures:
    """A text as an encoder read it."""

    features: Features
    #: Tokens of the whole text, and how many of them the encoder has room for, ends included.
    tokens: int
    read: int

    @property
    def truncated(self) -> bool:
        return self.read < self.tokens


class Encoder(ABC):
    """Made without torch and without reading weights; both wait for the first `encode`.

    `prepare` may be called from many threads, the rest from one at a time.
    """

    #: What it is called in the names of metrics: "clip-vit-l14".
    name: str
    #: Whether it reads texts too, into the same space.
    texts: ClassVar[bool] = False
    #: The ways in which it can be shown a picture.
    framings: ClassVar[tuple[Framing, ...]] = ("own", "whole")
    #: auto, cpu, cuda or mps.
    device: str = "auto"
    #: Pictures at once.
    batch: int = 16

    @abstractmethod
    def problem(self) -> str | None:
        """Why it cannot be used here, and what to do: a missing package, weights, a device."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """Tells its vectors apart from those of others: weights and preprocessing.

        The features on disk and the scores in the ledger are known by it. Cheap: no torch.
        """

    @abstractmethod
    def prepare(self, picture: Picture, data_range: int) -> NDArray[Any]:
        """What the network is to see of the picture, small: resized, cropped, 8 bits or floats."""

    def framed(self, picture: Picture, data_range: int, framing: Framing) -> NDArray[Any]:
        """`prepare` in one of its `framings`; an encoder that cuts off has more than one."""
        return self.prepare(picture, data_range)

    def identified(self, framing: Framing) -> str:
        """Its identity with pictures framed so; another one where another picture is seen."""
        return self.identity

    @abstractmethod
    def encode(self, prepared: Sequence[NDArray[Any]]) -> Features:
        """A row for each; not normalised. At most `batch` at a time come in."""

    def read(self, texts: Sequence[str]) -> list[TextFeatures]:
        """The texts as vectors, not normalised; for encoders with `texts`."""
        raise NotImplementedError(f"{self.name} has no text encoder")

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Release the network; the next `encode` loads it again."""


def scaled(picture: Picture, data_range: int) -> NDArray[np.uint8]:
    """8 bits, as published encoders were trained on; deeper images are converted."""
    if picture.dtype == np.uint8 and data_range == 255:
        return picture
    return np.rint(picture.astype(np.float64) * (255.0 / data_range)).clip(0, 255).astype(np.uint8)
