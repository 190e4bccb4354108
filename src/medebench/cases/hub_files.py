"""Files as the hub states them, its answers, and whether there is room for what is to come."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medebench.errors import MedebenchError
from medebench.files import sha256


@dataclass(frozen=True)
class StatedFile:
    """What the hub states: large files have a SHA-256, for the others git's own hash counts."""

    name: str
    size: int
    sha256: str
    blob: str

    @classmethod
    def stated(cls, entry: Any) -> StatedFile:
        large = entry.get("lfs") or {}
        name, size, blob = entry["rfilename"], entry.get("size") or 0, entry.get("blobId") or ""
        return cls(str(name), int(size), str(large.get("sha256", "")), str(blob))

    def fits(self, data: bytes) -> bool:
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False)
        same = sha256(data) == self.sha256 if self.sha256 else blob.hexdigest() == self.blob
        return same and len(data) == self.size

    def fits_file(self, path: Path) -> bool:
        """The same of a file, which need not fit into memory."""
        if path.stat().st_size != self.size or not self.sha256:
            return path.stat().st_size == self.size and self.fits(path.read_bytes())
        summary = hashlib.sha256()
        with path.open("rb") as stream:
            while piece := stream.read(1 << 20):
                summary.update(piece)
        return summary.hexdigest() == self.sha256

    def begun(self, path: Path) -> Path:
        """Where a large file gathers, under a name that another content does not have."""
        return path.with_name(f".{path.name}.{(self.sha256 or self.blob)[:16]}.part")


def check_space(files: Sequence[StatedFile], staging: Path) -> None:
    """Whether what is still to come fits on the disk."""
    there = (staging / file.name for file in files)
    held = sum(path.stat().st_size for path in there if path.is_file())
    needed = sum(file.size for file in files) - held
    folder = next(path for path in (staging, *staging.parents) if path.is_dir())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise MedebenchError(
            f"{folder}: {human_size(needed)} are needed and {human_size(free)} are free; "
            "free some space or choose another folder, then run again"
        )


def human_size(size: int) -> str:
    """4.5 GB, 12 MB, 3 kB."""
    for unit, of in (("GB", 1e9), ("MB", 1e6)):
        if size >= of:
            return f"{size / of:.1f} {unit}"
    return f"{-(-size // 1000)} kB"


def held_bytes(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


@dataclass(frozen=True)
class HubAnswer:
    status_code: int
    headers: Mapping[str, str]
    content: bytes


def asked_wait(answer: Any) -> int:
    """Seconds from `Retry-After: 55` or the hub's own `RateLimit: "resolvers";r=0;t=55`."""
    given = re.fullmatch(r"\d{1,9}", answer.headers.get("Retry-After", ""))
    if given is None and answer.status_code == 429:  # the other header comes with every answer
        given = re.search(r"(?<=;t=)\d{1,9}", answer.headers.get("RateLimit", ""))
    return int(given[0]) if given else 0
