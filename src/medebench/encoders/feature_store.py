"""Features cached on disk, keyed by content and encoder.

`<cache>/features/<encoder>-<hash of its identity>.sqlite`, a row a picture, a text or a pair.
A row is the vector and a checksum. What cannot be read or does not check counts as not there, what
cannot be written is computed again next time, and a damaged file is begun anew.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np

from medebench.encoders.encoder import Features
from medebench.files import cache_folder, sha256
from medebench.images.picture import Picture

T = TypeVar("T")

_CHUNK = 500
#: Bytes of a checksum.
_CHECK = 4
#: Part of the file's name: files of another layout are not found.
_LAYOUT = "crc32"


def picture_key(picture: Picture, data_range: int) -> str:
    """Key of an image's content: pixels, size and range, independent of the file."""
    head = f"picture {picture.shape} {picture.dtype.str} {data_range}\n".encode()
    return sha256(head + np.ascontiguousarray(picture).tobytes())


def text_key(text: str) -> str:
    return sha256(f"text\n{text}".encode("utf-8", "surrogatepass"))


class FeatureStore:
    """The vectors of one encoder; safe for many threads and processes."""

    def __init__(self, name: str, identity: str, folder: Path | None = None) -> None:
        plain = re.sub(r"[^\w.-]+", "-", name)[:60]
        base = folder or cache_folder() / "features"
        self.path = base / f"{plain}-{sha256(f'{_LAYOUT} {identity}'.encode())[:16]}.sqlite"
        self._identity = identity
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._inode: int | None = None
        self._renewed = False
        self._broken = False

    def get(self, keys: Iterable[str]) -> dict[str, Features]:
        """The vectors that are there."""
        wanted = list(dict.fromkeys(keys))

        def look(db: sqlite3.Connection) -> dict[str, Features]:
            found: dict[str, Features] = {}
            for start in range(0, len(wanted), _CHUNK):
                part = wanted[start : start + _CHUNK]
                marks = ",".join("?" * len(part))
                # Damage may have made a text of it, which would be decoded.
                wish = f"SELECT key, CAST(vector AS BLOB) FROM features WHERE key IN ({marks})"
                rows = db.execute(wish, part)
                for key, data in rows:
                    if (vector := _unpack(key, data)) is not None:
                        found[key] = vector
            return found

        return self._use(look) or {}

    def put(self, vectors: Mapping[str, Features]) -> None:
        rows = [(key, _pack(key, one)) for key, one in vectors.items()]

        def write(db: sqlite3.Connection) -> None:
            with db:
                db.executemany("INSERT OR REPLACE INTO features VALUES (?, ?)", rows)

        self._use(write)

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def _use(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """What `work` gives; None where the file is of no use."""
        with self._lock:
            while not self._broken:
                try:
                    return work(self._open())
                except (sqlite3.Error, OSError) as error:
                    # A full disk or a read-only cache must not stop the scoring.
                    self._broken = not (_is_damage(error) and self._start_anew())
        return None

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, timeout=30, check_same_thread=False)
            self._inode = self._inode_now()
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            with self._db:
                self._db.execute(
                    "CREATE TABLE IF NOT EXISTS features (key TEXT PRIMARY KEY, vector BLOB)"
                )
                self._db.execute("CREATE TABLE IF NOT EXISTS encoder (identity TEXT PRIMARY KEY)")
                self._db.execute("INSERT OR IGNORE INTO encoder VALUES (?)", (self._identity,))
        return self._db

    def _start_anew(self) -> bool:
        """Remove the damaged file, once; whether it is gone."""
        if self._renewed:
            return False
        self._renewed = True
        # Another process may have been faster: its new file stays.
        ours = self._inode_now() == self._inode
        if self._db is not None:
            self._db.close()
            self._db = None
        try:
            # The database goes last, so that nobody begins a new one beside the rest of the old.
            for ending in ("-wal", "-shm", "") if ours else ():
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
        except OSError:
            return False
        return True

    def _inode_now(self) -> int | None:
        try:
            return self.path.stat().st_ino
        except OSError:
            return None


def _is_damage(error: Exception) -> bool:
    said = str(error)
    return isinstance(error, sqlite3.DatabaseError) and (
        "not a database" in said or "malformed" in said
    )


def _pack(key: str, vector: Features) -> bytes:
    data = np.asarray(vector, "<f4").tobytes()
    return data + _checksum(key, data)


def _unpack(key: str, packed: object) -> Features | None:
    """The vector, if it is whole, finite and this key's."""
    if not isinstance(packed, bytes) or len(packed) <= _CHECK or len(packed) % 4:
        return None
    data = packed[:-_CHECK]
    if packed[-_CHECK:] != _checksum(key, data):
        return None
    vector = np.frombuffer(data, "<f4")
    return vector if np.isfinite(vector).all() else None


def _checksum(key: str, data: bytes) -> bytes:
    return zlib.crc32(data, zlib.crc32(key.encode())).to_bytes(_CHECK, "little")
