"""The edits of a stress test as a set of cases, in a folder of their own.

Pictures are copied: what was edited stays beside its edit, whatever becomes of the user's files.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from medebench.cases import CaseSet, load_cases
from medebench.errors import InputError
from medebench.files import whole_folder
from medebench.stress.sample import Intended

TABLE = "cases.jsonl"


def write_cases(intended: Iterable[Intended], folder: Path) -> CaseSet:
    """Written once; a folder that is there must hold the same edits."""
    wanted = [_record(one) for one in intended]
    lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in wanted)
    table = folder / TABLE
    if not folder.exists():
        with whole_folder(folder) as staging:
            for one in intended:
                for role, path in _files(one).items():
                    target = staging / role / f"{one.id}{path.suffix.lower()}"
                    target.parent.mkdir(exist_ok=True)
                    shutil.copyfile(path, target)
            (staging / TABLE).write_text(lines, "utf-8")
    elif not table.is_file() or table.read_text("utf-8") != lines:
        raise InputError(f"{folder}: holds other edits than the plan asks for; choose another out")
    return load_cases(table)


def _record(one: Intended) -> dict[str, str | int]:
    record: dict[str, str | int] = {"id": one.id, "prompt": one.prompt}
    if one.sample.caption:
        record["caption"] = one.sample.caption
    if one.kind:
        record["task"] = one.kind
    if one.sample.bits is not None:
        record["bits"] = one.sample.bits
    files = _files(one)
    return record | {role: f"{role}/{one.id}{path.suffix.lower()}" for role, path in files.items()}


def _files(one: Intended) -> dict[str, Path]:
    roles = {
        "previous": one.sample.image,
        "reference": one.reference,
        "roi": one.edit,
        "keep": one.keep,
    }
    return {role: path for role, path in roles.items() if path is not None}
