"""What predictors said, kept on disk by predictor and content of the picture.

`predictions.sqlite`, a row a prediction: a probability, or a mask as compressed bits, each with a
checksum. What does not check counts as not there; a damaged file is begun anew: all of it can be
computed again.
"""

from __future__ import annotations

import math
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from medebench.cases.image import Picture, data_range
from medebench.encoders.store import picture_key
from medebench.errors import MedebenchError
from medebench.files import sha256
from medebench.progress import Progress, silent
from medebench.stress.predictors.base import Predictor, PredictorError, Value
from medebench.stress.predictors.checking import ask

FILE = "predictions.sqlite"

_TABLE = """CREATE TABLE IF NOT EXISTS predictions (
    predictor TEXT NOT NULL, picture TEXT NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (predictor, picture)) WITHOUT ROWID"""
_NUMBER, _MASK = b"p", b"m"
_CHECK = 4


class Shown(NamedTuple):
    """A picture to predict; a plain pair of id and function does as well."""

    id: str
    #: Opened when its turn has come, and let go of afterwards.
    load: Callable[[], Picture]
    #: Significant bits of a 16-bit picture; None = all.
    bits: int | None = None


class PredictionStore:
    """One file for all predictors of a stress test; without a path, in memory. One thread."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._db = self._open()

    def get(self, predictor: str, picture: str) -> Value | None:
        wish = "SELECT CAST(value AS BLOB) FROM predictions WHERE predictor = ? AND picture = ?"
        try:
            row = self._db.execute(wish, (predictor, picture)).fetchone()
        except sqlite3.DatabaseError as error:
            self._renew(error)
            return None
        return None if row is None else unpack(row[0], picture)

    def put(self, predictor: str, values: Mapping[str, Value]) -> None:
        """Written at once: a killed process loses no batch but the one at work."""
        rows = [(predictor, picture, pack(value, picture)) for picture, value in values.items()]
        try:
            self._write(rows)
        except sqlite3.DatabaseError as error:
            self._renew(error)
            self._write(rows)

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> PredictionStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, rows: list[tuple[str, str, bytes]]) -> None:
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO predictions VALUES (?, ?, ?)", rows)

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except (sqlite3.Error, OSError) as error:
            self._remove_damaged(error)
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(self.path or ":memory:", timeout=30)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            with db:
                db.execute(_TABLE)
        except BaseException:
            db.close()
            raise
        return db

    def _renew(self, error: Exception) -> None:
        self._db.close()
        self._remove_damaged(error)
        self._db = self._connect()

    def _remove_damaged(self, error: Exception) -> None:
        said = str(error)
        damaged = "not a database" in said or "malformed" in said
        if self.path is None or not damaged:
            raise MedebenchError(f"{self.path}: cannot be used ({said}); see to it") from error
        for ending in ("-wal", "-shm", ""):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)


class Predictions(Mapping[str, Value]):
    """By id, what a predictor said of each picture; read from the store when it is asked for."""

    def __init__(self, store: PredictionStore, predictor: str, keys: Mapping[str, str]) -> None:
        self._store, self._predictor, self._keys = store, predictor, keys

    def __getitem__(self, picture_id: str) -> Value:
        value = self._store.get(self._predictor, self._keys[picture_id])
        if value is None:
            raise MedebenchError(
                f"{self._store.path}: the prediction for {picture_id} is gone; run again"
            )
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


def predict_all(
    predictor: Predictor,
    pictures: Iterable[Shown | tuple[str, Callable[[], Picture]]],
    store: PredictionStore,
    progress: Progress = silent,
    total: int = 0,
) -> Predictions:
    """A prediction for every picture; those in the store are not computed again.

    A batch of pictures is in memory at a time, and masks stay on disk. PredictorError for the first
    picture that cannot be predicted; what was predicted before it is kept.
    """
    name = _predictor_key(predictor)
    keys: dict[str, str] = {}
    waiting: dict[str, tuple[str, Picture, int | None]] = {}

    def work() -> None:
        ids, opened, bits = zip(*waiting.values(), strict=True)
        answers = ask(predictor, ids, opened, bits)
        store.put(name, dict(zip(waiting, answers, strict=True)))
        waiting.clear()

    for number, one in enumerate(pictures, start=1):
        shown = Shown(*one)
        if shown.id in keys:
            raise PredictorError(f"predictor {predictor.name}: two pictures are called {shown.id}")
        picture = shown.load()
        key = picture_key(picture, data_range(picture, shown.bits))
        keys[shown.id] = key
        if key not in waiting and store.get(name, key) is None:
            waiting[key] = (shown.id, picture, shown.bits)
        if len(waiting) >= max(predictor.batch, 1):
            work()
        progress(number, total)
    if waiting:
        work()
    return Predictions(store, name, keys)


def pack(value: Value, picture: str) -> bytes:
    """A probability to the last bit; a mask as bits."""
    if isinstance(value, float):
        data = _NUMBER + struct.pack("<d", value)
    else:
        height, width = value.shape
        bits = zlib.compress(np.packbits(value).tobytes(), 6)
        data = _MASK + struct.pack("<II", height, width) + bits
    return data + _checksum(picture, data)


def unpack(packed: object, picture: str) -> Value | None:
    """The prediction, if it is whole and this picture's."""
    if not isinstance(packed, bytes) or len(packed) < 1 + 8 + _CHECK:
        return None
    data, check = packed[:-_CHECK], packed[-_CHECK:]
    if check != _checksum(picture, data):
        return None
    if data[:1] == _NUMBER:
        (number,) = struct.unpack("<d", data[1:])
        return float(number) if math.isfinite(number) else None
    height, width = struct.unpack("<II", data[1:9])
    bits = np.frombuffer(zlib.decompress(data[9:]), np.uint8)
    mask: NDArray[np.bool_] = np.unpackbits(bits, count=height * width).astype(np.bool_)
    return mask.reshape(height, width)


def _predictor_key(predictor: Predictor) -> str:
    # A mask depends on its threshold; a probability does not.
    kept = f"{predictor.threshold}" if predictor.task == "segmentation" else ""
    return sha256(f"{predictor.task} {kept}\n{predictor.identity}".encode())[:32]


def _checksum(picture: str, data: bytes) -> bytes:
    return zlib.crc32(data, zlib.crc32(picture.encode())).to_bytes(_CHECK, "little")
