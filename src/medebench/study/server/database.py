"""One way to SQLite and PostgreSQL: transactions, durability, and errors in one line."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from medebench.errors import InputError, MedebenchError, NotReadyError, one_line

#: How long a write waits for another process that writes to the same SQLite file.
BUSY_SECONDS = 20
CONNECTIONS = 8


class DatabaseError(MedebenchError):
    """The database did not do it; the text says why, without secrets."""

    def __init__(self, text: str, *, lost: bool = False) -> None:
        super().__init__(text)
        #: The connection broke: another try may find the database back.
        self.lost = lost


class Database:
    """Transactions on the database at `url`."""

    def __init__(self, url: URL) -> None:
        self.url = url
        #: For people: without the password.
        self.name = url.database if url.drivername == "sqlite" else _public(url)
        self.is_sqlite = url.drivername == "sqlite"
        # Threads that wait for SQLite's lock sleep longer and longer; for ours they queue.
        self._writer: AbstractContextManager[Any]
        self._writer = threading.Lock() if self.is_sqlite else nullcontext()
        options: dict[str, Any] = {"isolation_level": "READ COMMITTED"}
        options["connect_args"] = {"connect_timeout": 10}
        if self.is_sqlite:
            options = {"connect_args": {"timeout": BUSY_SECONDS, "check_same_thread": False}}
        options |= {"hide_parameters": True, "pool_size": CONNECTIONS, "max_overflow": CONNECTIONS}
        self._engine = create_engine(url, **options)
        self._write_engine = self._engine.execution_options(medebench_write=True)
        if self.is_sqlite:
            event.listen(self._engine, "connect", _prepare_sqlite)
            event.listen(self._engine, "begin", _begin_sqlite)
        else:
            event.listen(self._engine, "connect", _prepare_postgresql)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._told(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is on disk when the block has been left without an exception."""
        with self._writer, self._told(), self._write_engine.begin() as connection:
            yield connection

    def dispose(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (IntegrityError, DataError):
            raise  # about what was to be written, not about the database
        except DBAPIError as error:
            text = f"{self.name}: {self._words(error)}"
            raise DatabaseError(text, lost=error.connection_invalidated) from error
        except PoolTimeout as error:
            raise DatabaseError(f"{self.name}: too busy, no connection is free") from error

    def _words(self, error: DBAPIError) -> str:
        text = one_line(str(error.orig or error))
        for secret in _secrets(self.url):
            text = text.replace(secret, "***")
        if not self.is_sqlite:
            return text
        for part, words in _SQLITE_WORDS.items():
            if part in text:
                return words
        return text


_SQLITE_WORDS = {
    "not a database": "is not an SQLite database; name another file or move this one away",
    "unable to open": "cannot be opened or made; check that its folder is there and writable",
    "readonly": "cannot be written; check the rights of the file and of its folder",
    "disk is full": "the disk is full; make room, nothing that was saved is lost",
    "disk I/O": "the disk reports an error (full, over quota, or a network disk without locks)",
    "database is locked": f"another process has been writing to it for {BUSY_SECONDS} s",
    "malformed": "is damaged; go back to a backup",
}


def read_url(given: str) -> URL:
    """A database URL as SQLAlchemy wants it."""
    try:
        url = make_url(given)
    except (ArgumentError, ValueError):
        # Not repeated: it may hold a password.
        raise InputError(
            "--database: not a database URL; use sqlite:///FILE or "
            "postgresql://USER:PASSWORD@HOST/NAME"
        ) from None
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        try:
            import psycopg  # noqa: F401
        except ImportError as error:
            raise NotReadyError(
                "PostgreSQL needs psycopg 3: pip install 'medebench[postgres]' "
                f"({one_line(str(error))})"
            ) from error
        return url.set(drivername="postgresql+psycopg")
    if url.drivername == "sqlite" and url.database and url.database != ":memory:":
        return url
    raise InputError(
        f"--database {url.drivername}: use sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"
    )


def _public(url: URL) -> str:
    # The options after the ? go too: a password may stand there.
    return url.set(query={}).render_as_string()


def _secrets(url: URL) -> list[str]:
    options = url.normalized_query
    hidden = [*options.get("password", ()), *options.get("sslpassword", ())]
    return [one for one in (str(url.password or ""), *hidden) if one]


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # The driver must not begin transactions by itself: `_begin_sqlite` says which kind.
    connection.isolation_level = None
    cursor = connection.cursor()
    try:
        _patiently(cursor, "PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
    finally:
        cursor.close()


def _patiently(cursor: Any, statement: str) -> None:
    # SQLite does not wait for the lock when it changes the journal: of several processes that make
    # the same new file, all but one would fail at once.
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            cursor.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.02)


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads and then writes must hold the lock from its beginning, else what it
    # has read may be old when it writes.
    write = connection.get_execution_options().get("medebench_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _prepare_postgresql(connection: Any, _record: Any) -> None:
    # A server may be set up to answer before the disk has it; that would break our promise.
    connection.autocommit = True
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false)"
        " WHERE current_setting('synchronous_commit') = 'off'"
    )
    connection.autocommit = False
