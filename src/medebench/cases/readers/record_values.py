"""What all readers of records check: texts, paths, and words for what is wrong with one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from medebench.images.picture import SUFFIXES


class BadRecord(Exception):
    """A record that cannot become a case: what kind of flaw, in which field."""

    def __init__(self, code: str, field: str, message: str) -> None:
        super().__init__(message)
        self.code, self.field, self.message = code, field, message


class RecordFiles:
    """The files of cases; each folder is followed once, and thousands of files lie in few."""

    def __init__(
        self, root: Path, folders: Mapping[str, Path] | None = None, linked: Sequence[Path] = ()
    ) -> None:
        self.root, self.folders = root, folders or {}
        #: Folders that files may lie in: the root, and where a link of the layout leads.
        self._real = [one.resolve() for one in (root, *linked)]
        self._inside: dict[Path, bool] = {}

    def is_inside(self, path: Path) -> bool:
        """Whether a file, or what it links to, lies in the root."""
        where = path if path.is_symlink() else path.parent
        if where not in self._inside:
            real = where.resolve()
            self._inside[where] = any(real.is_relative_to(one) for one in self._real)
        return self._inside[where]

    def path(self, role: str, case_id: str, given: Any) -> Path | None:
        if given is None:
            if role not in self.folders:
                return None
            candidates: Iterator[Path] = (
                self.folders[role] / (case_id + suffix) for suffix in SUFFIXES
            )
            found = next((path for path in candidates if path.is_file()), None)
            if found is None and role == "previous":
                missing = self.folders[role] / (case_id + ".png")
                raise BadRecord("missing-file", role, f"{missing}: no such file")
            return found
        return self.named(role, given)

    def named(self, field: str, given: Any) -> Path:
        """The file that a record names, relative to the root."""
        text = valid_text(field, given)
        if "\0" in text or len(text) > 1000:
            raise BadRecord("bad-field", field, "is not a path")
        try:
            path = Path(os.path.normpath(self.root / text.replace("\\", "/")))
            # Links count as what they point to: a set must not reach files outside its folder.
            if not self.is_inside(path):
                raise BadRecord("path-escape", field, f"{text!r} leaves the folder {self.root}")
            if not path.is_file():
                raise BadRecord("missing-file", field, f"{path}: no such file")
        except (OSError, RuntimeError) as error:
            raise BadRecord(
                "bad-field", field, f"{text[:80]!r} is not a usable path ({error})"
            ) from None
        return path


def valid_text(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise BadRecord("bad-field", field, f"expected text, found {kind_of_value(value)}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise BadRecord(
            "bad-field", field, "holds half of a surrogate pair; save as UTF-8"
        ) from None
    return value


def kind_of_value(value: Any) -> str:
    names = {dict: "an object", list: "a list", bool: "true/false", type(None): "nothing"}
    return names.get(
        type(value), "a number" if isinstance(value, int | float) else repr(value)[:40]
    )
