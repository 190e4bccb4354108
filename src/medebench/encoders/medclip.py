"""MedCLIP: chest X-rays and their reports, 512 numbers each.

Its own package needs releases of transformers that are long gone, so that the two towers are put
together here: Swin (or ResNet-50) for pictures, ClinicalBERT for texts, each with a projection.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.device import exact
from medebench.encoders.encoder import Features, scaled
from medebench.encoders.local_encoder import as_rows
from medebench.encoders.towers import (
    RESNET50,
    Tensors,
    TextTower,
    TowersEncoder,
    below,
    filled,
    read_tensors,
    refuse_strangers,
    resnet,
    tower,
)
from medebench.encoders.wordpiece import WordPieces, vocabulary
from medebench.errors import NotReadyError
from medebench.images.picture import Picture
from medebench.weights import Found, find_weights
from medebench.weights.hub_cache import in_hub_cache
from medebench.weights.identity_hash import sha256_of
from medebench.weights.safetensors import read_header

if TYPE_CHECKING:
    from torch import Tensor

#: The model whose vocabulary it reads texts with.
VOCABULARY = "emilyalsentzer/Bio_ClinicalBERT"
FILES = ("pytorch_model.bin", "model.safetensors")
SIZE = 224
_SIZES = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
MEAN, STD = 0.5862785803043838, 0.27950088968644304


@dataclass(frozen=True)
class Sizes:
    """The sizes of the towers; as published by default."""

    swin: Mapping[str, Any] = field(default_factory=lambda: _SIZES["swin"])
    resnet: Mapping[str, Any] = field(default_factory=lambda: RESNET50)
    bert: Mapping[str, Any] = field(default_factory=lambda: _SIZES["bert"])
    numbers: int = 512
    tokens: int = 77


@dataclass
class _Networks(TextTower):
    image: Any
    image_head: Any


class MedClipEncoder(TowersEncoder):
    """`source` is the published folder, its pytorch_model.bin, or the known name "medclip"."""

    kind = usual = "medclip"
    sizes = Sizes()

    def facts(self) -> dict[str, Any]:
        return {
            "weights": self._file().name,
            "sizes": asdict(self.sizes),
            "vocabulary": sha256_of(_vocabulary(self.folder)),
            "pictures": f"grey, black around to a square, {SIZE} bicubic",
        }

    def prepare(self, picture: Picture, data_range: int) -> NDArray[np.uint8]:
        """Grey, in the middle of a black square, 224 x 224."""
        image = Image.fromarray(np.ascontiguousarray(scaled(picture, data_range))).convert("L")
        side = max(SIZE, image.width, image.height)
        square = Image.new("L", (side, side))
        square.paste(image, ((side - image.width) // 2, (side - image.height) // 2))
        return np.asarray(square.resize((SIZE, SIZE), Image.Resampling.BICUBIC))

    def encode(self, prepared: Sequence[NDArray[Any]]) -> Features:
        import torch

        it: _Networks = self.network()
        grey = (np.stack(prepared).astype(np.float32) / 255 - np.float32(MEAN)) / np.float32(STD)
        pixels = torch.from_numpy(grey)[:, None].to(it.device).expand(-1, 3, -1, -1)
        with torch.inference_mode(), exact(it.device):
            return as_rows(it.image_head(it.image(pixels).pooler_output.flatten(1)))

    def _pooled(self, read: Any, mask: Tensor) -> Tensor:
        """The mean over a text's tokens and three layers.

        The published code takes the padding of a batch into the mean, so that a text's vector
        depends on its neighbours; here it is that of a text on its own.
        """
        layers = read.hidden_states
        states: Tensor = (layers[1] + layers[2] + layers[-1]) / 3
        weight = mask[..., None].to(states.dtype)
        return (states * weight).sum(1) / weight.sum(1)

    def _file(self) -> Path:
        if self.weights.path.is_file():
            return self.weights.path
        for name in FILES:
            if (self.folder / name).is_file():
                return self.folder / name
        raise NotReadyError(f"{self.folder}: has no {' or '.join(FILES)}; unpack the weights there")

    def _load(self, device: str) -> _Networks:
        from torch import nn

        weights = self._file()
        tensors = read_tensors(weights)
        known = ("vision_model.", "text_model.", "logit_scale")
        refuse_strangers(f"{weights}: this is not MedCLIP", tensors, known)
        image = self._image_tower(below(tensors, "vision_model."), weights)
        text = tower("Bert", self.sizes.bert, below(tensors, "text_model.model."), weights)
        head = nn.Linear(self.sizes.bert["hidden_size"], self.sizes.numbers, bias=False)
        filled(head, below(tensors, "text_model.projection_head."), weights)
        pieces = WordPieces(_vocabulary(self.folder), self.sizes.tokens)
        return _Networks(device, pieces, *(one.to(device) for one in (text, head, *image)))

    def _image_tower(self, tensors: Tensors, weights: Path) -> tuple[Any, Any]:
        """The one its authors recommend, or the ResNet-50 they publish beside it."""
        from torch import nn

        sizes = self.sizes
        inside = below(tensors, "model.")
        if "conv1.weight" in inside:
            head = nn.Linear(sizes.resnet["hidden_sizes"][-1], sizes.numbers, bias=False)
            filled(head, below(inside, "fc."), weights)
            trunk = {name: one for name, one in inside.items() if not name.startswith("fc.")}
            return resnet(sizes.resnet, trunk, weights), head
        width = sizes.swin["embed_dim"] * 2 ** (len(sizes.swin["depths"]) - 1)
        head = nn.Linear(width, sizes.numbers, bias=False)
        filled(head, below(tensors, "projection_head."), weights)
        return tower("Swin", sizes.swin, inside, weights), head


def is_medclip(folder: Path) -> bool:
    """Whether the weights in a folder have MedCLIP's names; they are not read to tell."""
    mark = "text_model.projection_head.weight"
    try:
        for path in (folder / name for name in FILES):
            if path.suffix == ".safetensors" and path.is_file():
                return mark in read_header(path)[1]
            if path.is_file():
                with zipfile.ZipFile(path) as archive:
                    names = [one for one in archive.namelist() if one.endswith("data.pkl")]
                    return any(mark.encode() in archive.read(one) for one in names)
    except (OSError, ValueError, zipfile.BadZipFile):
        pass
    return False


def _vocabulary(folder: Path) -> Path:
    """Next to the weights, or in the local copy of the model it belongs to."""
    other = find_weights(VOCABULARY)
    elsewhere = other.path if isinstance(other, Found) else in_hub_cache(VOCABULARY)
    for place in (folder, elsewhere):
        if place is not None and (file := vocabulary(place)) is not None:
            return file
    raise NotReadyError(
        f"MedCLIP reads texts with the vocab.txt of {VOCABULARY}: put it into {folder}, "
        f"or get it with 'medebench weights get {VOCABULARY}'"
    )
