"""The folder of a page: made only where nothing of the user's can be lost, and kept tidy."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from medebench.errors import InputError
from medebench.files import TEMPORARY, unwritable, write_bytes

MARKER = ".medebench-report.json"
FORMAT = 1
#: Folders that belong to the report alone: whatever lies there and is not of this report goes.
OWN_FOLDERS = ("assets", "figures")


#: What a report that did not yet remember its files may have left beside its own folders.
_EARLIER = ("findings.csv", "attention.csv", "learned.csv", "sets.csv", "thresholds.csv")


class Folder:
    """A page being written; `close` removes what an earlier one left behind.

    `marker` names the file by which a folder of this kind is known, `own` the folders in it that
    belong to the page alone; beside them, what somebody else put there stays.
    """

    def __init__(
        self,
        path: Path,
        *,
        marker: str = MARKER,
        own: Sequence[str] = OWN_FOLDERS,
        holds: str = "not a report",
    ) -> None:
        self.path = path
        self._own = own
        self._marker = path / marker
        self._kept: set[str] = set()
        self.facts, self._earlier = self._open(holds)

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

    def write_all(self, files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            self.write(name, content)

    def expect(self, names: Iterable[str]) -> None:
        """Names that are about to be written: whoever is stopped half way is not left with them."""
        self._mark(self.facts, {*self._earlier, *names})

    def close(self, facts: dict[str, Any]) -> None:
        for name in self._earlier - self._kept:
            (self.path / name).unlink(missing_ok=True)
        for own in self._own:
            for path in sorted((self.path / own).rglob("*"), reverse=True):
                if path.is_dir() and not path.is_symlink():
                    if not any(path.iterdir()):
                        path.rmdir()
                elif path.relative_to(self.path).as_posix() not in self._kept:
                    path.unlink()
        self._mark(facts, self._beside())

    def remember(self, facts: dict[str, Any]) -> None:
        """For the next report in this folder, which gets them as `facts`."""
        self._mark(facts, self._earlier | self._beside())

    def _beside(self) -> set[str]:
        return {name for name in self._kept if name.split("/")[0] not in self._own}

    def _open(self, holds: str) -> tuple[dict[str, Any], set[str]]:
        """What the earlier page remembered, and its files; refuses a folder of another kind."""
        path = self.path
        if path.exists() and not path.is_dir():
            raise InputError(f"{path}: is a file; choose another --out")
        facts: dict[str, Any] = {}
        names: set[str] = set()
        if self._marker.is_file():
            facts, names = _read(self._marker)
        elif path.is_dir() and any(not p.name.startswith(TEMPORARY) for p in path.iterdir()):
            raise InputError(f"{path}: is not empty and {holds}; choose another --out")
        for own in OWN_FOLDERS:
            # What lies behind a link is not ours to tidy up.
            if (path / own).is_symlink():
                raise InputError(f"{path / own}: is a link; remove it or choose another --out")
        try:
            path.mkdir(parents=True, exist_ok=True)
            if not self._marker.is_file() or not facts:
                # First of all: a page that is stopped half way must be taken up again, not refused.
                self._mark(facts, names)
            elif not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            raise unwritable(path, error) from error
        return facts, names

    def _mark(self, facts: dict[str, Any], names: Iterable[str]) -> None:
        content = {"format": FORMAT, "facts": facts, "files": sorted(names)}
        data = (json.dumps(content, sort_keys=True, separators=(",", ":")) + "\n").encode()
        if not (self._marker.is_file() and self._marker.read_bytes() == data):
            write_bytes(self._marker, data)


def _read(marker: Path) -> tuple[dict[str, Any], set[str]]:
    earlier = set(_EARLIER) if marker.name == MARKER else set()
    try:
        content = json.loads(marker.read_text(encoding="utf-8"))
        facts = content.get("facts", {}) if content.get("format", FORMAT) == FORMAT else {}
        names = content.get("files", earlier)
    except (OSError, ValueError, AttributeError):
        return {}, earlier
    ours = {name for name in names if isinstance(name, str) and _is_ours(name, marker.name)}
    return (facts if isinstance(facts, dict) else {}), ours


def _is_ours(name: str, marker: str) -> bool:
    """A damaged or foreign marker must not make us remove what lies elsewhere."""
    path = Path(name)
    inside = path.parent in (Path(), Path("figures"))
    return inside and not path.is_absolute() and path.name not in ("", "..", marker)


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
