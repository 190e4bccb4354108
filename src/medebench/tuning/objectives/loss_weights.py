"""Where the loss counts more: the ROI's share of each latent cell, and the mean it weighs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import cv2
import numpy as np

from medebench.tuning.pairs import TrainPair

if TYPE_CHECKING:
    import torch


def cell_weights(
    pairs: Sequence[TrainPair], height: int, width: int, inside: float
) -> torch.Tensor:
    """(n, height, width): 1 outside the ROI, `inside` within, in between on its border."""
    import torch

    weights = np.ones((len(pairs), height, width), np.float32)
    if inside != 1:
        for weight, pair in zip(weights, pairs, strict=True):
            if pair.roi is not None:
                covered = pair.roi.astype(np.float32)
                share = cv2.resize(covered, (width, height), interpolation=cv2.INTER_AREA)
                weight += (inside - 1) * share
    return torch.from_numpy(weights)


def weighted_error(guess: torch.Tensor, wanted: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Mean squared error over (n, channels, height, width), each cell by its weight."""
    error = (guess.float() - wanted.float()).square().mean(1)
    return (error * weight).sum() / weight.sum()
