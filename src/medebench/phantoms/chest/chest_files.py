"""Write edits of chest phantoms as a set of cases."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from medebench.phantoms.case_folder import DrawCase, Entry, save_images, write_case_folder
from medebench.phantoms.chest.captions import caption, description, instruction
from medebench.phantoms.chest.chest_edit import ChestEdit, Edits, chest_edit
from medebench.phantoms.chest.chest_renderer import SIZE, VERSION

_ROLES = ("previous_image", "changed_image", "previous_mask", "keep_mask")


def write_chest_phantoms(
    out: Path,
    count: int = 64,
    seed: int = 0,
    shift: Edits = "all",
    size: int = SIZE,
    *,
    progress: Callable[[int], None] | None = None,
    workers: int | None = None,
) -> Path:
    """Write `count` cases to `out`; `progress` receives the number finished so far."""

    def start(root: Path, threads: int) -> nullcontext[DrawCase]:
        def draw(index: int) -> Entry:
            entry = _write(root, index + 1, chest_edit(index, seed, shift, size))
            entry["phantom"] = {"index": index, "seed": seed, "shift": shift, "version": VERSION}
            return entry

        return nullcontext(draw)

    return write_case_folder(out, count, _ROLES, start, progress, workers)


def _write(root: Path, number: int, edit: ChestEdit) -> Entry:
    masks = (np.where(one, 255, 0).astype(np.uint8) for one in (edit.edit, edit.keep))
    pictures = (edit.before.picture, edit.after.picture, *masks)
    return {
        "id": number,
        "Organ": "Chest",
        "Task": edit.title,
        # With the hospital: a model that knows hospitals must be told to stay there.
        "prompt": caption(edit.after.spec, hospital=True),
        "rephrased_prompt": instruction(edit),
        "detailed_prompt": description(edit),
        "caption": caption(edit.before.spec, hospital=True),
        **save_images(root, number, dict(zip(_ROLES, pictures, strict=True))),
        "url": "",
        "key_concept": edit.thing.name,
        "modality": "radiograph",
        "kind": edit.kind,
        "hospital": edit.before.spec.look.hospital,
    }
