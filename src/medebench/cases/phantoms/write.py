"""Write phantoms in the MedEBench folder layout, complete or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image as Pillow

from medebench.files import whole_folder, write_json
from medebench.parallel import core_count, in_parallel

from .drawers import Drawers
from .render import render, sample
from .spec import VERSION

_FOLDERS = {
    "previous_image": "previous",
    "changed_image": "changed",
    "previous_mask": "previous_mask",
}


def write_case(root: Path, index: int, seed: int) -> dict[str, Any]:
    """Render one case into the folder and return its metadata entry."""
    case = render(sample(index, seed))
    images = {
        "previous_image": case.previous,
        "changed_image": case.reference,
        "previous_mask": case.roi,
    }
    number = index + 1
    entry: dict[str, Any] = {
        "id": number,
        "Organ": case.spec.organ,
        "Task": case.spec.task,
        "prompt": case.prompt,
        "rephrased_prompt": case.rephrased_prompt,
        "detailed_prompt": case.description,
    }
    for key, pixels in images.items():
        entry[key] = f"editing/{_FOLDERS[key]}/{number}.png"
        Pillow.fromarray(pixels).save(root / entry[key], format="PNG")
    entry["url"] = ""
    entry["key_concept"] = case.key_concept
    entry["modality"] = case.modality
    entry["kind"] = case.kind
    entry["phantom"] = {"index": index, "seed": seed, "version": VERSION}
    return entry


def write_phantoms(
    out: Path,
    count: int = 130,
    seed: int = 0,
    *,
    progress: Callable[[int], None] | None = None,
    workers: int | None = None,
) -> Path:
    """Write ``count`` cases to ``out``; ``progress`` receives the number finished so far."""
    if count < 1:
        raise ValueError("count must be at least 1")
    out = Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise FileExistsError(f"{out} exists and is not empty")
    threads = min(workers or core_count(), count)
    with whole_folder(out) as draft:
        for folder in _FOLDERS.values():
            (draft / "editing" / folder).mkdir(parents=True)
        samples: list[dict[str, Any]] = []
        with Drawers(draft, seed, processes=threads > 1) as drawers:
            for entry in in_parallel(drawers.draw, range(count), threads):
                samples.append(entry)
                if progress is not None:
                    progress(len(samples))
        samples.sort(key=lambda entry: int(entry["id"]))
        write_json(draft / "editing" / "editing_metadata.json", {"samples": samples})
    return out


def serve(root: Path, seed: int, requests: Any, replies: Any) -> None:
    """Draw the case of every number that comes in; one JSON line each goes out."""
    for line in requests:
        try:
            reply: dict[str, Any] = write_case(root, int(line), seed)
        except OSError as error:
            where = str(error.filename or root)
            reply = {"errno": error.errno, "error": error.strerror, "file": where}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()
