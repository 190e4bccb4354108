"""The editor's training pictures: before, after, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medebench.phantoms.drawings import render, sample
from medebench.phantoms.training.render_pool import Chunk, draw_chunks, read_chunks
from medebench.progress import Progress, silent

#: A multiple of the number of organs.
CHUNK = 260


def draw(folder: Path, count: int, seed: int, progress: Progress = silent) -> None:
    """Draw what is missing."""
    draw_chunks(draw_chunk, folder, count, CHUNK, seed, progress=progress)


def draw_chunk(start: int, number: int, seed: int) -> Chunk:
    phantoms = [render(sample(start + offset, seed)) for offset in range(number)]
    return {
        "prev": np.stack([one.previous for one in phantoms]),
        "ref": np.stack([one.reference for one in phantoms]),
        "roi": np.stack([one.roi for one in phantoms]),
    }


def chunks(folder: Path, count: int, cell: int) -> Iterator[Chunk]:
    """Pictures `prev` and `ref` of consecutive phantoms; of `roi` the share of each latent cell."""
    for one in read_chunks(folder, count, CHUNK):
        yield one | {"roi": _cells(one["roi"], cell)}


def _cells(roi: NDArray[np.uint8], cell: int) -> NDArray[np.float32]:
    number, height, width = roi.shape
    blocks = (roi > 127).reshape(number, height // cell, cell, width // cell, cell)
    return np.asarray(blocks.mean(axis=(2, 4)), np.float32)
