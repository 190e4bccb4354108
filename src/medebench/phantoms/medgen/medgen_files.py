"""Write MedGEN phantoms as a set of cases: pictures by role beside `cases.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from medebench.cases.caseset import CaseSet
from medebench.cases.medgen_names import RELEASED
from medebench.cases.readers import plain_folder
from medebench.files import whole_folder, write_bytes, write_text
from medebench.images.picture import encode_png
from medebench.parallel import core_count, in_parallel
from medebench.phantoms.medgen import VERSION
from medebench.phantoms.medgen.edit_tasks import EDITS
from medebench.phantoms.medgen.generation_tasks import GENERATIONS
from medebench.phantoms.medgen.questions import QUESTIONS
from medebench.phantoms.medgen.record import Record
from medebench.tasks.medgen_tasks import MEDGEN_TASKS

_DRAWERS: dict[str, Callable[[int, int], Record]] = QUESTIONS | EDITS | GENERATIONS
_TABLE = "cases.jsonl"


def draw_record(task: str, number: int, seed: int = 0) -> Record:
    """A case of one of the 16 tasks, not yet written."""
    return _DRAWERS[task](seed, number)


def write_medgen_phantoms(
    out: Path,
    count: int = 192,
    seed: int = 0,
    *,
    progress: Callable[[int], None] | None = None,
    workers: int | None = None,
) -> Path:
    """Write `count` cases to `out`, the tasks in turn; `progress` is told how many are done."""
    if count < 1:
        raise ValueError("count must be at least 1")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise FileExistsError(f"{out} exists and is not empty")
    with whole_folder(out) as draft:

        def draw(index: int) -> tuple[int, dict[str, Any]]:
            return index, write_case(draft, index, seed)

        found: dict[int, dict[str, Any]] = {}
        for index, entry in in_parallel(draw, range(count), min(workers or core_count(), count)):
            found[index] = entry
            if progress is not None:
                progress(len(found))
        lines = [json.dumps(found[index], ensure_ascii=False) for index in range(count)]
        write_text(draft / _TABLE, "\n".join(lines) + "\n")
    return out


def read_medgen_phantoms(folder: Path) -> CaseSet:
    return plain_folder.read(folder / _TABLE, "medgen")


def write_case(root: Path, index: int, seed: int) -> dict[str, Any]:
    """Write the pictures of a case; returns its line of the table. The tasks go in turn."""
    names = list(MEDGEN_TASKS)
    task, number = names[index % len(names)], index // len(names)
    record, kind = draw_record(task, number, seed), MEDGEN_TASKS[task].format
    case_id = f"{kind}-{task}-{number + 1:06d}"
    paths = {}
    for role, pixels in record.pictures.items():
        paths[role] = f"{role}/{case_id}.png"
        (root / role).mkdir(exist_ok=True)
        write_bytes(root / paths[role], encode_png(pixels))
    further = {role: path for role, path in paths.items() if role.startswith("image")}
    told = {"choices": list(record.choices), "answer": record.answer, "key": record.key}
    return {
        "id": case_id,
        "task": task,
        "prompt": record.prompt,
        "modality": record.modality,
        **{role: path for role, path in paths.items() if role not in further},
        **({"images": further} if further else {}),
        **{name: value for name, value in told.items() if value},
        **({"grid": record.grid} if record.grid != "previous" else {}),
        "groups": {"format": kind, **({"subtask": record.subtask} if record.subtask else {})},
        "sample_id": f"medgen-phantoms:{RELEASED[kind]}:{task}:{number + 1:06d}",
        "recorded_modality": f"drawing in the style of {record.modality}",
        "metadata": dict(record.metadata),
        **({"report_sections": dict(record.sections)} if record.sections else {}),
        "phantom": {"index": index, "seed": seed, "version": VERSION},
    }
