"""The ledger: the only truth about what is done.

Each row is committed before the next is asked for. With SQLite's write-ahead log a killed process
loses no committed row and leaves no damaged file.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from medebench.aliases import current_name, old_names
from medebench.errors import InputError, MedebenchError
from medebench.files import sha256

SCHEMA_VERSION = 1
STALE = "the output changed after it was scored; score again"
STALE_SET = "the outputs changed after they were scored; score again"
_SCHEMA = """
CREATE TABLE cases (
    case_id TEXT PRIMARY KEY,
    organ TEXT NOT NULL,
    task TEXT NOT NULL,
    digest TEXT NOT NULL,   -- of texts and files: tells a changed case
    source TEXT NOT NULL    -- of the input's pixels: tells cases that are not independent
) WITHOUT ROWID;
CREATE TABLE outputs (
    case_id TEXT NOT NULL,
    k INTEGER NOT NULL,
    sha256 TEXT,            -- of the file; NULL where there is a reason
    reason TEXT,
    seed INTEGER,
    detail TEXT,
    seconds REAL NOT NULL,
    PRIMARY KEY (case_id, k),
    CHECK ((sha256 IS NULL) <> (reason IS NULL))
) WITHOUT ROWID;
CREATE TABLE scores (
    case_id TEXT NOT NULL,
    k INTEGER NOT NULL,
    metric TEXT NOT NULL,
    output TEXT,            -- sha256 of the picture that was scored
    value REAL,
    reason TEXT,
    detail TEXT,
    seconds REAL NOT NULL,
    cost REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (case_id, k, metric),
    CHECK ((value IS NULL) <> (reason IS NULL))
) WITHOUT ROWID;
"""

#: Not part of the first ledgers: made where it is first written.
_SETS = """
CREATE TABLE IF NOT EXISTS sets (
    metric TEXT NOT NULL,
    part TEXT NOT NULL,     -- an organ, or '' for the whole run
    outputs TEXT NOT NULL,  -- digest of the outputs it was computed from
    variant TEXT NOT NULL,
    value REAL,
    reason TEXT,
    low REAL,
    high REAL,
    n INTEGER NOT NULL,
    n_references INTEGER NOT NULL,
    detail TEXT,
    seconds REAL NOT NULL,
    PRIMARY KEY (metric, part),
    CHECK ((value IS NULL) <> (reason IS NULL))
) WITHOUT ROWID;
"""
#: The part of a `SetRow` that is about all of the run.
WHOLE = ""


@dataclass(frozen=True)
class CaseRow:
    case_id: str
    organ: str
    task: str
    digest: str
    source: str


@dataclass(frozen=True)
class OutputRow:
    case_id: str
    k: int
    sha256: str | None
    reason: str | None = None
    seed: int | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class ScoreRow:
    case_id: str
    k: int
    metric: str
    output: str | None
    value: float | None
    reason: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    cost: float = 0.0


@dataclass(frozen=True)
class SetRow:
    """A score of a set of outputs: all of a run, or those of an organ."""

    metric: str
    part: str
    outputs: str
    variant: str
    value: float | None
    reason: str | None
    interval: tuple[float, float] | None
    n: int
    n_references: int
    detail: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


class Ledger:
    """One SQLite file; used by one thread."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        if not create and not path.is_file():
            raise InputError(f"{path}: no such ledger")
        try:
            self._db = _connect(path)
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version == 0 and create:
                self._db.executescript(
                    f"BEGIN; {_SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
                )
            elif version != SCHEMA_VERSION:
                raise InputError(
                    f"{path}: ledger of version {version}, this medebench reads {SCHEMA_VERSION}"
                )
        except sqlite3.Error as error:
            raise InputError(f"{path}: not a usable ledger ({error})") from error

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with _clear_errors(self.path):
            self._db.execute("BEGIN")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def write(self, *rows: CaseRow | OutputRow | ScoreRow) -> None:
        """Add or replace rows, all or none."""
        with self.transaction():
            for row in rows:
                if isinstance(row, CaseRow):
                    values: tuple[Any, ...] = (
                        row.case_id,
                        row.organ,
                        row.task,
                        row.digest,
                        row.source,
                    )
                    self._db.execute("INSERT OR REPLACE INTO cases VALUES (?,?,?,?,?)", values)
                elif isinstance(row, OutputRow):
                    values = (row.case_id, row.k, row.sha256, row.reason, row.seed)
                    values += (_dump(row.detail), row.seconds)
                    self._db.execute(
                        "INSERT OR REPLACE INTO outputs VALUES (?,?,?,?,?,?,?)", values
                    )
                else:
                    for old in old_names(row.metric):
                        self._db.execute(
                            "DELETE FROM scores WHERE case_id = ? AND k = ? AND metric = ?",
                            (row.case_id, row.k, old),
                        )
                    values = (row.case_id, row.k, row.metric, row.output, row.value, row.reason)
                    values += (_dump(row.detail), row.seconds, row.cost)
                    self._db.execute(
                        "INSERT OR REPLACE INTO scores VALUES (?,?,?,?,?,?,?,?,?)", values
                    )

    def cases(self) -> dict[str, CaseRow]:
        return {row[0]: CaseRow(*row) for row in self._rows("SELECT * FROM cases")}

    def outputs(self) -> dict[tuple[str, int], OutputRow]:
        rows = self._rows("SELECT * FROM outputs ORDER BY case_id, k")
        return {
            (r[0], r[1]): OutputRow(r[0], r[1], r[2], r[3], r[4], _load(r[5]), r[6]) for r in rows
        }

    def scores(self) -> Iterator[ScoreRow]:
        for r in self._rows("SELECT * FROM scores ORDER BY case_id, k, metric"):
            yield ScoreRow(
                r[0], r[1], current_name(r[2]), r[3], r[4], r[5], _load(r[6]), r[7], r[8]
            )

    def scored(self) -> Iterable[tuple[str, int, str, str | None, str | None, str | None]]:
        """(case, k, metric, hash of the scored output, reason, variant) of every score."""
        variant = "json_extract(detail, '$.variant')"
        rows = self._rows(f"SELECT case_id, k, metric, output, reason, {variant} FROM scores")
        return ((r[0], r[1], current_name(r[2]), *r[3:]) for r in rows)

    def write_sets(self, metric: str, rows: Iterable[SetRow]) -> None:
        """All scores of sets by this metric, in place of the earlier ones."""
        with self.transaction():
            self._db.execute(_SETS)
            self._db.execute("DELETE FROM sets WHERE metric = ?", (metric,))
            for row in rows:
                values: tuple[Any, ...] = (row.metric, row.part, row.outputs, row.variant)
                values += (row.value, row.reason)
                values += (*(row.interval or (None, None)), row.n, row.n_references)
                values += (_dump(row.detail), row.seconds)
                marks = ",".join("?" * len(values))
                self._db.execute(f"INSERT INTO sets VALUES ({marks})", values)

    def current_sets(self) -> list[SetRow]:
        """The scores of sets; one of other outputs than those of now is a reason."""
        now = self.outputs_digest()
        return [
            row
            if row.outputs == now
            else replace(row, value=None, reason=STALE_SET, interval=None, detail={})
            for row in self.sets()
        ]

    def sets(self) -> list[SetRow]:
        """The scores of sets, also those of outputs that have changed since."""
        there = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'sets'"
        if not list(self._rows(there)):
            return []
        return [
            SetRow(
                metric=r[0],
                part=r[1],
                outputs=r[2],
                variant=r[3],
                value=r[4],
                reason=r[5],
                interval=None if r[6] is None else (r[6], r[7]),
                n=r[8],
                n_references=r[9],
                detail=_load(r[10]),
                seconds=r[11],
            )
            for r in self._rows("SELECT * FROM sets ORDER BY metric, part")
        ]

    def outputs_digest(self) -> str:
        """Changes with every output and case: what a score of the set was computed from."""
        query = """
            SELECT o.case_id, o.k, o.sha256, c.digest FROM outputs o JOIN cases c USING (case_id)
            WHERE o.sha256 IS NOT NULL ORDER BY o.case_id, o.k"""
        rows = "\n".join("\x1f".join(map(str, row)) for row in self._rows(query))
        return sha256(rows.encode())[:32]

    def cost(self) -> float:
        """US dollars that judging took."""
        return float(next(iter(self._rows("SELECT COALESCE(SUM(cost), 0) FROM scores")))[0])

    def editing_cost(self) -> float:
        """US dollars that the outputs took, as far as prices are known."""
        query = "SELECT COALESCE(SUM(json_extract(detail, '$.cost')), 0) FROM outputs"
        return float(next(iter(self._rows(query)))[0])

    def long_rows(self) -> list[tuple[Any, ...]]:
        """One row a score, with what groups it: organ, task, case, k, source, and its type.

        A score of a picture that is no longer the output is no score of the output.
        """
        query = f"""
            SELECT c.organ, c.task, s.case_id, s.k, s.metric,
                CASE WHEN s.output IS o.sha256 THEN s.value END,
                CASE WHEN s.output IS o.sha256 OR s.output IS NULL THEN s.reason
                     ELSE '{STALE}' END,
                c.source,
                CASE WHEN s.output IS o.sha256 THEN json_extract(s.detail, '$.type') END
            FROM scores s JOIN cases c USING (case_id) LEFT JOIN outputs o USING (case_id, k)
            ORDER BY s.case_id, s.k, s.metric"""
        return [(*r[:4], current_name(r[4]), *r[5:]) for r in self._rows(query)]

    def _rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        with _clear_errors(self.path):
            yield from self._db.execute(query)


def _connect(path: Path) -> sqlite3.Connection:
    if os.access(path.parent, os.W_OK):
        db = sqlite3.connect(path, timeout=30, isolation_level=None)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            return db
        except sqlite3.OperationalError as error:
            db.close()
            if "readonly" not in str(error) and "unable to open" not in str(error):
                raise
    # On a medium that cannot be written nobody else writes either: no lock files are needed.
    return sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None)


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        if "full" in str(error):
            raise MedebenchError(f"{path}: the disk is full; free some space, run again") from error
        raise MedebenchError(f"{path}: {error}") from error
    except sqlite3.DatabaseError as error:
        raise InputError(f"{path}: damaged ledger ({error}); restore it or start a new run") from (
            error
        )


def _dump(detail: dict[str, Any]) -> str | None:
    if not detail:
        return None
    return json.dumps(_plain(detail), ensure_ascii=False, sort_keys=True, allow_nan=False)


def _plain(value: Any) -> Any:
    """Details come from editors and judges of all kinds: what JSON cannot hold becomes text."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, str | int) else str(value)


def _load(text: str | None) -> dict[str, Any]:
    return dict(json.loads(text)) if text else {}
