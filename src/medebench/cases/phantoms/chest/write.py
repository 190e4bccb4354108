"""Write edits of chest phantoms as a set of cases in the MedEBench layout, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from medebench.cases.phantoms.chest.captions import caption
from medebench.cases.phantoms.chest.editing import ChestEdit
from medebench.cases.phantoms.chest.render import SIZE, VERSION
from medebench.cases.phantoms.chest.shifts import Edits, chest_edit
from medebench.cases.phantoms.chest.wording import description, instruction
from medebench.files import whole_folder, write_json
from medebench.parallel import core_count, in_parallel

#: By key of the metadata, the folder of the files.
_FOLDERS = {
    "previous_image": "previous",
    "changed_image": "changed",
    "previous_mask": "previous_mask",
    "keep_mask": "keep_mask",
}


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
    if count < 1:
        raise ValueError("count must be at least 1")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise FileExistsError(f"{out} exists and is not empty")

    with whole_folder(out) as draft:
        for folder in _FOLDERS.values():
            (draft / "editing" / folder).mkdir(parents=True)

        def one(index: int) -> dict[str, Any]:
            entry = _write(draft, index + 1, chest_edit(index, seed, shift, size))
            entry["phantom"] = {"index": index, "seed": seed, "shift": shift, "version": VERSION}
            return entry

        samples: list[dict[str, Any]] = []
        for entry in in_parallel(one, range(count), min(workers or core_count(), count)):
            samples.append(entry)
            if progress is not None:
                progress(len(samples))
        samples.sort(key=lambda entry: int(entry["id"]))
        write_json(draft / "editing" / "editing_metadata.json", {"samples": samples})
    return out


def _write(root: Path, number: int, edit: ChestEdit) -> dict[str, Any]:
    pictures = {
        "previous_image": edit.before.picture,
        "changed_image": edit.after.picture,
        "previous_mask": np.where(edit.edit, 255, 0).astype(np.uint8),
        "keep_mask": np.where(edit.keep, 255, 0).astype(np.uint8),
    }
    entry: dict[str, Any] = {
        "id": number,
        "Organ": "Chest",
        "Task": edit.title,
        # With the hospital: a model that knows hospitals must be told to stay there.
        "prompt": caption(edit.after.spec, hospital=True),
        "rephrased_prompt": instruction(edit),
        "detailed_prompt": description(edit),
        "caption": caption(edit.before.spec, hospital=True),
    }
    for key, pixels in pictures.items():
        entry[key] = f"editing/{_FOLDERS[key]}/{number}.png"
        Image.fromarray(pixels).save(root / entry[key], format="PNG")
    return entry | {
        "url": "",
        "key_concept": edit.thing.name,
        "modality": "radiograph",
        "kind": edit.kind,
        "hospital": edit.before.spec.look.hospital,
    }
