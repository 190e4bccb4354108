"""The answers of a study, its invitations, and whether it is closed: all that changes."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from sqlalchemy import URL, Connection, select, text, update
from sqlalchemy.exc import IntegrityError

from medebench.errors import InputError, UnknownNameError
from medebench.study.design import DATABASE, Study
from medebench.study.server import answers as said
from medebench.study.server import people
from medebench.study.server.answers import Answer, Outcome, Save, State
from medebench.study.server.database import Database, DatabaseError, read_url
from medebench.study.server.people import ADMIN, Person
from medebench.study.server.schema import FORMAT, metadata, study
from medebench.study.server.times import now
from medebench.study.server.tokens import hashed

#: Each failed try means that another process saved something, so this many are never needed.
_TRIES = 10
#: Any number that is ours: one process at a time makes the tables.
_POSTGRESQL_LOCK = 0x6D656465


class Store:
    """Safe to use from several threads and beside other processes on the same database."""

    def __init__(self, about: Study, database: Database) -> None:
        self.study = about
        self._database = database
        #: Where the answers are, for people: without the password.
        self.name = database.name

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._database.dispose()

    def check_writable(self) -> None:
        """Before anybody is let in: a database can be there and yet not take anything."""
        try:
            with self._database.writing() as db:
                db.execute(update(study).values(format=FORMAT))
        except DatabaseError as error:
            raise InputError(str(error)) from error

    # Answers

    def save(self, save: Save) -> Outcome:
        """Durable when it returns `Saved`."""
        return self.save_all([save])[0]

    def save_all(self, saves: Sequence[Save]) -> list[Outcome]:
        """Several in one transaction: one wait for the disk instead of many."""
        for left in reversed(range(_TRIES)):
            try:
                with self._database.writing() as db:
                    return said.put_all(db, saves, again=left < _TRIES - 1)
            except IntegrityError:
                # Another process took the version; read again and find the conflict.
                if not left:
                    raise
            except DatabaseError as error:
                # The database was restarted. If it had the answer already, the key tells.
                if not error.lost or left < _TRIES - 1:
                    raise
        raise AssertionError("unreachable")

    def answers(self) -> list[Answer]:
        """The last version of every answer."""
        with self._database.reading() as db:
            return said.latest(db)

    def versions(self, annotator: str, place: int, most: int = 101) -> list[Answer]:
        with self._database.reading() as db:
            return said.versions(db, annotator, place, most)

    def states(self, annotator: str) -> dict[int, State]:
        with self._database.reading() as db:
            return said.states(db, annotator)

    def count(self) -> int:
        """How many versions were saved so far."""
        with self._database.reading() as db:
            return said.count(db)

    # Closing

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

    # People

    def invite(self, name: str) -> str:
        """A token for an annotator or for "admin"; it is shown once and cannot be had again."""
        self._must_know(name)
        for _ in range(_TRIES):
            try:
                with self._database.writing() as db:
                    return people.invite(db, name)
            except IntegrityError:
                continue  # invited by another process in the same moment
        raise DatabaseError(f"{self.name}: {name} could not be invited; try again")

    def revoke(self, name: str) -> None:
        self._must_know(name)
        with self._database.writing() as db:
            people.revoke(db, name)

    @property
    def everybody(self) -> list[str]:
        """Who can be invited."""
        return [*(one.name for one in self.study.design.annotators), ADMIN]

    def never_invited(self) -> list[str]:
        """Not those whose invitation was revoked: nothing but a wish by name undoes that."""
        known = self.people()
        return [name for name in self.everybody if name not in known]

    def people(self) -> dict[str, Person]:
        """All who were ever invited, also those whose invitation was revoked."""
        with self._database.reading() as db:
            return people.invited(db)

    def is_invitation(self, token: str) -> bool:
        """Whether the token is somebody's."""
        with self._database.reading() as db:
            return people.is_invitation(db, token)

    def sign_in(self, token: str) -> tuple[str, str] | None:
        """Name and session's secret, if the token is somebody's."""
        with self._database.writing() as db:
            return people.sign_in(db, token)

    def sign_out(self, session: str) -> None:
        with self._database.writing() as db:
            people.sign_out(db, session)

    def who(self, session: str) -> str | None:
        """Whose session this is, if it has not ended."""
        token = hashed(session)
        with self._database.reading() as db:
            return people.still_signed_in(db, [token]).get(token)

    def _must_know(self, name: str) -> None:
        if name != ADMIN and self.study.design.annotator(name) is None:
            known = ", ".join(one.name for one in self.study.design.annotators)
            raise UnknownNameError(f"{name}: not in this study; there are {known} and {ADMIN}")


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
