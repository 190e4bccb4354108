"""Where a plan's texts and masks come from: a column of the table, a folder, or one file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from medebench.cases.image import SUFFIXES
from medebench.editors import EDITORS, find_editor
from medebench.errors import InputError
from medebench.settings import split_name
from medebench.stress.plan import Columns, StressPlan
from medebench.stress.table import Row, Table

#: Said of a mask: there is none.
NONE = "none"
#: Settings by which an editor that works under masks is known.
_MASKS = {"masks", "edit_masks", "segmenter"}


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
                raise InputError(f"{place}: {self.column}: has no mask; {_remedy(self.role)}")
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
    """A table as the plan's columns name it."""

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
                    f"{table.source}: no column {key!r}; there are: {self.there} (the plan's"
                    f" 'columns' may say columns: {{{key}: NAME}})"
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
        """The source that the plan names, else the column that is called like the role."""
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
            f"{self.plan.where}: {role}: {given!r} is no column of {self.table.source}"
            f" ({self.there}), and there is no folder or file {path}"
        )

    @property
    def there(self) -> str:
        return ", ".join(sorted(self.table.columns))


def lacks_mask(editor: str) -> bool:
    """Whether an editor refuses every case without an edit mask, having no other source of one."""
    kind = EDITORS.find(split_name(editor)[0])
    # Looked at first: one of the user's own may load a model as soon as it is made.
    if not _MASKS.issubset(getattr(getattr(kind, "Settings", None), "model_fields", ())):
        return False
    said = find_editor(editor).settings
    return said["masks"] != NONE and not said["edit_masks"] and not said["segmenter"]


def located(root: Path, named: str) -> Path:
    """A path of the table. It is the user's own, and may lie anywhere."""
    path = root / Path(named.replace("\\", "/"))
    return Path(os.path.normpath(path.absolute()))


def _remedy(role: str) -> str:
    if role == "keep_mask":
        return "an all-black one keeps nothing, or give keep_mask: none"
    if role == "edit_mask":
        return "mark where the picture may change, or give edit_mask: none"
    if role == "reference":
        return "every edited picture needs one, or leave edit.reference out"
    return "every picture needs the organ's mask"
