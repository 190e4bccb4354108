"""Small predictors of chest pictures, to be put to the test.

This file stands by itself. It is copied beside the plan of a recipe, where `networks.py:Classifier`
with `weights: biased.safetensors` is found in the way in which yours would be: a class with a
method `predict`, and an `identity` that changes with its weights.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load
from torch import Tensor, nn
from torch.nn import functional


class Classifier:
    """Pictures to the probability that what it was trained to find is there."""

    def __init__(self, weights: str) -> None:
        self.network, self.identity = _loaded(ClassifierNetwork(), weights)

    def predict(self, pictures: Sequence[NDArray[Any]]) -> list[float]:
        with torch.inference_mode():
            found: list[float] = torch.sigmoid(self.network(as_batch(pictures))).tolist()
        return found


class Segmenter:
    """Pictures to masks of both lungs."""

    def __init__(self, weights: str) -> None:
        self.network, self.identity = _loaded(SegmenterNetwork(), weights)

    def predict(self, pictures: Sequence[NDArray[Any]]) -> list[NDArray[np.bool_]]:
        with torch.inference_mode():
            inside = self.network(as_batch(pictures)) > 0
        return list(inside.numpy())


class ClassifierNetwork(nn.Module):  # type: ignore[misc]
    """(n, 1, height, width) to n logits; it works at half the size, which is much quicker."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.AvgPool2d(2),
            _convolution(1, 12),
            _convolution(12, 24, stride=2),
            _convolution(24, 40, stride=2),
            _convolution(40, 64),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(64, 1),
        )

    def forward(self, pictures: Tensor) -> Tensor:
        return self.layers(pictures)[:, 0]


class SegmenterNetwork(nn.Module):  # type: ignore[misc]
    """(n, 1, height, width) to logits (n, height, width); both sides are multiples of 16.

    A U-Net that works at half the size: at full size it would take four times as long, and the
    outline of a lung is smooth.
    """

    def __init__(self) -> None:
        super().__init__()
        widths = (16, 24, 32, 48)
        self.first = _convolution(1, widths[0], stride=2, kernel=5)
        pairs = list(itertools.pairwise(widths))
        self.down = nn.ModuleList(_convolution(a, b, stride=2) for a, b in pairs)
        self.deep = _convolution(widths[-1], widths[-1])
        self.up = nn.ModuleList(_convolution(a + b, a) for a, b in reversed(pairs))
        self.last = nn.Conv2d(widths[0], 1, 1)

    def forward(self, pictures: Tensor) -> Tensor:
        seen = [self.first(pictures)]
        for layer in self.down:
            seen.append(layer(seen[-1]))
        made = self.deep(seen.pop())
        for layer in self.up:
            made = layer(torch.cat([_twice(made, "nearest"), seen.pop()], 1))
        return _twice(self.last(made), "bilinear")[:, 0]


def as_batch(pictures: Sequence[NDArray[Any]]) -> Tensor:
    """8-bit pictures of one size, grey or with equal channels, to (n, 1, h, w) in -1...1."""
    grey = np.stack([one if one.ndim == 2 else one[..., 0] for one in pictures])
    return torch.from_numpy(grey.astype(np.float32) / 127.5 - 1)[:, None]


def _convolution(given: int, made: int, stride: int = 1, kernel: int = 3) -> nn.Module:
    layer = nn.Conv2d(given, made, kernel, stride, kernel // 2, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(made), nn.ReLU())


def _twice(maps: Tensor, mode: str) -> Tensor:
    flag = {"align_corners": False} if mode == "bilinear" else {}
    return functional.interpolate(maps, scale_factor=2, mode=mode, **flag)


def _loaded(network: nn.Module, weights: str) -> tuple[nn.Module, str]:
    """Weights lie beside this file."""
    data = (Path(__file__).parent / weights).read_bytes()
    network.load_state_dict(load(data))
    return network.eval(), hashlib.sha256(data).hexdigest()
