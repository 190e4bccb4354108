"""Predictions, kept on disk by predictor and picture content.

`predictions.sqlite`, a row a prediction: a probability, or a mask as compressed bits, each with a
checksum. A row whose checksum fails counts as missing, and a damaged file is started afresh:
everything in it can be recomputed.
"""

from __future__ import annotations

import math
import sqlite3
import struct
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from medebench.encoders.feature_store import picture_key
from medebench.errors import ImageError, MedebenchError, one_line
from medebench.files import disk_trouble, sha256
from medebench.images.picture import Picture, data_range
from medebench.progress import Progress, silent
from medebench.stresstest.predictors.checked_answers import ask
from medebench.stresstest.predictors.predictor import Predictor, PredictorError, Value

FILE = "predictions.sqlite"

_TABLE = """CREATE TABLE IF NOT EXISTS predictions (
    predictor TEXT NOT NULL, picture TEXT NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (predictor, picture)) WITHOUT ROWID"""
_NUMBER, _MASK = b"p", b"m"
_CHECK = 4
#: The same weights may say a little more or less in another batch.
_ROUNDING = 1e-6


class PredictorInput(NamedTuple):
    """A picture to predict; a plain pair of id and function does as well."""

    id: str
    #: Opened when its turn has come, and let go of afterwards.
    load: Callable[[], Picture]
    #: Significant bits of a 16-bit picture; None = all.
    bits: int | None = None


@dataclass
class AnswerSources:
    """Where the answers of one predictor come from while the store is open."""

    #: Predicted in this process, by content.
    fresh: set[str] = field(default_factory=set)
    #: Taken from the store because another stored answer proved unchanged.
    believed: dict[str, PredictorInput] = field(default_factory=dict)


class PredictionStore:
    """One file for all predictors of a stress test; without a path, in memory. One thread."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._db = self._open()
        #: Of predictors whose stored answers must be tried: what they were seen to say.
        self.known: WeakKeyDictionary[Predictor, AnswerSources] = WeakKeyDictionary()

    def get(self, predictor: str, picture: str) -> Value | None:
        wish = "SELECT CAST(value AS BLOB) FROM predictions WHERE predictor = ? AND picture = ?"
        try:
            row = self._db.execute(wish, (predictor, picture)).fetchone()
        except sqlite3.DatabaseError as error:
            self._renew(error)
            return None
        return None if row is None else unpack(row[0], picture)

    def put(self, predictor: str, values: Mapping[str, Value]) -> None:
        """Written at once: a killed process loses only the batch in progress."""
        rows = [(predictor, picture, pack(value, picture)) for picture, value in values.items()]
        try:
            self._write(rows)
        except sqlite3.DatabaseError as error:
            self._renew(error)
            self._write(rows)

    def keep_only(self, predictor: str, pictures: Collection[str]) -> None:
        """Delete all other answers of this predictor."""
        wish = "SELECT picture FROM predictions WHERE predictor = ?"
        try:
            there = [one for (one,) in self._db.execute(wish, (predictor,))]
            gone = [(predictor, one) for one in there if one not in pictures]
            remove = "DELETE FROM predictions WHERE predictor = ? AND picture = ?"
            with self._db:
                self._db.executemany(remove, gone)
        except sqlite3.DatabaseError as error:
            self._renew(error)

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
        if self.path and (trouble := disk_trouble(error, self.path.parent)):
            raise MedebenchError(f"{self.path.parent}: {trouble}") from error
        if self.path is None or not damaged:
            raise MedebenchError(
                f"{self.path}: cannot be used ({said}); check the file and its permissions"
            ) from error
        for ending in ("-wal", "-shm", ""):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)


class Predictions(Mapping[str, Value]):
    """A predictor's answer for each picture, by id; read from the store on demand."""

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
    pictures: Iterable[PredictorInput | tuple[str, Callable[[], Picture]]],
    store: PredictionStore,
    progress: Progress = silent,
    total: int = 0,
) -> Predictions:
    """A prediction for every picture; those in the store are not computed again.

    Where the predictor's identity does not tell all, the first stored answer is compared with a
    fresh one, and if they differ nothing that it once said is used. A batch of pictures is in
    memory at a time, and masks stay on disk. PredictorError for the first picture that cannot be
    predicted; what was predicted before it is kept.
    """
    asking = _AnswerBatch(predictor, store)
    keys: dict[str, str] = {}
    for number, one in enumerate(pictures, start=1):
        shown = PredictorInput(*one)
        if shown.id in keys:
            raise PredictorError(f"predictor {predictor.name}: two pictures are called {shown.id}")
        keys[shown.id] = asking.take(shown)
        progress(number, total)
    asking.work()
    return Predictions(store, asking.name, keys)


class _AnswerBatch:
    """Collects pictures into batches, skipping those whose answer is stored."""

    def __init__(self, predictor: Predictor, store: PredictionStore) -> None:
        self.predictor, self.store = predictor, store
        self.name = _predictor_key(predictor)
        self._waiting: dict[str, tuple[str, Picture, int | None]] = {}
        self._known = store.known.setdefault(predictor, AnswerSources())
        self._tried = predictor.trusted

    def take(self, shown: PredictorInput) -> str:
        """The key under which the answer is stored once all work is done."""
        picture = _opened(shown)
        key = picture_key(picture, data_range(picture, shown.bits))
        if key in self._waiting:
            return key
        stored = self.store.get(self.name, key)
        if stored is None or not self._believes(stored, key, shown, picture):
            self._waiting[key] = (shown.id, picture, shown.bits)
        if len(self._waiting) >= max(self.predictor.batch, 1):
            self.work()
        return key

    def work(self) -> None:
        if not self._waiting:
            return
        ids, opened, bits = zip(*self._waiting.values(), strict=True)
        answers = ask(self.predictor, ids, opened, bits)
        self.store.put(self.name, dict(zip(self._waiting, answers, strict=True)))
        self._known.fresh.update(self._waiting)
        self._waiting.clear()

    def _believes(self, stored: Value, key: str, shown: PredictorInput, picture: Picture) -> bool:
        known = self._known
        if self.predictor.trusted or key in known.fresh or key in known.believed:
            return True
        if not self._tried:
            self._tried = True
            (fresh,) = ask(self.predictor, [shown.id], [picture], [shown.bits])
            if not _same(stored, fresh):
                self._begin_anew()
                return False
        known.believed[key] = shown
        return True

    def _begin_anew(self) -> None:
        """Deleted at once, or an interrupted run would mix old answers with new ones."""
        self.store.keep_only(self.name, self._known.fresh)
        before, self._known.believed = self._known.believed, {}
        for shown in before.values():  # of earlier calls, whose views look into the store
            self.take(shown)


def _opened(shown: PredictorInput) -> Picture:
    try:
        return shown.load()
    except MedebenchError as error:
        raise type(error)(f"picture {shown.id}: {error}") from error
    except Exception as error:
        why = one_line(str(error)) or type(error).__name__
        raise ImageError(f"picture {shown.id}: {why}") from error


def _same(stored: Value, fresh: Value) -> bool:
    if isinstance(stored, float) and isinstance(fresh, float):
        return abs(stored - fresh) <= _ROUNDING
    return np.array_equal(stored, fresh)


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
