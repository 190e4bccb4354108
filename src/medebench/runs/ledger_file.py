"""The SQLite file under a ledger: its tables, their checksums, older versions, what damage is.

Every row ends with a checksum over its table, its key and all of its values, so that a row that is
not as it was written is never taken for one that is.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from operator import methodcaller
from pathlib import Path
from typing import Any

from medebench.errors import InputError, MedebenchError, one_line
from medebench.files import disk_trouble

SCHEMA_VERSION = 3
#: The version before rows had checksums. Older ledgers are read, and continued as the present one.
UNCHECKED_VERSION = 1
READ = (UNCHECKED_VERSION, 2, SCHEMA_VERSION)
#: How a reason begins where outputs are not those of the case as it is now.
CHANGED = "the case has changed since the edit"

#: By table, its columns with their types; every table has `written` and `checksum` besides.
TABLES: dict[str, dict[str, str]] = {
    "cases": {
        "case_id": "TEXT NOT NULL",
        "organ": "TEXT NOT NULL",
        "task": "TEXT NOT NULL",
        # Of texts and files: tells a changed case.
        "digest": "TEXT NOT NULL",
        # Of the input's pixels: tells cases that are not independent.
        "source": "TEXT NOT NULL",
        # The same as the digest, by part: tells what has changed. NULL where it is not known.
        "parts": "TEXT",
        # Named groups besides organ and task, as JSON.
        "groups": "TEXT",
    },
    "outputs": {
        "case_id": "TEXT NOT NULL",
        "k": "INTEGER NOT NULL",
        # Of the file; NULL where there is a reason.
        "sha256": "TEXT",
        "reason": "TEXT",
        "seed": "INTEGER",
        "detail": "TEXT",
        "seconds": "REAL NOT NULL",
        # The code of the reason, see `reason.KINDS`; NULL where there is none, or the row is older.
        "kind": "TEXT",
    },
    "scores": {
        "case_id": "TEXT NOT NULL",
        "k": "INTEGER NOT NULL",
        "metric": "TEXT NOT NULL",
        # What was scored: the hash of the picture, and the digest of the case.
        "output": "TEXT",
        "seen": "TEXT NOT NULL",
        "value": "REAL",
        "reason": "TEXT",
        "detail": "TEXT",
        "seconds": "REAL NOT NULL",
        "cost": "REAL NOT NULL",
        "kind": "TEXT",
    },
    "sets": {
        "metric": "TEXT NOT NULL",
        # An organ, or '' for the whole run.
        "part": "TEXT NOT NULL",
        # Digest of the outputs and cases it was computed from.
        "outputs": "TEXT NOT NULL",
        "variant": "TEXT NOT NULL",
        "value": "REAL",
        "reason": "TEXT",
        "low": "REAL",
        "high": "REAL",
        "n": "INTEGER NOT NULL",
        "n_references": "INTEGER NOT NULL",
        "detail": "TEXT",
        "seconds": "REAL NOT NULL",
        "kind": "TEXT",
    },
}
_KEYS = {
    "cases": ("case_id",),
    "outputs": ("case_id", "k"),
    "scores": ("case_id", "k", "metric"),
    "sets": ("metric", "part"),
}
#: A value or a reason, never both, never neither.
_EITHER = {"outputs": "sha256", "scores": "value", "sets": "value"}
#: `written`: the version of the ledger in which the row was first written.
_ENDING = {"written": "INTEGER NOT NULL", "checksum": "INTEGER NOT NULL"}
#: By table, what rows lacked before version 3.
_NEW = {"cases": ("groups",), "outputs": ("kind",), "scores": ("kind",), "sets": ("kind",)}
#: What a row of version 1 lacks besides. Its scores were computed from the case as the edit saw it,
#: except for those that say otherwise.
_LACKING_1 = {
    "cases": {"parts": "NULL"},
    "scores": {
        "seen": f"""CASE WHEN reason LIKE '{CHANGED}%' THEN '' ELSE COALESCE((SELECT digest
            FROM main.cases c WHERE c.case_id = main.scores.case_id), '') END"""
    },
}
#: What SQLite says of rows in a sound tree; whether a row is as it was written, its checksum tells.
_ABOUT_ROWS = re.compile(r"constraint failed| value in |PRIMARY KEY order|non-unique")
#: What SQLite says of the disk, the folder or another process, and not of the file's content.
_OUTSIDE = ("locked", "busy", "readonly", "unable to open", "I/O error", "interrupted")
_TYPES = {"TEXT": str, "INTEGER": int, "REAL": float}

Row = tuple[Any, ...]


def connect(path: Path) -> sqlite3.Connection:
    """For writing where the folder allows it, else for reading."""
    if os.access(path.parent, os.W_OK):
        db = sqlite3.connect(path, timeout=30, isolation_level=None)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            return _told_texts(db)
        except sqlite3.OperationalError as error:
            db.close()
            if "readonly" not in str(error) and "unable to open" not in str(error):
                raise
        except BaseException:
            db.close()
            raise
    # On a medium that cannot be written nobody else writes either: no lock files are needed.
    uri = f"{path.as_uri()}?mode=ro&immutable=1"
    return _told_texts(sqlite3.connect(uri, uri=True, isolation_level=None))


def _told_texts(db: sqlite3.Connection) -> sqlite3.Connection:
    # A text that damage has made unreadable must not hide the rows after it.
    db.text_factory = methodcaller("decode", "utf-8", "surrogateescape")
    db.execute("PRAGMA temp_store = MEMORY")
    return db


def create(db: sqlite3.Connection) -> None:
    """The empty tables; inside a transaction of the caller's."""
    for table, columns in TABLES.items():
        lines = [f"{name} {kind}" for name, kind in (columns | _ENDING).items()]
        lines.append(f"PRIMARY KEY ({', '.join(_KEYS[table])})")
        if one := _EITHER.get(table):
            lines.append(f"CHECK (({one} IS NULL) <> (reason IS NULL))")
        db.execute(f"CREATE TABLE {table} ({', '.join(lines)}) WITHOUT ROWID")
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def check_structure(db: sqlite3.Connection, path: Path, version: int) -> None:
    """Refuse a file whose trees or tables are not sound; rows have checksums of their own."""
    said = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    if said != "ok" and not _ABOUT_ROWS.search(said):
        raise damaged(path, " ".join(said.replace("*** in database main ***", "").split()))
    if version == UNCHECKED_VERSION:
        return
    there = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    if there != set(TABLES):
        raise damaged(path, "its tables have other names")
    for table in TABLES:
        found = {
            name: kind + (" NOT NULL" if needed else "")
            for _, name, kind, needed, *_ in db.execute(f"PRAGMA table_info({table})")
        }
        if found != _columns(table, version) | _ENDING:
            raise damaged(path, f"table {table} has other columns")


