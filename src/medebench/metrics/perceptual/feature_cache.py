"""A bounded cache of a network's features of images that are needed again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from medebench.metrics.perceptual.backbones import Backbone
from medebench.metrics.perceptual.lpips_regions import Box

if TYPE_CHECKING:
    from torch import Tensor

#: A picture, and what black was for the network.
Key: TypeAlias = tuple[str, float]


class FeatureCache:
    """Tensors of whole pictures, one a stage; the ones used longest ago go first."""

    def __init__(self, backbone: Backbone, room: int) -> None:
        self._backbone = backbone
        self._room = room
        self._kept: OrderedDict[Key, Sequence[Tensor]] = OrderedDict()

    def __contains__(self, key: Key) -> bool:
        return key in self._kept

    def takes(self, box: Box) -> bool:
        """Whether what is seen in the box may be kept: all of a picture that is not too large."""
        return box.whole and self._size(box.rows.side, box.columns.side) <= self._room

    def recall(self, key: Key, box: Box) -> list[Tensor] | None:
        """What was seen in the box."""
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        stages = zip(self._kept[key], self._backbone.strides, strict=True)
        return [seen[(..., *box.of_picture(stride))] for seen, stride in stages]

    def keep(self, key: Key, seen: Sequence[Tensor]) -> None:
        self._kept[key] = seen
        self._kept.move_to_end(key)
        while sum(4 * one.numel() for kept in self._kept.values() for one in kept) > self._room:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        self._kept.clear()

    def _size(self, height: int, width: int) -> int:
        rows, columns = self._backbone.grid(height), self._backbone.grid(width)
        return int(4 * np.dot(np.multiply(rows, columns), self._backbone.channels))
