"""What a folder was made from, so that the same call finds it complete and does nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from medebench.errors import InputError
from medebench.files import read_bytes, write_json

STAMP = ".medebench-made.json"


def write_stamp(folder: Path, made_from: Mapping[str, Any], result: Any = None) -> None:
    """Last of all, into a folder that has become whole: `result` is what to tell next time."""
    facts = {"made_from": made_from, "files": _files(folder), "result": result}
    write_json(folder / STAMP, facts)


def read_stamp(folder: Path, made_from: Mapping[str, Any]) -> dict[str, Any] | None:
    """The stamp of a folder that the same call has made and of which nothing is missing.

    None where there is no folder, or an empty one; what somebody else or another call has made is
    refused.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; choose another --out")
    if not folder.exists() or not any(folder.iterdir()):
        return None
    stamp = _read(folder / STAMP)
    if stamp is None:
        raise InputError(f"{folder}: is not empty; choose another --out")
    known = stamp["made_from"]
    # As it comes back from JSON.
    wanted = json.loads(json.dumps(made_from))
    if differs := sorted(name for name in {*known, *wanted} if known.get(name) != wanted.get(name)):
        raise InputError(
            f"{folder}: was made by another call ({', '.join(differs)} differ); "
            "choose another --out or remove it"
        )
    there = _files(folder)
    if gone := sorted(name for name, size in stamp["files"].items() if there.get(name) != size):
        raise InputError(
            f"{folder / gone[0]}: is missing or was changed ({len(gone)} files in all); "
            "remove the folder to make it anew"
        )
    return stamp


def _files(folder: Path) -> dict[str, int]:
    return {
        path.relative_to(folder).as_posix(): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != STAMP
    }


def _read(path: Path) -> dict[str, Any] | None:
    try:
        stamp = json.loads(read_bytes(path))
    except (OSError, ValueError, RecursionError):
        return None
    shaped = isinstance(stamp, dict) and all(
        isinstance(stamp.get(name), dict) for name in ("made_from", "files")
    )
    return stamp if shaped else None
