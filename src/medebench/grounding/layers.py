"""How each family of denoisers is read: which layers, which queries, which text keys.

A reader only looks. It says which projections to listen to, and turns what they gave into the
queries of the picture being made and the keys of the text, as the model itself has them: after the
layer's own query/key norm and rotary embedding.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from medebench.grounding.column import Sight
from medebench.metrics.base import Undefined

if TYPE_CHECKING:
    from torch import Tensor, nn

Call = Mapping[str, Any]
Heard = tuple["Tensor", "Tensor"]


class Reader(Protocol):
    #: Whether guidance runs as further rows of one pass (U-Nets) or as passes of their own.
    rows_hold_branches: bool

    def layers(self) -> dict[str, nn.Module]:
        """The attention layers that see the text, by name."""

    def listens(self, layer: nn.Module) -> tuple[nn.Module, nn.Module]:
        """The projections of the picture's queries and of the text's keys."""

    def begin(self, call: Call) -> None:
        """A pass of the denoiser begins with these arguments."""

    def lengths(self, rows: int) -> list[int]:
        """How many text tokens each row has, padding that is masked not counted."""

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


def _refuse_fused(layers: Mapping[str, Any]) -> None:
    if any(getattr(layer, "fused_projections", False) for layer in layers.values()):
        raise Undefined("its projections are fused; call unfuse_qkv_projections() first")


class UNetReader:
    """Cross-attention of a `UNet2DConditionModel`; a level has half the size of the one above."""

    rows_hold_branches = True

    def __init__(self, denoiser: nn.Module) -> None:
        from diffusers.models.attention_processor import Attention

        self._layers = {
            name: module
            for name, module in denoiser.named_modules()
            if isinstance(module, Attention) and module.is_cross_attention
        }
        if any(m.added_kv_proj_dim is not None for m in self._layers.values()):
            raise Undefined("text and picture share the keys of its U-Net's attention")
        _refuse_fused(self._layers)
        self._size = (0, 0)
        self._tokens = 0

    def layers(self) -> dict[str, nn.Module]:
        return dict(self._layers)

    def listens(self, layer: Any) -> tuple[nn.Module, nn.Module]:
        return layer.to_q, layer.to_k

    def begin(self, call: Call) -> None:
        height, width = call["sample"].shape[-2:]
        self._size = int(height), int(width)
        self._tokens = int(call["encoder_hidden_states"].shape[1])

    def lengths(self, rows: int) -> list[int]:
        return [self._tokens] * rows

    def see(self, layer: Any, call: Call, heard: Heard, rows: slice) -> Sight:
        query, key = (states[rows] for states in heard)
        mask = call.get("attention_mask")
        return Sight(
            _heads(query, layer, layer.norm_q),
            _heads(key, layer, layer.norm_k),
            self._grid(query.shape[1]),
            layer.scale,
            None if mask is None else mask[rows, None].float(),
        )

    def _grid(self, count: int) -> tuple[int, int]:
        height, width = self._size
        while height * width > count:
            height, width = -(-height // 2), -(-width // 2)
        if height * width != count:
            raise Undefined(f"a layer of {count} queries fits no level of {self._size}")
        return height, width


class FluxReader:
    """Joint attention of a `FluxTransformer2DModel`, in double and in single blocks.

    Single blocks see text and picture as one sequence, text first. Kontext puts the tokens of the
    reference picture behind those of the picture being made; their ids differ in the first place.
    """

    rows_hold_branches = False

    def __init__(self, denoiser: Any) -> None:
        self._layers: dict[str, nn.Module] = {
            f"{kind}.{number}.attn": block.attn
            for kind in ("transformer_blocks", "single_transformer_blocks")
            for number, block in enumerate(getattr(denoiser, kind))
        }
        _refuse_fused(self._layers)
        self._tokens = 0
        self._ids: Any = None
        self._grid = (0, 0)

    def layers(self) -> dict[str, nn.Module]:
        return dict(self._layers)

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
                raise Undefined("the picture's tokens do not form a rectangle")

    def lengths(self, rows: int) -> list[int]:
        return [self._tokens] * rows

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


class QwenReader:
    """Joint attention of a `QwenImageTransformer2DModel`: all blocks have two streams."""

    rows_hold_branches = False

    def __init__(self, denoiser: Any) -> None:
        self._layers: dict[str, nn.Module] = {
            f"transformer_blocks.{number}.attn": block.attn
            for number, block in enumerate(denoiser.transformer_blocks)
        }
        _refuse_fused(self._layers)
        self._tokens = 0
        self._mask: Tensor | None = None
        self._grid = (0, 0)

    def layers(self) -> dict[str, nn.Module]:
        return dict(self._layers)

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
            return [self._tokens] * rows
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
        if not reader.layers():
            raise Undefined(f"its {kind} has no layer that sees the text")
        return denoiser, reader
    raise Undefined(f"{type(denoiser).__name__} is not a kind that medebench knows")
