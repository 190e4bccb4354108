"""What ImageReward gets to see of a picture and to read of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.cases.image import Picture
from medebench.encoders.base import scaled
from medebench.encoders.framing import middle, shorter_side
from medebench.errors import InputError, one_line
from medebench.metrics.base import Undefined
from medebench.metrics.reward.network import SIDE

if TYPE_CHECKING:
    from torch import Tensor

#: Tokens that are read of a text, both ends included.
LONGEST = 35
#: A picture so narrow is nothing but rim when its shorter side is stretched to 224.
_NARROWEST = 64
#: Mean and deviation of colours over CLIP's pictures.
_MEAN = (0.48145466, 0.4578275, 0.40821073)
_DEVIATION = (0.26862954, 0.26130258, 0.27577711)


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
    """What the network sees: the shorter side brought to 224 (bicubic), the middle cut out."""
    pixels = scaled(picture, data_range)
    height, width = pixels.shape[:2]
    short, long = sorted((height, width))
    if long > _NARROWEST * short:
        raise Undefined(f"{width} x {height} pixels are too narrow to be looked at")
    image = Image.fromarray(np.ascontiguousarray(pixels))
    image = shorter_side(image, SIDE, Image.Resampling.BICUBIC)
    return np.asarray(middle(image, SIDE, SIDE))


def finish(pixels: Tensor) -> Tensor:
    """(pictures, height, width, 3), 8 bits -> (pictures, 3, height, width), normalised."""
    import torch

    mean, deviation = (
        torch.tensor(one, device=pixels.device)[:, None, None] for one in (_MEAN, _DEVIATION)
    )
    return (pixels.permute(0, 3, 1, 2).float() / 255 - mean) / deviation


def load_tokenizer(folder: Path) -> Any:
    """BERT's lower-case word pieces, and the two tokens that BLIP added to them."""
    from tokenizers import BertWordPieceTokenizer, Tokenizer

    try:
        if (words := folder / "vocab.txt").is_file():
            tokenizer = BertWordPieceTokenizer(str(words), lowercase=True)
        else:
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            tokenizer.no_truncation()
            tokenizer.no_padding()
    except Exception as error:
        why = one_line(str(error), 200)
        raise InputError(f"{folder}: the tokenizer cannot be read ({why}); get it again") from error
    tokenizer.add_special_tokens(["[DEC]", "[ENC]"])
    return tokenizer


def tokenizer_in(folder: Path) -> bool:
    return (folder / "vocab.txt").is_file() or (folder / "tokenizer.json").is_file()
