"""Write phantoms as a set of cases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from medebench.phantoms.case_folder import Entry, save_images, write_case_folder
from medebench.phantoms.drawings.phantom_renderer import render, sample
from medebench.phantoms.drawings.phantom_spec import VERSION
from medebench.phantoms.drawings.render_processes import Drawers

_ROLES = ("previous_image", "changed_image", "previous_mask")


def write_case(root: Path, index: int, seed: int) -> Entry:
    """Render one case into the folder and return its metadata entry."""
    case = render(sample(index, seed))
    number = index + 1
    images = dict(zip(_ROLES, (case.previous, case.reference, case.roi), strict=True))
    return {
        "id": number,
        "Organ": case.spec.organ,
        "Task": case.spec.task,
        "prompt": case.prompt,
        "rephrased_prompt": case.rephrased_prompt,
        "detailed_prompt": case.description,
        **save_images(root, number, images),
        "url": "",
        "key_concept": case.key_concept,
        "modality": case.modality,
        "kind": case.kind,
        "phantom": {"index": index, "seed": seed, "version": VERSION},
    }


def write_phantoms(
    out: Path,
    count: int = 130,
    seed: int = 0,
    *,
    progress: Callable[[int], None] | None = None,
    workers: int | None = None,
) -> Path:
    """Write ``count`` cases to ``out``; ``progress`` receives the number finished so far."""

    def start(root: Path, threads: int) -> Drawers:
        return Drawers(root, seed, processes=threads > 1)

    return write_case_folder(Path(out), count, _ROLES, start, progress, workers)


def serve(root: Path, seed: int, requests: Any, replies: Any) -> None:
    """Draw the case of every number that comes in; one JSON line each goes out."""
    for line in requests:
        try:
            reply = write_case(root, int(line), seed)
        except OSError as error:
            where = str(error.filename or root)
            reply = {"errno": error.errno, "error": error.strerror, "file": where}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()
