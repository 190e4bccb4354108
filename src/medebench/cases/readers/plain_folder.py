"""A plain folder: `previous/`, `reference/`, `roi/` and one CSV or JSONL that says what to do."""

from __future__ import annotations

from pathlib import Path

from medebench.cases.caseset import CaseSet
from medebench.cases.readers.metadata_files import read_records
from medebench.cases.readers.records import EDITING, ROLES, build_set
from medebench.errors import InputError

PREFERRED = ("cases.csv", "cases.jsonl", "metadata.csv", "metadata.jsonl")


def find(path: Path) -> Path | None:
    """The table of cases of a plain folder, or the table itself."""
    if path.is_file() and path.suffix.lower() in (".csv", ".jsonl"):
        return path
    if not path.is_dir():
        return None
    for name in PREFERRED:
        if (path / name).is_file():
            return path / name
    tables = sorted(p for p in path.iterdir() if p.suffix.lower() in (".csv", ".jsonl"))
    if len(tables) > 1:
        names = ", ".join(table.name for table in tables)
        raise InputError(f"{path}: several tables ({names}); name the one to read")
    return tables[0] if tables else None


def read(table: Path, task: str = EDITING) -> CaseSet:
    root = table.parent
    folders = {role: root / role for role in ROLES if (root / role).is_dir()}
    return build_set(root.name, str(table), root, read_records(table), folders, task)
