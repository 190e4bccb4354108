"""Mirroring and cropping of pairs at random: both images and the ROI alike."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.tuning.pairs import TrainPair

#: Side of the smallest crop, as a share of the picture's.
LEAST = 0.8


def augmented(pair: TrainPair, how: str, rng: np.random.Generator) -> TrainPair:
    """The pair as `how` (of `TrainSettings.augment`) changes it; its canvas stays.

    What is drawn from `rng` is the same in number whatever `how` is.
    """
    mirror, side, left, top = rng.random(4)
    if "flip" in how and mirror < 0.5:
        pair = _each(pair, lambda one: np.ascontiguousarray(one[:, ::-1]))
    if "crop" in how:
        height, width = pair.previous.shape[:2]
        share = LEAST + (1 - LEAST) * side
        wide, high = max(1, round(width * share)), max(1, round(height * share))
        x, y = int(left * (width - wide + 1)), int(top * (height - high + 1))
        pair = _each(pair, lambda one: _cropped(one, (x, y, x + wide, y + high)))
    return pair


def _each(pair: TrainPair, change: Any) -> TrainPair:
    roi = None if pair.roi is None else change(pair.roi)
    return replace(pair, previous=change(pair.previous), target=change(pair.target), roi=roi)


def _cropped(pixels: NDArray[Any], box: tuple[int, int, int, int]) -> NDArray[Any]:
    height, width = pixels.shape[:2]
    if pixels.dtype == np.bool_:
        mask = Image.fromarray(pixels.astype(np.uint8) * 255)
        return np.asarray(mask.resize((width, height), Image.Resampling.BILINEAR, box)) > 127
    image = Image.fromarray(np.ascontiguousarray(pixels))
    return np.asarray(image.resize((width, height), Image.Resampling.LANCZOS, box))