def _columns(table: str, version: int) -> dict[str, str]:
    """The columns of a table in a version that has checksums."""
    new = _NEW[table] if version < SCHEMA_VERSION else ()
    return {name: kind for name, kind in TABLES[table].items() if name not in new}


def show_as_present(db: sqlite3.Connection, version: int) -> None:
    """Let the tables of an older ledger be read as if they were those of now."""
    there = {name for (name,) in db.execute("SELECT name FROM main.sqlite_master")}
    first = version == UNCHECKED_VERSION
    ending = f"{UNCHECKED_VERSION} AS written, NULL AS checksum" if first else "written, checksum"
    for table, columns in TABLES.items():
        lacking = dict.fromkeys(_NEW[table], "NULL")
        lacking |= _LACKING_1.get(table, {}) if first else {}
        if table in there:
            shown = [f"{lacking.get(name, name)} AS {name}" for name in columns]
            source = f"FROM main.{table}"
        else:
            shown, source = [f"NULL AS {name}" for name in columns], "WHERE 0"
        # A temporary view comes before the table of its name.
        wish = f"SELECT {', '.join(shown)}, {ending} {source}"
        db.execute(f"CREATE TEMP VIEW {table} AS {wish}")


def renew(db: sqlite3.Connection, rows: Mapping[str, Iterable[Row]]) -> None:
    """The tables anew, with these rows; in a transaction of the caller's.

    A row with a damaged key is not where it would be looked for: it cannot be removed alone.
    """
    views = {name for (name,) in db.execute("SELECT name FROM sqlite_temp_master")}
    for table in TABLES:
        if table in views:
            db.execute(f"DROP VIEW temp.{table}")
        db.execute(f"DROP TABLE IF EXISTS main.{table}")
    create(db)
    for table, found in rows.items():
        for row in found:
            insert(db, table, row[:-2], written=row[-2])


