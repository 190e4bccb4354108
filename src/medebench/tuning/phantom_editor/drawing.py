"""The training pictures, drawn once into a folder, a few hundred to a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medebench.cases.phantoms import render, sample
from medebench.progress import Progress, silent
from medebench.tuning.apart import draw_apart, draw_missing

#: A multiple of the number of organs.
CHUNK = 260
Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Chunk:
    """Pictures of consecutive phantoms; the ROI is the share of each latent cell it covers."""

    previous: Pixels
    reference: Pixels
    roi: NDArray[np.float32]


def draw(folder: Path, count: int, seed: int, progress: Progress = silent) -> None:
    """Draw what is missing."""
    folder.mkdir(parents=True, exist_ok=True)

    def one(start: int) -> None:
        _draw_apart(folder, start, seed)

    draw_missing(count, CHUNK, lambda start: _file(folder, start), one, progress)


def _draw_apart(folder: Path, start: int, seed: int) -> None:
    draw_apart(__name__, folder, start, seed)


def draw_chunk(folder: Path, start: int, seed: int) -> None:
    phantoms = [render(sample(start + offset, seed)) for offset in range(CHUNK)]
    target = _file(folder, start)
    partial = target.with_suffix(".part")
    with partial.open("wb") as file:
        np.savez(
            file,
            prev=np.stack([one.previous for one in phantoms]),
            ref=np.stack([one.reference for one in phantoms]),
            roi=np.stack([one.roi for one in phantoms]),
        )
    partial.replace(target)


def chunks(folder: Path, count: int, cell: int) -> Iterator[Chunk]:
    """The drawn pictures, a file at a time."""
    for start in range(0, count, CHUNK):
        with np.load(_file(folder, start)) as file:
            size = min(CHUNK, count - start)
            yield Chunk(file["prev"][:size], file["ref"][:size], _cells(file["roi"][:size], cell))


def _cells(roi: Pixels, cell: int) -> NDArray[np.float32]:
    number, height, width = roi.shape
    blocks = (roi > 127).reshape(number, height // cell, cell, width // cell, cell)
    return np.asarray(blocks.mean(axis=(2, 4)), np.float32)


def _file(folder: Path, start: int) -> Path:
    return folder / f"{start:06d}.npz"
