"""The identity of weights: a hash of their content.

A file is hashed once. Its hash is remembered by path, size, times of change and inode in a small
file in medebench's cache folder, so that asking again costs nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from pydantic import TypeAdapter

from medebench.files import cache_folder, write_json
from medebench.weights.safetensors import read_header

#: Size, times of change and inode. The time of content can be set back, that of the inode cannot.
Mark: TypeAlias = tuple[int, int, int, int]
Entry: TypeAlias = tuple[Mark, str]

#: Below this many bytes weights are told from others by all of their content.
HASHED_WHOLE = 200 * 2**20
#: A file this young (seconds) may change again without its time telling.
_SETTLED = 2.0
_REMEMBERED = 2000
_lock = threading.Lock()
_known: dict[str, Entry] = {}


def identity_of(files: list[Path], base: Path) -> str:
    """A hash of the files' content, or of their names and headers where they are large."""
    whole = sum(one.stat().st_size for one in files) <= HASHED_WHOLE
    digest = hashlib.sha256()
    for one in files:
        digest.update(f"{one.relative_to(base)} {one.stat().st_size}\n".encode())
        if whole:
            digest.update(one.read_bytes())
        elif one.suffix == ".safetensors":
            digest.update(json.dumps(read_header(one)[1], sort_keys=True).encode())
    kind = "sha256" if whole else "sha256 of names and headers"
    return f"{kind} {digest.hexdigest()[:16]}"


def content_identity(path: Path) -> str:
    """A hash of all of a file, or of all files in a folder but notes and hidden ones."""
    if path.is_file():
        return f"sha256 {sha256_of(path)[:16]}"
    digest = hashlib.sha256()
    for one in files_in(path):
        if one.suffix.lower() != ".md" and not one.name.upper().startswith("LICENSE"):
            digest.update(f"{one.relative_to(path).as_posix()} {sha256_of(one)}\n".encode())
    return f"sha256 {digest.hexdigest()[:16]}"


def files_in(folder: Path) -> list[Path]:
    """All files in a folder and below, in order; hidden ones and their like are left out."""
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith((".", "__pycache__")))
        found += [Path(place, one) for one in files if not one.startswith(".")]
    return sorted(found)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, computed once as long as it does not change."""
    path = path.resolve()
    mark = _mark(path.stat())
    with _lock:
        if str(path) not in _known:
            _known.update(_read_memory())
        remembered = _known.get(str(path))
    if remembered is not None and remembered[0] == mark:
        return remembered[1]
    digest = hash_file(path)
    after = path.stat()
    settled = time.time() - after.st_mtime > _SETTLED
    if settled and _mark(after) == mark:
        _remember(path, (mark, digest))
    return digest


def _mark(facts: os.stat_result) -> Mark:
    return facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino


def hash_file(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(2**20):
            digest.update(piece)
    return digest.hexdigest()


def _memory() -> Path:
    return cache_folder() / "weight-hashes.json"


def _read_memory() -> dict[str, Entry]:
    """What is remembered; nothing where the file is not there or not ours."""
    try:
        return TypeAdapter(dict[str, Entry]).validate_json(_memory().read_bytes(), strict=True)
    except (OSError, ValueError):
        return {}


def _remember(path: Path, entry: Entry) -> None:
    with _lock:
        _known[str(path)] = entry
        kept = _read_memory() | {str(path): entry}
        # A cache folder that cannot be written to costs time, nothing else.
        with suppress(OSError):
            write_json(_memory(), dict(list(kept.items())[-_REMEMBERED:]))
