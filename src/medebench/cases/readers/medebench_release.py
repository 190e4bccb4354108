"""The MedEBench release: `editing/editing_metadata.json` beside its picture folders."""

from __future__ import annotations

from pathlib import Path

from medebench.cases.caseset import CaseSet
from medebench.cases.readers.metadata_files import read_records
from medebench.cases.readers.records import build_set

METADATA = "editing_metadata.json"


def find(path: Path) -> Path | None:
    """The metadata file, if `path` is a release, its `editing/` folder or the file itself."""
    if path.is_file() and path.suffix == ".json":
        return path
    for candidate in (path / "editing" / METADATA, path / METADATA):
        if candidate.is_file():
            return candidate
    return None


def read(metadata: Path) -> CaseSet:
    folder = metadata.parent
    # Paths in the file are relative to the folder that holds `editing/`.
    root = folder.parent if folder.name == "editing" else folder
    return build_set(root.name, str(metadata), root, read_records(metadata))
