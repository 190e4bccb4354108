"""A command line as the user gave it: its words, its scripts, what of it is not there."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from medebench.files import read_bytes, sha256

SCRIPTS = (".py", ".sh", ".jl", ".js", ".r", ".pl", ".rb", ".lua")
#: Larger files, and files that are not text, are weights and programs, not scripts.
_LARGEST_SCRIPT = 4_000_000


def words_of(command: str) -> list[str]:
    """As a shell would split it, without one: nothing is expanded. ValueError for open quotes."""
    words = shlex.split(command, posix=os.name == "posix")
    return words if os.name == "posix" else [word.strip('"') for word in words]


def problems_of(words: list[str], folder: Path) -> list[str]:
    """The program, or the script it is to run, that is not there."""
    program = words[0]
    if not folder.is_dir():
        return [f"{folder}: no such folder"]
    if _is_path(program):
        if not (folder / program).is_file():
            return [f"{program}: no such program; check the path"]
        if not os.access(folder / program, os.X_OK):
            return [f"{program}: may not be run; use chmod +x, or name its interpreter first"]
    elif shutil.which(program) is None:
        return [f"{program}: not found; install it, or give the whole path of the program"]
    script = _script(words)
    if script is not None and not (folder / script).is_file():
        return [f"{script}: no such file; check the path"]
    return []


def fingerprint(words: list[str], folder: Path) -> str:
    """Name and hash of every text file in the command, so that a changed script shows."""
    found = []
    for word in words:
        name = word.rpartition("=")[2] if word.startswith("-") else word
        path = folder / Path(name).expanduser()
        if (data := _text_file(path)) is not None:
            found.append(f"{path.name} {sha256(data)[:16]}")
    return ", ".join(found)


def _script(words: list[str]) -> str | None:
    for word in words[1:]:
        if word in ("-c", "-m"):
            return None
        if word.lower().endswith(SCRIPTS) and not word.startswith("-"):
            return word
    return None


def _is_path(word: str) -> bool:
    return os.sep in word or (os.altsep is not None and os.altsep in word)


def _text_file(path: Path) -> bytes | None:
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_SCRIPT:
            return None
        data = read_bytes(path, _LARGEST_SCRIPT)
    except (OSError, ValueError):
        return None
    return None if b"\0" in data[:8192] else data
