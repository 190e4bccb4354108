"""The answers of a study, its invitations, and whether it is closed: all that changes."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future

from sqlalchemy import URL, Connection, func, select, text, update
from sqlalchemy.exc import IntegrityError

from medebench.errors import InputError, MedebenchError
from medebench.study.design import DATABASE, Study
from medebench.study.rankings import Answer, State
from medebench.study.server.database import Database, DatabaseError, read_url
from medebench.study.server.people import FORMAT, TRIES, People, answers, metadata, now, study
from medebench.study.server.stored_answers import (
    Outcome,
    Save,
    put_all,
    read_answer,
    read_latest,
    top,
)

#: Any number that is ours: one process at a time makes the tables.
_POSTGRESQL_LOCK = 0x6D656465
_MOST = 256
_Job = tuple[Save, "Future[Outcome]"]


class Store(People):
    """Safe to use from several threads and beside other processes on the same database."""

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.dispose()

    def check_writable(self) -> None:
        """Before anybody is let in: a database can be there and yet not take anything."""
        try:
            with self._database.writing() as db:
                db.execute(update(study).values(format=FORMAT))
        except DatabaseError as error:
            raise InputError(str(error)) from error

    def save(self, save: Save) -> Outcome:
        """Durable when it returns `Saved`."""
        return self.save_all([save])[0]

    def save_all(self, saves: Sequence[Save]) -> list[Outcome]:
        """Several in one transaction: one wait for the disk instead of many."""
        for left in reversed(range(TRIES)):
            try:
                with self._database.writing() as db:
                    return put_all(db, saves, again=left < TRIES - 1)
            except IntegrityError:
                # Another process took the version; read again and find the conflict.
                if not left:
                    raise
            except DatabaseError as error:
                # The database was restarted. If it had the answer already, the key tells.
                if not error.lost or left < TRIES - 1:
                    raise
        raise AssertionError("unreachable")

    def answers(self) -> list[Answer]:
        """The last version of every answer: the one that counts."""
        with self._database.reading() as db:
            return read_latest(db, top())

    def versions(self, annotator: str, place: int, most: int = 101) -> list[Answer]:
        """The last `most` versions of an answer, older ones first."""
        mine = select(answers).where(answers.c.annotator == annotator, answers.c.place == place)
        with self._database.reading() as db:
            rows = db.execute(mine.order_by(answers.c.version.desc()).limit(most))
            return [read_answer(row) for row in rows][::-1]

    def states(self, annotator: str) -> dict[int, State]:
        """Place -> state, where something was saved."""
        mine = top().where(answers.c.annotator == annotator)
        with self._database.reading() as db:
            return {one.place: one.state for one in read_latest(db, mine)}

    def count(self) -> int:
        """How many versions there are: it grows with every save, so it tells if any was made."""
        with self._database.reading() as db:
            return db.execute(select(func.count()).select_from(answers)).scalar_one()

    def closed(self) -> str | None:
        """Since when the study is closed."""
        with self._database.reading() as db:
            since: str | None = db.execute(select(study.c.closed_at)).scalar_one()
            return since

    def close_study(self) -> str:
        """From now on answers are refused; those accepted before are all there."""
        with self._database.writing() as db:
            db.execute(update(study).where(study.c.closed_at.is_(None)).values(closed_at=now()))
            return str(db.execute(select(study.c.closed_at)).scalar_one())

    def reopen_study(self) -> None:
        with self._database.writing() as db:
            db.execute(update(study).values(closed_at=None))


def open_store(about: Study, url: str | None = None) -> Store:
    """The database of a study, made if it is not there."""
    where = read_url(url) if url else URL.create("sqlite", database=str(about.path / DATABASE))
    database = Database(where)
    try:
        with database.writing() as db:
            _prepare(db, about, database)
    except DatabaseError as error:
        database.dispose()
        raise InputError(str(error)) from error
    except BaseException:
        database.dispose()
        raise
    return Store(about, database)


def _prepare(db: Connection, about: Study, database: Database) -> None:
    if not database.is_sqlite:
        db.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _POSTGRESQL_LOCK})
    metadata.create_all(db)
    row = db.execute(select(study)).one_or_none()
    if row is None:
        db.execute(study.insert().values(id=1, format=FORMAT, fingerprint=about.fingerprint))
        return
    if row.format != FORMAT:
        raise InputError(
            f"{database.name}: written by another version of medebench (format {row.format}, "
            f"this one reads {FORMAT})"
        )
    if row.fingerprint != about.fingerprint:
        raise InputError(
            f"{database.name}: holds the answers to another study than {about.path}; "
            "name another database, or bring back the study.json it was made with"
        )


class Writer:
    """A thread that saves; a future is done when its answer is on disk."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._ended = False
        self._thread = threading.Thread(target=self._work, name="study-writer", daemon=True)
        self._thread.start()

    def submit(self, save: Save) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        with self._lock:
            if self._ended:
                raise MedebenchError("the server is ending; try again")
            self._jobs.put((save, future))
        return future

    def close(self) -> None:
        """Finish what was submitted."""
        with self._lock:
            if not self._ended:
                self._ended = True
                self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while True:
            batch, last = self._take()
            if batch:
                self._save(batch)
            if last:
                return

    def _take(self) -> tuple[list[_Job], bool]:
        batch: list[_Job] = []
        job = self._jobs.get()
        while job is not None:
            # From here on a client that went away cannot withdraw it any more.
            if job[1].set_running_or_notify_cancel():
                batch.append(job)
            if len(batch) == _MOST:
                return batch, False
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return batch, False
        return batch, True

    def _save(self, batch: list[_Job]) -> None:
        try:
            outcomes = self._store.save_all([save for save, _ in batch])
        except Exception as error:
            if len(batch) == 1 or isinstance(error, DatabaseError):
                for _, future in batch:
                    future.set_exception(error)
            else:
                # One that the database refuses takes no other along.
                for job in batch:
                    self._save([job])
            return
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            future.set_result(outcome)
