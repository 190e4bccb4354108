"""Compare one image with many: it goes through the network once, in bounded memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from medebench.device import choose_device, exact, free_memory, out_of_memory, release_memory
from medebench.encoders.extractor import Shared
from medebench.images.picture import Picture
from medebench.metrics.metric import Undefined
from medebench.metrics.perceptual.backbones import BACKBONES, Backbone
from medebench.metrics.perceptual.lpips_network import Network, weighed
from medebench.metrics.perceptual.lpips_regions import Box, box_of, cell_shares, tiles, whole_box
from medebench.metrics.perceptual.lpips_weights import read_weights
from medebench.weights import Found

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


Numbers: TypeAlias = NDArray[np.float64]
#: What the largest activation of one pass may take on a CPU, where more at once gains nothing.
ROOM = 40 * 2**20
#: What it may take of one picture; larger ones are looked at in pieces.
PIECE = 512 * 2**20
#: What is kept of references that were looked at, for the metric that looks at them next.
KEPT = 256 * 2**20


@dataclass(frozen=True)
class Comparison:
    """The distance of `first` to each of the others, all of one size."""

    first: Picture
    others: Sequence[Picture]
    data_range: float = 255
    #: What black becomes for the network; white is 1.
    low: float = -1
    #: Outside of it the others are replaced by `first`, and cells count as far as they lie inside.
    roi: NDArray[np.bool_] | None = None
    #: Says what `first` is, so that it need not be looked at again.
    key: str | None = None
    #: Pictures at once, if not as many as there is room for.
    batch: int | None = None


@dataclass(frozen=True)
class _Piece:
    """A part of what was asked: those that differ from `first`, in one box."""

    asked: Comparison
    others: Sequence[Picture]
    box: Box
    #: How much each cell of each stage counts, in the whole picture.
    shares: Sequence[NDArray[np.float32]] | None


class Comparer:
    """Loads its network at the first comparison. Several threads wait for each other."""

    def __init__(self, net: str, weights: Found, device: str = "auto") -> None:
        self.backbone = BACKBONES[net]
        #: Pictures, or pieces of them, that went through the network.
        self.passes = 0
        self._weights = weights
        self._wanted = device
        self._loaded: Network | None = None
        self._room = ROOM
        self._kept = FeatureCache(self.backbone, KEPT)
        self._lock = threading.RLock()

    def knows(self, key: str, low: float) -> bool:
        """Whether the features of this image are still cached."""
        return (key, low) in self._kept

    def compare(self, asked: Comparison) -> Numbers:
        """A distance for each of the others; that of equal pictures is exactly 0."""
        first, roi, others = asked.first, asked.roi, asked.others
        if roi is not None:
            others = [np.where(roi[..., None], one, first) for one in others]
        differ = [i for i, one in enumerate(others) if not np.array_equal(first, one)]
        distances = np.zeros(len(others))
        if not differ:
            return distances
        height, width = first.shape[:2]
        if roi is None:
            shares, box = None, whole_box(height, width)
            areas = np.multiply(self.backbone.grid(height), self.backbone.grid(width))
        else:
            shares = cell_shares(roi, self.backbone)
            box = box_of(shares, self.backbone, (height, width))
            areas = np.array([one.sum(dtype=np.float64) for one in shares])
        sums = np.zeros((len(differ), len(areas)))
        with self._lock:
            for part in tiles(box, PIECE // self.backbone.bytes_a_pixel):
                sums += self._sums(_Piece(asked, [others[i] for i in differ], part, shares))
        distances[differ] = (sums / areas).sum(axis=1)
        return distances

    def _sums(self, piece: _Piece) -> Numbers:
        """What the cells in the box sum up to: a row for each of the others, a column a stage."""
        asked, others = piece.asked, piece.others
        network = self._network()
        key = None if asked.key is None else (asked.key, asked.low)
        keep = key is not None and self._kept.takes(piece.box)
        seen = None if key is None else self._kept.recall(key, piece.box)
        at_once = min(asked.batch or self._at_once(piece.box), len(others) + 1)
        sums: list[Numbers] = []
        done = 0
        while done < len(others):
            # `first` goes before the others, in the same pass if there is room.
            part = others[done : done + at_once - (seen is None)]
            last = done + len(part) == len(others)
            try:
                looked, found = self._pass(network, piece, part, seen, keep or not last)
            except Exception as error:
                if not out_of_memory(error):
                    raise
                if at_once == 1:
                    height, width = piece.box.size
                    raise Undefined(
                        f"not enough memory for LPIPS ({self.backbone.name}) of {width} x {height} "
                        f"pixels on {network.device}"
                    ) from None
            else:
                sums.append(found)
                done += len(part)
                seen = seen or looked
                if keep and key is not None and looked is not None:
                    self._kept.keep(key, looked)
                continue
            # Outside of the handler nothing holds on to what the failed pass had made.
            self._kept.clear()
            release_memory()
            at_once //= 2
        return np.concatenate(sums)

    def _pass(
        self,
        network: Network,
        piece: _Piece,
        part: Sequence[Picture],
        seen: Sequence[Tensor] | None,
        remember: bool,
    ) -> tuple[list[Tensor] | None, Numbers]:
        """`part` against `seen`, or against `first` if nothing is known of what is seen in it.

        The first of the answers is what was seen in it, if that is to be remembered.
        """
        import torch

        asked, box = piece.asked, piece.box
        pictures = [*part] if seen is not None else [asked.first, *part]
        looked: list[Tensor] = []
        sums = []
        with torch.inference_mode(), exact(network.device):
            shown = network.show([one[box.shown] for one in pictures], asked.data_range, asked.low)
            for number, every in enumerate(network.stages(shown)):
                stride = self.backbone.strides[number]
                unit = every[(..., *box.of_shown(stride))]
                if seen is not None:
                    before = seen[number]
                else:
                    before, unit = unit[:1], unit[1:]
                    if remember:
                        looked.append(before.clone())
                cells = weighed(unit.sub_(before), network.heads[number])
                if piece.shares is not None:
                    share = np.ascontiguousarray(piece.shares[number][box.of_picture(stride)])
                    cells *= torch.from_numpy(share).to(network.device)
                sums.append(cells.sum(dim=(1, 2)))
            found = torch.stack(sums, dim=1).cpu().numpy().astype(np.float64)
        self.passes += len(pictures)
        return looked or None, found

    def _network(self) -> Network:
        if self._loaded is None:
            weights = read_weights(self._weights.path, self.backbone)
            self._loaded = Network(self.backbone, weights, choose_device(self._wanted))
            if self._loaded.device != "cpu" and (free := free_memory(self._loaded.device)):
                # Beside the largest activation lie what it was made from, its copy of length 1,
                # and what the convolution needs for itself.
                self._room = free // 8
        return self._loaded

    def _at_once(self, box: Box) -> int:
        return max(1, self._room // (self.backbone.bytes_a_pixel * box.pixels))


_comparers: Shared[Comparer] = Shared()


def shared_comparer(net: str, weights: Found, device: str) -> Comparer:
    """One network for all metrics that want the same."""
    key = (net, weights.path, weights.identity, device)
    return _comparers.get(key, lambda: Comparer(net, weights, device))
