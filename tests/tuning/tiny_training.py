"""Four pairs of 64 x 64 pixels on disk, and requests to learn from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
from PIL import Image

from medebench.cases import Case
from medebench.tuning.pairs import TrainPair
from medebench.tuning.train_request import TrainRequest
from medebench.tuning.train_settings import TrainSettings

TEXTS = (
    "remove the wisdom teeth",
    "erase the scar across the nose",
    "make the waist narrower",
    "whiten the stained teeth",
)
SIDE = 64


def picture(rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.uint8]]:
    cells = rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)
    return cv2.resize(cells, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)


def tiny_pairs() -> list[TrainPair]:
    rng = np.random.default_rng(0)
    pairs = []
    for index, text in enumerate(TEXTS):
        roi = np.zeros((SIDE, SIDE), bool)
        roi[8 * index : 8 * index + 20, 16:40] = True
        pairs.append(TrainPair(str(index), picture(rng), picture(rng), text, roi))
    return pairs


def tiny_cases(folder: Path) -> list[Case]:
    """The same pairs as cases, their images as files."""
    folder.mkdir(parents=True, exist_ok=True)
    cases = []
    for pair in tiny_pairs():
        files = {}
        assert pair.roi is not None
        kinds = {"previous": pair.previous, "reference": pair.target}
        for role, pixels in {**kinds, "roi": pair.roi.astype(np.uint8) * 255}.items():
            files[role] = folder / f"{pair.id}-{role}.png"
            Image.fromarray(pixels).save(files[role])
        cases.append(Case(pair.id, prompt=pair.prompt, **files))
    return cases


def request_for(
    system: str, cases: list[Case], steps: int, seed: int = 0, **settings: Any
) -> TrainRequest:
    chosen = TrainSettings.model_validate(settings)
    return TrainRequest(system, tuple((one, one) for one in cases), steps, seed, chosen)
