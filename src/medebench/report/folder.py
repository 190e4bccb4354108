"""The report's folder: made only where nothing of the user's can be lost, and kept tidy."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

from medebench.errors import InputError
from medebench.files import TEMPORARY, unwritable, write_bytes

MARKER = ".medebench-report.json"
FORMAT = 1
#: Folders that belong to the report alone: whatever lies there and is not of this report goes.
OWN_FOLDERS = ("assets", "figures")


class Folder:
    """A report being written; `close` removes what an earlier one left behind."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._kept: set[str] = set()
        self.facts: dict[str, Any] = _open(path)

    def keep(self, name: str) -> Path:
        """Say that the file `name` is part of this report; where it lies."""
        self._kept.add(name)
        return self.path / name

    def has(self, name: str) -> bool:
        return (self.path / name).is_file()

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file, unless it already holds just this."""
        path = self.keep(name)
        data = content.encode("utf-8") if isinstance(content, str) else content
        if not (path.is_file() and path.read_bytes() == data):
            write_bytes(path, data)

    def remove(self, *names: str) -> None:
        """Files beside the own folders that an earlier report may have had, and this has not."""
        for name in names:
            (self.path / name).unlink(missing_ok=True)

    def close(self, facts: dict[str, Any]) -> None:
        for own in OWN_FOLDERS:
            for path in sorted((self.path / own).rglob("*"), reverse=True):
                if path.is_dir() and not path.is_symlink():
                    if not any(path.iterdir()):
                        path.rmdir()
                elif path.relative_to(self.path).as_posix() not in self._kept:
                    path.unlink()
        self.remember(facts)

    def remember(self, facts: dict[str, Any]) -> None:
        """For the next report in this folder, which gets them as `facts`."""
        _mark(self.path, facts)


def _open(path: Path) -> dict[str, Any]:
    """What the earlier report in `path` remembered; refuses a folder that is not a report."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: is a file; choose another --out")
    marker = path / MARKER
    facts: dict[str, Any] = {}
    if marker.is_file():
        facts = _read(marker)
    elif path.is_dir() and any(not p.name.startswith(TEMPORARY) for p in path.iterdir()):
        raise InputError(f"{path}: is not empty and not a report; choose another --out")
    for own in OWN_FOLDERS:
        # What lies behind a link is not ours to tidy up.
        if (path / own).is_symlink():
            raise InputError(f"{path / own}: is a link; remove it or choose another --out")
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not facts:
            # First of all: a report that is stopped half way must be taken up again, not refused.
            _mark(path, facts)
        elif not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise unwritable(path, error) from error
    return facts


def _read(marker: Path) -> dict[str, Any]:
    try:
        content = json.loads(marker.read_text(encoding="utf-8"))
        facts = content["facts"] if content["format"] == FORMAT else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _mark(path: Path, facts: dict[str, Any]) -> None:
    text = json.dumps({"format": FORMAT, "facts": facts}, sort_keys=True, separators=(",", ":"))
    data, marker = (text + "\n").encode(), path / MARKER
    if not (marker.is_file() and marker.read_bytes() == data):
        write_bytes(marker, data)


def script(name: str, value: object) -> str:
    """A script that sets one global; safe in and outside of HTML whatever the texts hold."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for c, code in (
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("&", "\\u0026"),
        ("\u2028", "\\u2028"),
        ("\u2029", "\\u2029"),
    ):
        text = text.replace(c, code)
    return f"window.{name} = {text};\n"
