"""A folder that is a system: `system.json` says which one it is, with which settings.

So a trained adapter, or anything else that belongs to a system, is named by where it lies:
`--system FOLDER[:key=value,...]`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medebench.errors import InputError
from medebench.files import write_json

FILE = "system.json"
VERSION = 1
#: They run programs that their settings name; what was downloaded must not.
_REFUSED = ("command", "http", "seed-x")


@dataclass(frozen=True)
class SystemFolder:
    """What `system.json` says."""

    path: Path
    #: A system by its name, never another folder.
    system: str
    settings: Mapping[str, Any]
    #: Settings that are files or folders within this one.
    files: tuple[str, ...] = ()

    def given(self) -> dict[str, Any]:
        """The settings, with paths that can be opened from anywhere."""
        inside = {name: str(self.path / str(self.settings[name])) for name in self.files}
        return {**self.settings, **inside}


def write_system(
    folder: Path, system: str, settings: Mapping[str, Any], files: tuple[str, ...]
) -> None:
    """Make a folder a system; `files` are the settings that are paths within it."""
    told = {"version": VERSION, "system": system, "settings": dict(settings), "files": list(files)}
    write_json(folder / FILE, told)


def system_folder(name: str) -> SystemFolder | None:
    """The folder of this name if it is a system; InputError where its `system.json` is wrong."""
    try:
        path = Path(name).expanduser().absolute()
        if not (path / FILE).is_file():
            return None
    except (OSError, ValueError, RuntimeError):
        return None
    return _read(path)


def _read(path: Path) -> SystemFolder:
    where = path / FILE
    try:
        told = json.loads(where.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{where}: cannot be read ({error}); write the folder again") from error
    if not isinstance(told, dict) or told.get("version") != VERSION:
        raise InputError(f"{where}: of another version; use the medebench that wrote it")
    system, settings, files = (told.get(key) for key in ("system", "settings", "files"))
    if not (isinstance(system, str) and isinstance(settings, dict) and isinstance(files, list)):
        raise InputError(f"{where}: needs system, settings and files; write the folder again")
    if lacking := [name for name in files if name not in settings]:
        raise InputError(f"{where}: files: {lacking[0]}: is no setting; write the folder again")
    if ".py:" in system or system in _REFUSED:
        raise InputError(f"{where}: system: '{system}' runs other programs; name it yourself")
    for name in files:
        if not _inside(path, settings[name]):
            raise InputError(f"{where}: settings: {name}: leads out of the folder")
    return SystemFolder(path, system, settings, tuple(files))


def _inside(folder: Path, value: object) -> bool:
    if not isinstance(value, str) or Path(value).is_absolute():
        return False
    return (folder / value).resolve().is_relative_to(folder.resolve())
