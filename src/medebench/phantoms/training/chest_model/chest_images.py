"""The chest model's training pictures, and where something is to be seen in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from medebench.phantoms.chest import render
from medebench.phantoms.chest.patients import EVERYBODY, draw_patient
from medebench.phantoms.training.render_pool import Chunk, draw_chunks, read_chunks
from medebench.progress import Progress, silent

CHUNK = 250


def draw(folder: Path, count: int, seed: int, size: int, progress: Progress = silent) -> None:
    """Draw what is missing."""
    draw_chunks(draw_chunk, folder, count, CHUNK, seed, size, progress=progress)


def draw_chunk(start: int, number: int, seed: int, size: int) -> Chunk:
    drawn = [render(draw_patient(seed, start + k, EVERYBODY), size) for k in range(number)]
    nothing = np.zeros((size, size), np.bool_)
    things = [np.any([nothing, *one.cores.values()], axis=0) for one in drawn]
    return {
        "pictures": np.stack([one.picture for one in drawn]),
        "things": np.packbits(np.stack(things), axis=-1),
    }


def chunks(folder: Path, count: int) -> Iterator[Chunk]:
    """`pictures` (n, h, w) of consecutive patients, and their `things` as masks."""
    for one in read_chunks(folder, count, CHUNK):
        yield one | {"things": np.unpackbits(one["things"], axis=-1).astype(np.bool_)}
