"""The edits of a stress test as a set of cases, in a folder of their own.

Pictures are copied: what was edited stays beside its edit, whatever becomes of the user's files.
"""

from __future__ import annotations

import filecmp
import json
from collections.abc import Sequence
from pathlib import Path

from medebench.cases import CaseSet, load_cases
from medebench.errors import InputError
from medebench.files import read_bytes, whole_folder
from medebench.stresstest.sample import IntendedEdit

TABLE = "cases.jsonl"


def check_cases(intended: Sequence[IntendedEdit], folder: Path) -> None:
    """An existing folder must contain the same edits of the same files."""
    if not folder.exists():
        return
    table = folder / TABLE
    if not table.is_file() or table.read_text("utf-8") != _lines(intended):
        raise InputError(f"{folder}: contains edits that differ from the plan; choose another out")
    for one in intended:
        for role, path in _files(one).items():
            if not filecmp.cmp(path, folder / _place(one, role, path), shallow=False):
                raise InputError(
                    f"{path}: changed since it was edited in {folder.parent}; choose another out"
                )


def write_cases(intended: Sequence[IntendedEdit], folder: Path) -> CaseSet:
    """Written once; `check_cases` compares an existing folder."""
    if not folder.exists():
        with whole_folder(folder) as staging:
            for one in intended:
                for role, path in _files(one).items():
                    target = staging / _place(one, role, path)
                    target.parent.mkdir(exist_ok=True)
                    target.write_bytes(read_bytes(path))
            (staging / TABLE).write_text(_lines(intended), "utf-8")
    return load_cases(folder / TABLE)


def _lines(intended: Sequence[IntendedEdit]) -> str:
    return "".join(json.dumps(_record(one), ensure_ascii=False) + "\n" for one in intended)


def _place(one: IntendedEdit, role: str, path: Path) -> str:
    return f"{role}/{one.id}{path.suffix.lower()}"


def _record(one: IntendedEdit) -> dict[str, str | int]:
    record: dict[str, str | int] = {"id": one.id, "prompt": one.prompt}
    if one.sample.caption:
        record["caption"] = one.sample.caption
    if one.kind:
        record["task"] = one.kind
    if one.sample.bits is not None:
        record["bits"] = one.sample.bits
    return record | {role: _place(one, role, path) for role, path in _files(one).items()}


def _files(one: IntendedEdit) -> dict[str, Path]:
    roles = {
        "previous": one.sample.image,
        "reference": one.reference,
        "roi": one.edit,
        "keep": one.keep,
    }
    return {role: path for role, path in roles.items() if path is not None}
