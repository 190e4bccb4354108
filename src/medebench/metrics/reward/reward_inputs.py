"""ImageReward's inputs: a preprocessed image and a tokenized text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.encoders.encoder import scaled
from medebench.encoders.image_framing import CLIP_MEAN, CLIP_STD, middle, shorter_side
from medebench.encoders.wordpiece import FILES, open_tokenizer, vocabulary
from medebench.images.picture import Picture
from medebench.metrics.metric import Undefined
from medebench.metrics.reward.reward_network import SIDE

if TYPE_CHECKING:
    from torch import Tensor

#: Tokens that are read of a text, both ends included.
LONGEST = 35
#: A picture so narrow is nothing but rim when its shorter side is stretched to 224.
_NARROWEST = 64


@dataclass(frozen=True)
class Words:
    """A text in tokens: what is read of it, and how many it has in all."""

    ids: tuple[int, ...]
    tokens: int

    @property
    def read(self) -> int:
        return len(self.ids)


def cut_words(ids: Sequence[int]) -> Words:
    """What is beyond the longest text is left out; the end stays."""
    kept = ids if len(ids) <= LONGEST else [*ids[: LONGEST - 1], ids[-1]]
    return Words(tuple(kept), len(ids))


def prepare(picture: Picture, data_range: int = 255) -> NDArray[np.uint8]:
    """What the network sees: shorter side resized to 224 (bicubic), then centre-cropped."""
    pixels = scaled(picture, data_range)
    height, width = pixels.shape[:2]
    short, long = sorted((height, width))
    if long > _NARROWEST * short:
        raise Undefined(f"{width} x {height} pixels are too narrow for the model")
    image = Image.fromarray(np.ascontiguousarray(pixels))
    image = shorter_side(image, SIDE, Image.Resampling.BICUBIC)
    return np.asarray(middle(image, SIDE, SIDE))


def finish(pixels: Tensor) -> Tensor:
    """(pictures, height, width, 3), 8 bits -> (pictures, 3, height, width), normalised."""
    import torch

    mean, deviation = (
        torch.tensor(one, device=pixels.device)[:, None, None] for one in (CLIP_MEAN, CLIP_STD)
    )
    return (pixels.permute(0, 3, 1, 2).float() / 255 - mean) / deviation


def load_tokenizer(folder: Path) -> Any:
    """BERT's lower-case word pieces, and the two tokens that BLIP added to them."""
    tokenizer = open_tokenizer(vocabulary(folder) or folder / FILES[0], lowercase=True)
    tokenizer.add_special_tokens(["[DEC]", "[ENC]"])
    return tokenizer
