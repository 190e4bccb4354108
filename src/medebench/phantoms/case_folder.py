"""Drawn cases in the MedEBench folder layout, complete or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medebench.files import whole_folder, write_json
from medebench.parallel import core_count, in_parallel

Entry = dict[str, Any]
#: Draws case `index` and returns its metadata.
DrawCase = Callable[[int], Entry]


def write_case_folder(
    out: Path,
    count: int,
    roles: Sequence[str],
    start: Callable[[Path, int], AbstractContextManager[DrawCase]],
    progress: Callable[[int], None] | None,
    workers: int | None,
) -> Path:
    """Write `count` cases to `out`; `start` opens what draws them into a folder on some threads."""
    if count < 1:
        raise ValueError("count must be at least 1")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise FileExistsError(f"{out} exists and is not empty")
    threads = min(workers or core_count(), count)
    with whole_folder(out) as draft:
        for role in roles:
            (draft / _file(role, 0)).parent.mkdir(parents=True)
        samples: list[Entry] = []
        with start(draft, threads) as draw:
            for entry in in_parallel(draw, range(count), threads):
                samples.append(entry)
                if progress is not None:
                    progress(len(samples))
        samples.sort(key=lambda entry: int(entry["id"]))
        write_json(draft / "editing" / "editing_metadata.json", {"samples": samples})
    return out


def save_images(root: Path, number: int, images: Mapping[str, NDArray[np.uint8]]) -> Entry:
    """Write the images of a case; returns where each role's file lies."""
    for role, pixels in images.items():
        Image.fromarray(pixels).save(root / _file(role, number), format="PNG")
    return {role: _file(role, number) for role in images}


def _file(role: str, number: int) -> str:
    return f"editing/{role.removesuffix('_image')}/{number}.png"
