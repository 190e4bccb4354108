"""How each family of denoisers is read: which layers, which queries, which text keys.

A reader only looks. It says which projections to listen to, and turns what they gave into the
queries of the picture being made and the keys of the text, as the model itself has them: after the
layer's own query/key norm and rotary embedding.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from medebench.metrics.metric import Undefined

if TYPE_CHECKING:
    from torch import Tensor, nn

Call = Mapping[str, Any]
Heard = tuple["Tensor", "Tensor"]

#: Scores held at once: small enough for a processor's cache, large enough to keep a GPU busy.
_SCORES_CPU, _SCORES_GPU = 1 << 20, 1 << 24


@dataclass(frozen=True)
class Sight:
    """Queries (rows, heads, h*w, channels) and text keys (rows, heads, tokens, channels)."""

    query: Tensor
    key: Tensor
    grid: tuple[int, int]
    scale: float
    #: Added to the scores before the softmax, broadcastable to (rows, heads, h*w, tokens).
    bias: Tensor | None = None


def column(sight: Sight, places: Sequence[int]) -> Tensor:
    """The softmax weight of one key for every query, averaged over heads: (rows, queries)."""
    import torch

    query, key = sight.query.float(), sight.key.float().transpose(-1, -2) * sight.scale
    rows, heads, count, _ = query.shape
    budget = _SCORES_CPU if query.device.type == "cpu" else _SCORES_GPU
    at_once = max(1, budget // (rows * heads * key.shape[-1]))
    chosen = torch.tensor(places, device=query.device).view(rows, 1, 1, 1)
    parts = []
    for begin in range(0, count, at_once):
        part = query[:, :, begin : begin + at_once]
        scores = part @ key
        if sight.bias is not None:
            scores += sight.bias
        weights = scores.softmax(dim=-1).gather(-1, chosen.expand(-1, heads, part.shape[2], 1))
        parts.append(weights[..., 0].mean(dim=1))
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


class Reader(ABC):
    #: Whether guidance runs as further rows of one pass (U-Nets) or as passes of their own.
    rows_hold_branches = False

    def __init__(self, layers: dict[str, nn.Module]) -> None:
        if any(getattr(layer, "fused_projections", False) for layer in layers.values()):
            raise Undefined("its projections are fused; call unfuse_qkv_projections() first")
        #: The attention layers that see the text, by name.
        self.layers = layers
        self._tokens = 0
        self._grid = (0, 0)

    @abstractmethod
    def listens(self, layer: nn.Module) -> tuple[nn.Module, nn.Module]:
        """The projections of the picture's queries and of the text's keys."""

    @abstractmethod
    def begin(self, call: Call) -> None:
        """A pass of the denoiser begins with these arguments."""

    def lengths(self, rows: int) -> list[int]:
        """How many text tokens each row has, padding that is masked not counted."""
        return [self._tokens] * rows

    @abstractmethod
    def see(self, layer: nn.Module, call: Call, heard: Heard, rows: slice) -> Sight:
        """The layer was called, and the projections gave `heard`; `rows` are wanted."""


def arguments(module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
    """The arguments of a call by name."""
    return {**dict(zip(_names(type(module).forward), args, strict=False)), **kwargs}


@cache
def _names(forward: Callable[..., object]) -> tuple[str, ...]:
    return tuple(inspect.signature(forward).parameters)[1:]


def _heads(states: Tensor, layer: Any, norm: Any) -> Tensor:
    """(rows, tokens, inner) -> (rows, heads, tokens, channels), normed as the layer does it."""
    rows, tokens, _ = states.shape
    split = states.reshape(rows, tokens, layer.heads, -1).transpose(1, 2)
    normed: Tensor = split if norm is None else norm(split)
    return normed


class UNetReader(Reader):
    """Cross-attention of a `UNet2DConditionModel`; a level has half the size of the one above."""

    rows_hold_branches = True

    def __init__(self, denoiser: nn.Module) -> None:
        from diffusers.models.attention_processor import Attention

        layers = {
            name: module
            for name, module in denoiser.named_modules()
            if isinstance(module, Attention) and module.is_cross_attention
        }
        if any(m.added_kv_proj_dim is not None for m in layers.values()):
            raise Undefined("text and image share the keys of its U-Net's attention")
        super().__init__(dict(layers))

    def listens(self, layer: Any) -> tuple[nn.Module, nn.Module]:
        return layer.to_q, layer.to_k

    def begin(self, call: Call) -> None:
        height, width = call["sample"].shape[-2:]
        self._grid = int(height), int(width)
        self._tokens = int(call["encoder_hidden_states"].shape[1])

    def see(self, layer: Any, call: Call, heard: Heard, rows: slice) -> Sight:
        query, key = (states[rows] for states in heard)
        mask = call.get("attention_mask")
        return Sight(
            _heads(query, layer, layer.norm_q),
            _heads(key, layer, layer.norm_k),
            self._level(query.shape[1]),
            layer.scale,
            None if mask is None else mask[rows, None].float(),
        )

    def _level(self, count: int) -> tuple[int, int]:
        height, width = self._grid
        while height * width > count:
            height, width = -(-height // 2), -(-width // 2)
        if height * width != count:
            raise Undefined(f"a layer of {count} queries fits no level of {self._grid}")
        return height, width


class FluxReader(Reader):
    """Joint attention of a `FluxTransformer2DModel`, in double and in single blocks.

    Single blocks see text and picture as one sequence, text first. Kontext puts the tokens of the
    reference picture behind those of the picture being made; their ids differ in the first place.
    """

    def __init__(self, denoiser: Any) -> None:
        kinds = ("transformer_blocks", "single_transformer_blocks")
        super().__init__(_attentions(denoiser, *kinds))
        self._ids: Any = None

    @staticmethod
    def _two_streams(layer: Any) -> bool:
        return getattr(layer, "added_kv_proj_dim", None) is not None

    def listens(self, layer: Any) -> tuple[nn.Module, nn.Module]:
        return layer.to_q, layer.add_k_proj if self._two_streams(layer) else layer.to_k

    def begin(self, call: Call) -> None:
        self._tokens = int(call["encoder_hidden_states"].shape[1])
        ids = call["img_ids"]
        if ids is not self._ids:  # reading a size off a GPU makes it wait: once is enough
            self._ids = ids
            flat = ids[0] if ids.ndim == 3 else ids
            made = flat[flat[:, 0] == 0]
            self._grid = int(made[:, 1].max()) + 1, int(made[:, 2].max()) + 1
            if self._grid[0] * self._grid[1] != len(made):
                raise Undefined("the image's tokens do not form a rectangle")

    def see(self, layer: Any, call: Call, heard: Heard, rows: slice) -> Sight:
        from diffusers.models.embeddings import apply_rotary_emb

        if call.get("attention_mask") is not None:
            raise Undefined("its joint attention is masked")
        text, count = self._tokens, self._grid[0] * self._grid[1]
        double = self._two_streams(layer)
        begin = 0 if double else text
        query, key = heard[0][rows, begin : begin + count], heard[1][rows, :text]
        query = _heads(query, layer, layer.norm_q)
        key = _heads(key, layer, layer.norm_added_k if double else layer.norm_k)
        rotary = call.get("image_rotary_emb")
        if rotary is not None:
            turn: Any = apply_rotary_emb
            query = turn(query, tuple(part[text : text + count] for part in rotary))
            key = turn(key, tuple(part[:text] for part in rotary))
        return Sight(query, key, self._grid, query.shape[-1] ** -0.5)


class QwenReader(Reader):
    """Joint attention of a `QwenImageTransformer2DModel`: all blocks have two streams."""

    def __init__(self, denoiser: Any) -> None:
        super().__init__(_attentions(denoiser, "transformer_blocks"))
        self._mask: Tensor | None = None

    def listens(self, layer: Any) -> tuple[nn.Module, nn.Module]:
        return layer.to_q, layer.add_k_proj

    def begin(self, call: Call) -> None:
        self._tokens = int(call["encoder_hidden_states"].shape[1])
        self._mask = call.get("encoder_hidden_states_mask")
        shape = call["img_shapes"][0]
        _, height, width = shape if isinstance(shape[0], int) else shape[0]
        self._grid = int(height), int(width)

    def lengths(self, rows: int) -> list[int]:
        if self._mask is None:
            return super().lengths(rows)
        return [int(count) for count in self._mask.bool().sum(dim=1)]

    def see(self, layer: Any, call: Call, heard: Heard, rows: slice) -> Sight:
        count = self._grid[0] * self._grid[1]
        query = _heads(heard[0][rows, :count], layer, layer.norm_q)
        key = _heads(heard[1][rows], layer, layer.norm_added_k)
        rotary = call.get("image_rotary_emb")
        if rotary is not None:
            query, key = _turn(query, rotary[0][:count]), _turn(key, rotary[1])
        bias = None
        if self._mask is not None:
            bias = (~self._mask[rows].bool())[:, None, None].float() * -1e9
        return Sight(query, key, self._grid, query.shape[-1] ** -0.5, bias)


def _attentions(denoiser: Any, *kinds: str) -> dict[str, nn.Module]:
    return {
        f"{kind}.{number}.attn": block.attn
        for kind in kinds
        for number, block in enumerate(getattr(denoiser, kind))
    }


def _turn(states: Tensor, turns: Tensor) -> Tensor:
    """A rotary embedding given as complex numbers, one for each pair of channels."""
    import torch

    pairs = torch.view_as_complex(states.float().reshape(*states.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(-2).to(states.dtype)


def reader_of(pipe: Any) -> tuple[nn.Module, Reader]:
    """The pipeline's denoiser and how to read it; `Undefined` says why it cannot be read."""
    denoiser: Any = getattr(pipe, "unet", None)
    if denoiser is None:
        denoiser = getattr(pipe, "transformer", None)
    if denoiser is None:
        raise Undefined("it has neither a U-Net nor a transformer")
    import diffusers

    kinds: tuple[tuple[str, Callable[[Any], Reader]], ...] = (
        ("UNet2DConditionModel", UNetReader),
        ("FluxTransformer2DModel", FluxReader),
        ("QwenImageTransformer2DModel", QwenReader),
    )
    for kind, read in kinds:
        known: Any = getattr(diffusers, kind, None)
        if known is None or not isinstance(denoiser, known):  # an older diffusers lacks some
            continue
        if any(module._compiled_call_impl is not None for module in denoiser.modules()):
            raise Undefined(f"its {kind} is compiled")
        reader = read(denoiser)
        if not reader.layers:
            raise Undefined(f"its {kind} has no layer that attends to the text")
        return denoiser, reader
    raise Undefined(f"{type(denoiser).__name__} is not supported by medebench")
