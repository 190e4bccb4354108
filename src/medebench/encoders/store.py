"""Features that were computed once, kept on disk by content and encoder.

`<cache>/features/<encoder>-<hash of its identity>.sqlite`, a row a picture, a text or a pair.
What cannot be read counts as not there; what cannot be written is computed again next time.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from medebench.cases.image import Picture
from medebench.encoders.base import Features
from medebench.files import cache_folder, sha256

_CHUNK = 500


def picture_key(picture: Picture, data_range: int) -> str:
    """The content of a picture: its pixels, size and range, whatever file they came from."""
    head = f"picture {picture.shape} {picture.dtype.str} {data_range}\n".encode()
    return sha256(head + np.ascontiguousarray(picture).tobytes())


def text_key(text: str) -> str:
    return sha256(f"text\n{text}".encode("utf-8", "surrogatepass"))


class FeatureStore:
    """The vectors of one encoder; safe for many threads and processes."""

    def __init__(self, name: str, identity: str, folder: Path | None = None) -> None:
        plain = re.sub(r"[^\w.-]+", "-", name)[:60]
        base = folder or cache_folder() / "features"
        self.path = base / f"{plain}-{sha256(identity.encode())[:16]}.sqlite"
        self._identity = identity
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._broken = False

    def get(self, keys: Iterable[str]) -> dict[str, Features]:
        """The vectors that are there."""
        wanted = list(dict.fromkeys(keys))
        found: dict[str, Features] = {}
        with self._lock:
            try:
                db = self._open()
                for start in range(0, len(wanted) if db else 0, _CHUNK):
                    part = wanted[start : start + _CHUNK]
                    marks = ",".join("?" * len(part))
                    assert db is not None
                    rows = db.execute(
                        f"SELECT key, vector FROM features WHERE key IN ({marks})", part
                    )
                    found |= {
                        key: np.frombuffer(data, "<f4")
                        for key, data in rows
                        if isinstance(data, bytes) and data and len(data) % 4 == 0
                    }
            except sqlite3.Error:
                self._broken = True
        return found

    def put(self, vectors: Mapping[str, Features]) -> None:
        rows = [(key, np.asarray(one, "<f4").tobytes()) for key, one in vectors.items()]
        with self._lock:
            try:
                if db := self._open():
                    with db:
                        db.executemany("INSERT OR REPLACE INTO features VALUES (?, ?)", rows)
            except sqlite3.Error:
                # A full disk or a read-only cache must not stop the scoring.
                self._broken = True

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def _open(self) -> sqlite3.Connection | None:
        if self._broken:
            return None
        if self._db is None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError:
                self._broken = True
                return None
            self._db = sqlite3.connect(self.path, timeout=30, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            with self._db:
                self._db.execute(
                    "CREATE TABLE IF NOT EXISTS features (key TEXT PRIMARY KEY, vector BLOB)"
                )
                self._db.execute("CREATE TABLE IF NOT EXISTS encoder (identity TEXT PRIMARY KEY)")
                self._db.execute("INSERT OR IGNORE INTO encoder VALUES (?)", (self._identity,))
        return self._db
