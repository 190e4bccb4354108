"""Training pictures, drawn once in other processes, because drawing holds the GIL."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from medebench.errors import MedebenchError, one_line
from medebench.parallel import core_count, in_parallel
from medebench.progress import Progress, silent

#: What is drawn of consecutive subjects, by name; the first axis is theirs.
Chunk = dict[str, Any]
#: A function of a module: of the first subject, the number of subjects, and settings.
DrawChunk = Callable[..., Chunk]


def draw_chunks(
    draw: DrawChunk,
    folder: Path,
    count: int,
    size: int,
    *settings: int,
    progress: Progress = silent,
) -> None:
    """Draw the files of `size` subjects that are not there yet, on all cores."""
    folder.mkdir(parents=True, exist_ok=True)
    starts = range(0, count, size)
    missing = [start for start in starts if not _file(folder, start).is_file()]
    draw_one = partial(_draw_in_process, draw, folder, size, settings)
    for done, _ in enumerate(in_parallel(draw_one, missing, core_count()), start=1):
        progress(len(starts) - len(missing) + done, len(starts))


def read_chunks(folder: Path, count: int, size: int) -> Iterator[Chunk]:
    """What was drawn of the first `count` subjects, a file at a time."""
    for start in range(0, count, size):
        with np.load(_file(folder, start)) as file:
            yield {name: file[name][: count - start] for name in file.files}


def write_chunk(draw: DrawChunk, folder: str, start: int, *numbers: int) -> None:
    """In the child: one file, whole or not at all."""
    target = _file(Path(folder), start)
    part = target.with_suffix(".part")
    with part.open("wb") as file:
        np.savez(file, **draw(start, *numbers))
    part.replace(target)


def _draw_in_process(
    draw: DrawChunk, folder: Path, size: int, settings: tuple[int, ...], start: int
) -> None:
    code = (
        f"import sys; from {__name__} import write_chunk; from {draw.__module__} import "
        f"{draw.__name__} as draw; write_chunk(draw, sys.argv[1], *map(int, sys.argv[2:]))"
    )
    call = [sys.executable, "-c", code, str(folder), *map(str, (start, size, *settings))]
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().rpartition("\n")[2]
        raise MedebenchError(f"drawing phantoms {start}...: {one_line(said, 300)}")


def _file(folder: Path, start: int) -> Path:
    return folder / f"{start:06d}.npz"
