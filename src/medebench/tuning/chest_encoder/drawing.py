"""The training pictures, drawn once into a folder, some hundred patients to a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medebench.cases.phantoms.chest import render
from medebench.progress import Progress, silent
from medebench.tuning.apart import draw_apart, draw_missing
from medebench.tuning.chest_encoder.changing import patient

CHUNK = 100


def draw(folder: Path, count: int, seed: int, size: int, progress: Progress = silent) -> None:
    """Draw what is missing."""
    folder.mkdir(parents=True, exist_ok=True)

    def one(start: int) -> None:
        _apart(folder, start, seed, size)

    draw_missing(count, CHUNK, lambda start: _file(folder, start), one, progress)


def _apart(folder: Path, start: int, seed: int, size: int) -> None:
    draw_apart(__name__, folder, start, seed, size)


def draw_chunk(folder: Path, start: int, seed: int, size: int) -> None:
    pictures = [
        [render(spec, size).picture for spec in patient(seed, index)]
        for index in range(start, start + CHUNK)
    ]
    target = _file(folder, start)
    partial = target.with_suffix(".part")
    with partial.open("wb") as file:
        np.save(file, np.array(pictures))
    partial.replace(target)


def drawn(folder: Path, count: int) -> NDArray[np.uint8]:
    """All pictures (patients, 3, height, width)."""
    parts = [np.load(_file(folder, start)) for start in range(0, count, CHUNK)]
    pictures: NDArray[np.uint8] = np.concatenate(parts)[:count]
    return pictures


def _file(folder: Path, start: int) -> Path:
    return folder / f"{start:06d}.npy"
