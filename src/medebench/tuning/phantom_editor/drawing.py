"""The training pictures, drawn once into a folder, a few hundred to a file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medebench.cases.phantoms import render, sample
from medebench.errors import MedebenchError
from medebench.parallel import core_count, in_parallel
from medebench.progress import Progress, silent

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
    """Draw what is missing; a process for each core, as drawing holds the interpreter's lock."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [start for start in range(0, count, CHUNK) if not _file(folder, start).is_file()]
    total = -(-count // CHUNK)
    for done, _ in enumerate(
        in_parallel(lambda start: _draw_apart(folder, start, seed), missing, core_count()), start=1
    ):
        progress(total - len(missing) + done, total)


def _draw_apart(folder: Path, start: int, seed: int) -> None:
    code = (
        "import sys; from pathlib import Path; "
        "from medebench.tuning.phantom_editor.drawing import draw_chunk; "
        "draw_chunk(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))"
    )
    call = [sys.executable, "-c", code, str(folder), str(start), str(seed)]
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode:
        raise MedebenchError(f"drawing phantoms {start}...: {done.stderr.strip()[-300:]}")


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
