"""A user's own pictures as rows: from a table, or from folders named by class."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medebench.cases.image import SUFFIXES
from medebench.cases.readers.folder import find as find_table
from medebench.cases.readers.text import read_records
from medebench.errors import InputError


@dataclass(frozen=True)
class Row:
    """One picture's cells, all of them texts; `number` counts from 1."""

    number: int
    cells: Mapping[str, str]


@dataclass(frozen=True)
class Table:
    """`source` is named in messages; paths in cells start at `root`."""

    source: Path
    root: Path
    columns: frozenset[str]
    rows: tuple[Row, ...]


def read_table(data: Path, root: Path | None = None) -> Table:
    """A CSV or JSONL, a folder that holds one, or a folder with a folder of pictures a class."""
    if not data.exists():
        raise InputError(f"{data}: no such file or folder")
    if data.is_file() and data.suffix.lower() not in (".csv", ".jsonl", ".json"):
        raise InputError(f"{data}: expected .csv, .jsonl, .json or a folder")
    source = data if data.is_file() else find_table(data)
    if source is None:
        return _class_folders(data)
    records = read_records(source)
    if not records:
        raise InputError(f"{source}: holds no row")
    rows = tuple(_row(source, number, one) for number, one in enumerate(records, start=1))
    columns = frozenset(name for row in rows for name in row.cells)
    return Table(source, root or source.parent, columns, rows)


def _class_folders(folder: Path) -> Table:
    """`<folder>/<label>/…/<picture>`, in a stable order."""
    rows: list[Row] = []
    for label in sorted(one for one in folder.iterdir() if one.is_dir()):
        if label.name.startswith("."):
            continue
        for place, folders, files in os.walk(label):
            folders[:] = sorted(one for one in folders if not one.startswith("."))
            for name in sorted(files):
                if Path(name).suffix.lower() in SUFFIXES and not name.startswith("."):
                    image = (Path(place) / name).relative_to(folder).as_posix()
                    cells = {"image": image, "label": label.name}
                    rows.append(Row(len(rows) + 1, cells))
    if not rows:
        raise InputError(
            f"{folder}: has no table (.csv, .jsonl) and no folders of pictures named by class"
        )
    return Table(folder, folder, frozenset(("image", "label")), tuple(rows))


def _row(source: Path, number: int, record: Any) -> Row:
    if not isinstance(record, dict):
        raise InputError(f"{source}: row {number}: expected an object with fields")
    cells: dict[str, str] = {}
    for name, value in record.items():
        if value is not None and not isinstance(value, str | int | float):
            raise InputError(f"{source}: row {number}: {name}: expected a text or a number")
        text = "" if value is None else str(value).strip()
        if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
            raise InputError(f"{source}: row {number}: {name}: is not UTF-8 text")
        cells[str(name).strip()] = text
    return Row(number, cells)