def read(db: sqlite3.Connection, table: str) -> Iterator[Row]:
    """All rows of a table in the order of their keys, with `written` and `checksum`."""
    names = ", ".join(TABLES[table] | _ENDING)
    yield from db.execute(f"SELECT {names} FROM {table} ORDER BY {', '.join(_KEYS[table])}")


def count(db: sqlite3.Connection, table: str, written: int) -> int:
    """How many rows of a table were first written in this version of the ledger."""
    wish = f"SELECT COUNT(*) FROM {table} WHERE written = ?"
    return int(db.execute(wish, (written,)).fetchone()[0])


def insert(db: sqlite3.Connection, table: str, row: Row, *, written: int = SCHEMA_VERSION) -> None:
    """Add or replace a row, given without `written` and `checksum`."""
    kinds = TABLES[table].values()
    plain = (*(_plain(one, kind) for one, kind in zip(row, kinds, strict=True)), written)
    marks = ",".join("?" * (len(plain) + 1))
    values = (*plain, _checksum(table, plain))
    db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", values)


def is_whole(table: str, row: Row, version: int) -> bool:
    """Whether the row is as it was written; without a checksum, whether it can be a row at all."""
    if version == UNCHECKED_VERSION:
        return _is_possible(table, row)
    values = row[:-2]
    if version < SCHEMA_VERSION:
        named = dict(zip(TABLES[table], values, strict=True))
        values = tuple(named[name] for name in _columns(table, version))
    return bool(_checksum(table, (*values, row[-2])) == row[-1])


def _is_possible(table: str, row: Row) -> bool:
    named: dict[str, Any] = dict(zip(TABLES[table], row, strict=False))
    if table in _EITHER and (named[_EITHER[table]] is None) == (named["reason"] is None):
        return False
    for name, kind in TABLES[table].items():
        value = named[name]
        if value is None:
            if "NOT NULL" in kind:
                return False
            continue
        if not isinstance(value, _TYPES[kind.split()[0]]):
            return False
        try:
            if isinstance(value, str):
                value.encode()
                if name == "detail" and not isinstance(json.loads(value), dict):
                    return False
        except ValueError:
            return False
    return True


def _checksum(table: str, values: Row) -> int:
    # Written out by hand: JSON takes five times as long, and every row goes through here.
    texts = [one if type(one) is str else "\0" if one is None else repr(one) for one in values]
    return zlib.crc32("\x1f".join([table, *texts]).encode("utf-8", "surrogateescape"))


def _plain(value: Any, kind: str) -> Any:
    """A value as the file will give it back; SQLite knows no negative zero."""
    if value is None:
        return None
    if kind.startswith("REAL"):
        return float(value) + 0.0
    return int(value) if kind.startswith("INTEGER") else str(value)


def damaged(path: Path, why: str) -> InputError:
    run = path.parent
    # SQLite quotes what it cannot read.
    shown = one_line("".join(one if one.isprintable() else "?" for one in why), 120)
    return InputError(
        f"{path}: damaged ledger ({shown}); restore a backup, or take the run's outputs into "
        f"a new run with `medebench adopt {run / 'edits'} --cases CASES --out NEW`"
    )


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """What SQLite says, in one line that names the file and what to do."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise MedebenchError(f"{path}: a row was refused ({error})") from error
    except sqlite3.OperationalError as error:
        said = str(error)
        if trouble := disk_trouble(error, path.parent):
            raise MedebenchError(f"{path.parent}: {trouble}") from error
        if any(word in said for word in _OUTSIDE):
            raise MedebenchError(f"{path}: {said}") from error
        raise damaged(path, said) from error
    except sqlite3.DatabaseError as error:
        raise damaged(path, str(error)) from error
    except UnicodeDecodeError as error:
        raise damaged(path, "its tables cannot be read") from error
