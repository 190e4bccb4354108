"""The encoder's training pictures: each patient in three ways."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medebench.phantoms.chest import render
from medebench.phantoms.training.chest_encoder.patient_change import patient
from medebench.phantoms.training.render_pool import Chunk, draw_chunks, read_chunks
from medebench.progress import Progress, silent

CHUNK = 100


def draw(folder: Path, count: int, seed: int, size: int, progress: Progress = silent) -> None:
    """Draw what is missing."""
    draw_chunks(draw_chunk, folder, count, CHUNK, seed, size, progress=progress)


def draw_chunk(start: int, number: int, seed: int, size: int) -> Chunk:
    patients = (patient(seed, index) for index in range(start, start + number))
    return {
        "pictures": np.array([[render(one, size).picture for one in ways] for ways in patients])
    }


def drawn(folder: Path, count: int) -> NDArray[np.uint8]:
    """All pictures (patients, 3, height, width)."""
    return np.concatenate([one["pictures"] for one in read_chunks(folder, count, CHUNK)])
