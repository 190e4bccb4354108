"""One column of a layer's attention: the weight of one text token for every query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

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
