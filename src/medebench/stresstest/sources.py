"""A user's own pictures as rows, and where a plan's texts and masks for them come from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from medebench.cases.readers.metadata_files import read_records
from medebench.cases.readers.plain_folder import find as find_table
from medebench.errors import InputError
from medebench.images.picture import SUFFIXES
from medebench.settings import split_name
from medebench.stresstest.stress_plan import Columns, StressPlan
from medebench.systems import find_system, system_class

#: In place of a mask: there is none.
NONE = "none"
#: Settings by which an editor that works under masks is known.
_MASKS = {"masks", "edit_masks", "segmenter"}


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


@dataclass(frozen=True)
class MaskSource:
    """One role's masks; `column` or `path` is set."""

    role: str
    root: Path
    column: str | None = None
    path: Path | None = None

    def find(self, row: Row, picture_id: str, image: str, place: str) -> Path:
        """The mask of one picture; InputError that names its row where there is none."""
        if self.column is not None:
            named = row.cells.get(self.column, "")
            if not named:
                raise InputError(f"{place}: {self.column}: names no mask; {_remedy(self.role)}")
            path = located(self.root, named)
            if not path.is_file():
                raise InputError(f"{place}: {self.column}: {path}: no such file")
            return path
        assert self.path is not None
        if self.path.is_file():
            return self.path
        image_name = PurePosixPath(image.replace("\\", "/"))
        stems = [picture_id, str(image_name.with_suffix("")).lstrip("/."), image_name.stem]
        for stem in dict.fromkeys(stems):
            for suffix in SUFFIXES:
                if (path := self.path / (stem + suffix)).is_file():
                    return path
        raise InputError(
            f"{place}: {self.role}: {self.path / (picture_id + '.png')}: no such file;"
            f" {_remedy(self.role)}"
        )


class Cells:
    """A table read through the plan's column names."""

    def __init__(self, plan: StressPlan, table: Table) -> None:
        self.plan, self.table = plan, table
        for key in Columns.model_fields:
            given = getattr(plan.model.columns, key)
            if given and given not in table.columns and "mask" not in key:
                raise InputError(
                    f"{plan.where}: columns.{key}: no column {given!r} in {table.source}; there"
                    f" are: {self.there}"
                )
        for key in ("image", "label") if plan.task == "classification" else ("image",):
            if self.column(key) not in table.columns:
                raise InputError(
                    f"{table.source}: no column {key!r}; there are: {self.there} (rename it"
                    f" in the plan with columns: {{{key}: NAME}})"
                )

    def column(self, key: str) -> str:
        return getattr(self.plan.model.columns, key) or key

    def get(self, row: Row, key: str) -> str:
        return row.cells.get(self.column(key), "")

    def needed(self, row: Row, key: str) -> str:
        if not (text := self.get(row, key)):
            raise InputError(f"{self.place(row)}: {self.column(key)}: is empty")
        return text

    def path(self, named: str) -> Path:
        return located(self.table.root, named)

    def bits(self, row: Row, place: str) -> int | None:
        text = self.get(row, "bits")
        if not text:
            return None
        if not text.isdecimal() or not 9 <= int(text) <= 16:
            raise InputError(f"{place}: bits: expected a whole number from 9 to 16, found {text!r}")
        return int(text)

    def place(self, row: Row, picture_id: str = "") -> str:
        """For messages: which file, which row, which picture."""
        called = picture_id or self.get(row, "id")
        return f"{self.table.source}: row {row.number}{f' (id {called})' if called else ''}"

    def masks(self, role: str, given: str | None) -> MaskSource | None:
        """The source the plan names, or else the column named after the role."""
        if given is None:
            there = role in self.table.columns
            return MaskSource(role, self.table.root, column=role) if there else None
        if given == NONE:
            return None
        if given in self.table.columns:
            return MaskSource(role, self.table.root, column=given)
        path = self.plan.folder / Path(given).expanduser()
        if path.exists():
            return MaskSource(role, self.table.root, path=path)
        raise InputError(
            f"{self.plan.where}: {role}: {given!r} is not a column of {self.table.source}"
            f" ({self.there}), nor does the folder or file {path} exist"
        )

    @property
    def there(self) -> str:
        return ", ".join(sorted(self.table.columns))


def lacks_mask(editor: str) -> bool:
    """Whether an editor refuses every case without an edit mask, having no other source of one."""
    kind = system_class(split_name(editor)[0])
    # Looked at first: one of the user's own may load a model as soon as it is made.
    if not _MASKS.issubset(kind.Settings.model_fields):
        return False
    said = find_system(editor).settings
    return said["masks"] != NONE and not said["edit_masks"] and not said["segmenter"]


def located(root: Path, named: str) -> Path:
    """A path from the table. It is the user's own and may point anywhere."""
    path = root / Path(named.replace("\\", "/"))
    return Path(os.path.normpath(path.absolute()))


def _remedy(role: str) -> str:
    if role == "keep_mask":
        return "use an all-black mask to keep nothing, or set keep_mask: none"
    if role == "edit_mask":
        return "mark where the picture may change, or set edit_mask: none"
    if role == "reference":
        return "every edited picture needs one; otherwise omit edit.reference"
    return "every picture needs a mask of the organ"


def read_table(data: Path, root: Path | None = None) -> Table:
    """A CSV or JSONL file, a folder containing one, or a folder with one subfolder per class."""
    if not data.exists():
        raise InputError(f"{data}: no such file or folder")
    if data.is_file() and data.suffix.lower() not in (".csv", ".jsonl", ".json"):
        raise InputError(f"{data}: expected .csv, .jsonl, .json or a folder")
    source = data if data.is_file() else find_table(data)
    if source is None:
        return _class_folders(data)
    records = read_records(source)
    if not records:
        raise InputError(f"{source}: contains no rows")
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
            f"{folder}: contains neither a table (.csv, .jsonl) nor picture folders named by class"
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
