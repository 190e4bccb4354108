"""ImageReward's network, built from transformers' BLIP and the published checkpoint.

A vision transformer looks at the picture; a BERT reads the text and attends to what was seen in
every layer; five linear layers turn its first vector into a number. All sizes are read off the
checkpoint's tensors. The authors' own package needs releases of transformers that are long gone.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medebench.errors import InputError, one_line
from medebench.weights.safetensors import read_json
from medebench.weights.state_dicts import load

if TYPE_CHECKING:
    from torch import Tensor

#: The side of the square that the network sees.
SIDE = 224
#: Mean and deviation of the raw number over the data it was trained on.
MEAN, DEVIATION = 0.16717362830052426, 1.0333394966054072

_VISION, _TEXT, _HEAD = "blip.visual_encoder.", "blip.text_encoder.", "mlp.layers."
#: The width of one attention head, in both halves.
_HEAD_WIDTH = 64
#: What transformers calls a part of the vision transformer, and what the checkpoint does.
_NAMES = (
    ("embeddings.class_embedding", "cls_token"),
    ("embeddings.position_embedding", "pos_embed"),
    ("embeddings.patch_embedding.", "patch_embed.proj."),
    ("encoder.layers.", "blocks."),
    (".self_attn.projection.", ".attn.proj."),
    (".self_attn.", ".attn."),
    (".layer_norm", ".norm"),
    ("post_layernorm.", "norm."),
)
#: Numbers 0, 1, 2 … that older releases of transformers wrote down.
_COUNTED = f"{_TEXT}embeddings.position_ids"


@dataclass(frozen=True)
class RewardNetwork:
    """The three parts on one device."""

    vision: Any
    text: Any
    head: tuple[tuple[Tensor, Tensor], ...]
    device: str

    @property
    def words(self) -> int:
        """How many tokens it knows."""
        return int(self.text.config.vocab_size)

    def see(self, pixels: Tensor) -> Tensor:
        """(pictures, 3, 224, 224), normalised -> (pictures, places, width)."""
        seen: Tensor = self.vision(pixel_values=pixels).last_hidden_state
        return seen

    def reward(self, seen: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
        """One number for each row: a picture as it was seen, and a text in tokens."""
        from torch.nn.functional import linear

        read = self.text(input_ids=ids, attention_mask=mask, encoder_hidden_states=seen)
        vector: Tensor = read.last_hidden_state[:, 0]
        for weight, bias in self.head:
            # No bends between them: so the network was trained.
            vector = linear(vector, weight, bias)
        return (vector[:, 0] - MEAN) / DEVIATION


def load_network(checkpoint: Path, device: str = "cpu") -> RewardNetwork:
    """`ImageReward.pt`, with `med_config.json` beside it if it is there."""
    import torch

    tensors = _Tensors(checkpoint)
    beside = checkpoint.with_name("med_config.json")
    config = read_json(beside) if beside.is_file() else {}
    try:
        with torch.device("meta"):
            vision, text = _vision(tensors), _text(tensors, config)
    except (TypeError, ValueError) as error:
        raise tensors.unfit(f"with med_config.json: {error}") from error
    vision.load_state_dict(tensors.take(vision, _VISION, _their_name), assign=True)
    text.load_state_dict(tensors.take(text, _TEXT, str), assign=True)
    # Not part of the weights, so it is still without content.
    text.embeddings.position_ids = torch.arange(text.config.max_position_embeddings)[None]
    for part in (vision, text):
        part.eval().requires_grad_(False).float().to(device)
    layers = tuple((w.float().to(device), b.float().to(device)) for w, b in tensors.head())
    return RewardNetwork(vision, text, layers, device)


def _vision(tensors: _Tensors) -> Any:
    from transformers import BlipVisionConfig, BlipVisionModel

    patch = tensors.shape(f"{_VISION}patch_embed.proj.weight", 4)
    places = tensors.shape(f"{_VISION}pos_embed", 3)[1] - 1
    if math.isqrt(max(places, 0)) * patch[2] != SIDE or math.isqrt(places) ** 2 != places:
        raise tensors.unfit(
            f"{places} places of {patch[2]} pixels do not make a square of {SIDE} x {SIDE}"
        )
    config = BlipVisionConfig(
        hidden_size=patch[0],
        intermediate_size=tensors.shape(f"{_VISION}blocks.0.mlp.fc1.weight", 2)[0],
        num_hidden_layers=tensors.layers(f"{_VISION}blocks."),
        num_attention_heads=tensors.heads(patch[0]),
        image_size=SIDE,
        patch_size=patch[2],
        hidden_act="gelu",
        layer_norm_eps=1e-6,
    )
    return BlipVisionModel(config)


def _text(tensors: _Tensors, config: Mapping[str, Any]) -> Any:
    from transformers import BlipTextConfig, BlipTextModel

    words, width = tensors.shape(f"{_TEXT}embeddings.word_embeddings.weight", 2)
    places = tensors.shape(f"{_TEXT}embeddings.position_embeddings.weight", 2)[0]
    layer = f"{_TEXT}encoder.layer."
    settings = BlipTextConfig(
        vocab_size=words,
        hidden_size=width,
        encoder_hidden_size=tensors.shape(f"{_VISION}patch_embed.proj.weight", 4)[0],
        intermediate_size=tensors.shape(f"{layer}0.intermediate.dense.weight", 2)[0],
        num_hidden_layers=tensors.layers(layer),
        num_attention_heads=int(config.get("num_attention_heads", tensors.heads(width))),
        max_position_embeddings=places,
        hidden_act=str(config.get("hidden_act", "gelu")),
        layer_norm_eps=float(config.get("layer_norm_eps", 1e-12)),
        bos_token_id=None,
        sep_token_id=None,
        is_decoder=True,  # what gives every layer its eyes; it still reads in both directions
    )
    return BlipTextModel(settings, add_pooling_layer=False)


class _Tensors:
    """The checkpoint's tensors by name; a mismatch is reported in one line."""

    def __init__(self, path: Path) -> None:
        import torch

        self._path = path
        try:
            read = load(path, mmap=zipfile.is_zipfile(path))
        except FileNotFoundError:
            raise InputError(f"{path}: no such file; download the ImageReward weights") from None
        except Exception as error:
            raise self.unfit(f"{type(error).__name__}: {error}") from error
        if not isinstance(read, dict):
            raise self.unfit(f"it contains a {type(read).__name__}, not named tensors")
        self._tensors: dict[str, Tensor] = {
            str(name): one for name, one in read.items() if isinstance(one, torch.Tensor)
        }

    def shape(self, name: str, dimensions: int) -> tuple[int, ...]:
        shape = tuple(self._get(name).shape)
        if len(shape) != dimensions:
            raise self.unfit(f"{name} is {shape}")
        return shape

    def layers(self, prefix: str) -> int:
        numbers = {
            int(found.group(1))
            for name in self._tensors
            if (found := re.match(re.escape(prefix) + r"(\d+)\.", name))
        }
        return max(numbers, default=-1) + 1

    def heads(self, width: int) -> int:
        if width % _HEAD_WIDTH:
            raise self.unfit(f"a width of {width} is not a multiple of {_HEAD_WIDTH}")
        return width // _HEAD_WIDTH

    def take(self, part: Any, prefix: str, theirs: Any) -> dict[str, Tensor]:
        """The tensors of one part, under the names it has for them: all of them, and no others."""
        taken: dict[str, Tensor] = {}
        names: set[str] = {_COUNTED}
        for own, wanted in part.state_dict().items():
            name = prefix + theirs(own)
            names.add(name)
            taken[own] = self._get(name)
            if taken[own].shape != wanted.shape:
                raise self.unfit(f"{name} is {tuple(taken[own].shape)}, not {tuple(wanted.shape)}")
        strange = sorted(n for n in self._tensors if n.startswith(prefix) and n not in names)
        if strange:
            raise self.unfit(f"{len(strange)} tensors are unexpected, such as {strange[0]}")
        return taken

    def head(self) -> list[tuple[Tensor, Tensor]]:
        """The linear layers at the end; between their numbers there is nothing but dropout."""
        count = self.layers(_HEAD)
        numbers = [n for n in range(count) if f"{_HEAD}{n}.weight" in self._tensors]
        width = self.shape(f"{_TEXT}embeddings.word_embeddings.weight", 2)[1]
        layers = []
        for number in numbers:
            weight, bias = (self._get(f"{_HEAD}{number}.{one}") for one in ("weight", "bias"))
            if weight.ndim != 2 or weight.shape[1] != width or bias.shape != weight.shape[:1]:
                raise self.unfit(f"{_HEAD}{number} does not match a width of {width}")
            width = weight.shape[0]
            layers.append((weight, bias))
        if not layers or width != 1:
            raise self.unfit(f"{_HEAD}* does not end in a single number")
        return layers

    def _get(self, name: str) -> Tensor:
        if name not in self._tensors:
            raise self.unfit(f"it lacks {name}")
        return self._tensors[name]

    def unfit(self, why: str) -> InputError:
        return InputError(
            f"{self._path}: not the ImageReward weights ({one_line(why, 200)}); download them again"
        )


def _their_name(name: str) -> str:
    for ours, theirs in _NAMES:
        name = name.replace(ours, theirs)
    return name
