"""The training pictures, drawn once into a folder, some hundred patients to a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medebench.cases.phantoms.chest import render
from medebench.errors import MedebenchError
from medebench.parallel import core_count, in_parallel
from medebench.progress import Progress, silent
from medebench.tuning.chest_encoder.changing import patient

CHUNK = 100


def draw(folder: Path, count: int, seed: int, size: int, progress: Progress = silent) -> None:
    """Draw what is missing; a process for each core, as drawing holds the interpreter's lock."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [start for start in range(0, count, CHUNK) if not _file(folder, start).is_file()]
    total = -(-count // CHUNK)
    drawn = in_parallel(lambda start: _apart(folder, start, seed, size), missing, core_count())
    for done, _ in enumerate(drawn, start=1):
        progress(total - len(missing) + done, total)


def _apart(folder: Path, start: int, seed: int, size: int) -> None:
    code = (
        "import sys; from pathlib import Path; "
        "from medebench.tuning.chest_encoder.drawing import draw_chunk; "
        "draw_chunk(Path(sys.argv[1]), *map(int, sys.argv[2:]))"
    )
    call = [sys.executable, "-c", code, str(folder), str(start), str(seed), str(size)]
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode:
        raise MedebenchError(f"drawing patients {start}...: {done.stderr.strip()[-300:]}")


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
