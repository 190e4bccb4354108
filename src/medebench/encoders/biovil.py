"""BioViL-T: chest X-rays and their reports, 128 numbers each.

Its image network comes as a file of tensors and is put together here for single pictures:
ResNet-50, a reduction, the vector that stands for "no earlier picture", a projection. The part
that compares with an earlier picture is not needed for that.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.device import exact
from medebench.encoders.encoder import Features, TextFeatures
from medebench.encoders.image_framing import MARKS, Framing, middle, shorter_side
from medebench.encoders.local_encoder import as_rows, read_config
from medebench.encoders.towers import (
    RESNET50,
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
from medebench.weights.identity_hash import sha256_of

if TYPE_CHECKING:
    from torch import Tensor

IMAGE_FILE = "biovil_t_image_model_proj_size_128.pt"
TEXT_FILES = ("model.safetensors", "pytorch_model.bin")
RESIZE, CROP = 512, 448
_MARKS = "!?."
#: The joint space, the reduced features of the trunk, and the trunk's own.
NUMBERS, REDUCED, TRUNK = 128, 256, 2048
#: Of the text model's settings, those that say how large it is.
_BERT = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
    "hidden_act",
    "layer_norm_eps",
    "pad_token_id",
)


@dataclass
class _Networks(TextTower):
    trunk: Any
    reduction: Any
    #: What stands for the earlier picture where there is none.
    alone: Tensor
    image_head: Any


class BioVilEncoder(TowersEncoder):
    """`source` is the published folder, its hub id, or the known name "biovil-t"."""

    kind = "biovil-t"

    def facts(self) -> dict[str, Any]:
        return {
            "files": [one.name for one in self._files()],
            "text": _config(self.folder),
            "vocabulary": sha256_of(_vocabulary(self.folder)),
            "pictures": f"grey, stretched to 0-255, {RESIZE} bilinear, middle {CROP}",
            "texts": f"without {_MARKS} at the end",
        }

    def identified(self, framing: Framing) -> str:
        return self.identity if framing == "own" else f"{self.identity} {MARKS[framing]}"

    def prepare(self, picture: Picture, data_range: int) -> NDArray[np.uint8]:
        """The middle of 512 pixels, grey, darkest to brightest."""
        return np.asarray(middle(shorter_side(_stretched(picture), RESIZE), CROP, CROP))

    def framed(self, picture: Picture, data_range: int, framing: Framing) -> NDArray[np.uint8]:
        if framing == "own":
            return self.prepare(picture, data_range)
        return np.asarray(_stretched(picture).resize((CROP, CROP), Image.Resampling.BILINEAR))

    def encode(self, prepared: Sequence[NDArray[Any]]) -> Features:
        import torch

        it: _Networks = self.network()
        grey = torch.from_numpy(np.stack(prepared).astype(np.float32) / 255)
        with torch.inference_mode(), exact(it.device):
            pixels = grey[:, None].to(it.device).expand(-1, 3, -1, -1)
            seen = it.reduction(it.trunk(pixels).last_hidden_state)
            alone = it.alone.expand_as(seen)
            return as_rows(it.image_head(torch.cat([seen, alone], 1)).mean((2, 3)))

    def read(self, texts: Sequence[str]) -> list[TextFeatures]:
        """Sentences end without a mark, as its authors do."""
        return super().read([text.rstrip(_MARKS) for text in texts])

    def _files(self) -> tuple[Path, Path]:
        """The weights of pictures and of texts."""
        found = []
        for either in ((IMAGE_FILE,), TEXT_FILES):
            there = [self.folder / one for one in either if (self.folder / one).is_file()]
            if not there:
                raise NotReadyError(
                    f"{self.folder}: has no {' or '.join(either)}, which BioViL-T needs; "
                    "get it with 'medebench weights get biovil-t'"
                )
            found.append(there[0])
        return found[0], found[1]

    def _load(self, device: str) -> _Networks:
        image, text = self._files()
        config = _config(self.folder)
        pieces = WordPieces(_vocabulary(self.folder), int(config["max_position_embeddings"]))
        parts = (*_text_tower(text, config), *_image_tower(image))
        return _Networks(device, pieces, *(one.to(device) for one in parts))

    def _pooled(self, read: Any, mask: Tensor) -> Tensor:
        """The first token."""
        states: Tensor = read.last_hidden_state
        return states[:, 0]


def _stretched(picture: Picture) -> Image.Image:
    """The picture's darkest to brightest value as 0 to 255, grey."""
    values = picture.astype(np.float64)
    values -= values.min()
    # One value everywhere cannot be stretched: it stays black. The order of the operations is
    # the authors', because what is cut off behind the point depends on it.
    values /= max(values.max(), 1.0)
    values *= 255
    return Image.fromarray(np.ascontiguousarray(values.astype(np.uint8))).convert("L")


def _image_tower(path: Path) -> tuple[Any, Any, Tensor, Any]:
    from torch import nn

    tensors = read_tensors(path)
    alone = "encoder.missing_previous_emb"
    known = (
        alone,
        "encoder.encoder.",
        "encoder.vit_pooler.",
        "encoder.backbone_to_vit.",
        "projector.model.",
    )
    odd = alone in tensors and tensors[alone].shape != (1, REDUCED, 1, 1)
    what = f"{path}: this is not BioViL-T"
    refuse_strangers(what, tensors, known, changed=[alone] if odd else [])
    # The classifier of ImageNet is still there and was never used.
    inside = below(tensors, "encoder.encoder.")
    trunk = {name: one for name, one in inside.items() if not name.startswith("fc.")}
    reduction = nn.Conv2d(TRUNK, REDUCED, 1, bias=False)
    head = nn.Sequential(
        nn.Conv2d(2 * REDUCED, NUMBERS, 1, bias=False),
        nn.BatchNorm2d(NUMBERS),
        nn.ReLU(),
        nn.Conv2d(NUMBERS, NUMBERS, 1),
    )
    return (
        resnet(RESNET50, trunk, path),
        filled(reduction, below(tensors, "encoder.backbone_to_vit."), path),
        tensors[alone].float(),
        filled(head, below(tensors, "projector.model."), path),
    )


def _text_tower(path: Path, config: dict[str, Any]) -> tuple[Any, Any]:
    from torch import nn

    tensors = read_tensors(path)
    known, optional = ("bert.", "cls_projection_head."), ("cls.predictions.",)
    what = f"{path}: this is not the text model of BioViL-T"
    refuse_strangers(what, tensors, known, optional)
    head = nn.Sequential(
        OrderedDict(
            dense_to_hidden=nn.Linear(int(config["hidden_size"]), NUMBERS),
            activation=nn.GELU(),
            LayerNorm=nn.LayerNorm(NUMBERS, eps=1e-12),
            dense_to_output=nn.Linear(NUMBERS, NUMBERS),
        )
    )
    inside = below(tensors, "bert.")
    bert = {name: one for name, one in inside.items() if not name.startswith("pooler.")}
    return (
        tower("Bert", config, bert, path, add_pooling_layer=False),
        filled(head, below(tensors, "cls_projection_head."), path),
    )


def _config(folder: Path) -> dict[str, Any]:
    """How large the text model is; what the file leaves out is as in BERT."""
    said = read_config(folder)
    sizes: dict[str, Any] = {"hidden_size": 768, "max_position_embeddings": 512}
    return sizes | {key: said[key] for key in _BERT if said.get(key) is not None}


def _vocabulary(folder: Path) -> Path:
    if (file := vocabulary(folder)) is None:
        raise NotReadyError(f"{folder}: has no vocab.txt; download the complete model")
    return file
