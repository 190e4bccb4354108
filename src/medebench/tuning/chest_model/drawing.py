"""The training pictures, drawn once into a folder, a few hundred to a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medebench.cases.phantoms.chest import render
from medebench.cases.phantoms.chest.sampling import EVERYBODY, draw_patient
from medebench.progress import Progress, silent
from medebench.tuning.apart import draw_apart, draw_missing

CHUNK = 250


@dataclass(frozen=True)
class Chunk:
    """Pictures (n, h, w) of consecutive patients, and where something is to be seen."""

    pictures: NDArray[np.uint8]
    things: NDArray[np.bool_]


def draw(folder: Path, count: int, seed: int, size: int, progress: Progress = silent) -> None:
    """Draw what is missing."""
    folder.mkdir(parents=True, exist_ok=True)

    def one(start: int) -> None:
        _apart(folder, start, seed, size)

    draw_missing(count, CHUNK, lambda start: _file(folder, start), one, progress)


def _apart(folder: Path, start: int, seed: int, size: int) -> None:
    draw_apart(__name__, folder, start, seed, size)


def draw_chunk(folder: Path, start: int, seed: int, size: int) -> None:
    drawn = [render(draw_patient(seed, start + k, EVERYBODY), size) for k in range(CHUNK)]
    nothing = np.zeros((size, size), np.bool_)
    things = [np.any([nothing, *one.cores.values()], axis=0) for one in drawn]
    target = _file(folder, start)
    partial = target.with_suffix(".part")
    with partial.open("wb") as file:
        np.savez(
            file,
            pictures=np.stack([one.picture for one in drawn]),
            things=np.packbits(np.stack(things), axis=-1),
        )
    partial.replace(target)


def chunks(folder: Path, count: int) -> Iterator[Chunk]:
    """The drawn pictures, a file at a time."""
    for start in range(0, count, CHUNK):
        with np.load(_file(folder, start)) as file:
            size = min(CHUNK, count - start)
            things = np.unpackbits(file["things"][:size], axis=-1).astype(np.bool_)
            yield Chunk(file["pictures"][:size], things)


def _file(folder: Path, start: int) -> Path:
    return folder / f"{start:06d}.npz"
