"""The tables, the same for SQLite and PostgreSQL; invitations and sessions in them.

The tables' names carry a prefix, because a lab's PostgreSQL database may hold other things."""

from __future__ import annotations

import time
from collections.abc import Collection
from datetime import datetime, timezone
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from medebench.errors import UnknownNameError
from medebench.study.design import Study
from medebench.study.server.database import Database, DatabaseError
from medebench.study.server.security import hashed, new_token, same

FORMAT = 1

metadata = sa.MetaData()

#: One row: which design this database belongs to, and since when it is closed.
study = sa.Table(
    "medebench_study",
    metadata,
    sa.Column(
        "id", sa.Integer, sa.CheckConstraint("id = 1"), primary_key=True, autoincrement=False
    ),
    sa.Column("format", sa.Integer, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("closed_at", sa.Text),
)

#: Who has been invited. Of a token only its hash is kept; NULL once it was revoked.
people = sa.Table(
    "medebench_people",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("token", sa.Text, unique=True),
    sa.Column("invited_at", sa.Text, nullable=False),
    sa.Column("revoked_at", sa.Text),
)

#: Who is signed in; kept here so that a restart of the server signs nobody out.
sessions = sa.Table(
    "medebench_sessions",
    metadata,
    sa.Column("token", sa.Text, primary_key=True),
    sa.Column("person", sa.Text, sa.ForeignKey(people.c.name), nullable=False, index=True),
    sa.Column("expires_at", sa.Double, nullable=False),
)

#: Rows are added, never changed or removed; the highest version counts. The primary key is what
#: lets only one of two tabs write the version after the one that both have seen.
answers = sa.Table(
    "medebench_answers",
    metadata,
    sa.Column("annotator", sa.Text, primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("version", sa.Integer, sa.CheckConstraint("version >= 1"), primary_key=True),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column(
        "state",
        sa.Text,
        sa.CheckConstraint("state IN ('draft', 'done', 'skipped')"),
        nullable=False,
    ),
    sa.Column("ranks", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("seconds", sa.Double, sa.CheckConstraint("seconds >= 0"), nullable=False),
    sa.Column("saved_at", sa.Text, nullable=False),
    sa.UniqueConstraint("annotator", "place", "key"),
)
ADMIN = "admin"
SESSION_SECONDS = 30 * 24 * 3600
#: Each failed try means that another process saved something, so this many are never needed.
TRIES = 10


def now() -> str:
    """UTC, to the millisecond; later times are later in the alphabet."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Person(NamedTuple):
    name: str
    invited_at: str
    revoked_at: str | None


class People:
    """Who is invited to a study, and who is signed in."""

    def __init__(self, about: Study, database: Database) -> None:
        self.study, self._database = about, database
        #: Where the answers are, for people: without the password.
        self.name = database.name

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
        columns = people.c.name, people.c.invited_at, people.c.revoked_at
        with self._database.reading() as db:
            return {row.name: Person(*row) for row in db.execute(sa.select(*columns))}

    def invite(self, name: str) -> str:
        """A token for an annotator or for "admin"; it is shown once and cannot be had again.

        The old one and what was opened with it end.
        """
        self._must_know(name)
        token = new_token()
        values = {"token": hashed(token), "invited_at": now(), "revoked_at": None}
        for _ in range(TRIES):
            try:
                with self._database.writing() as db:
                    mine = sa.update(people).where(people.c.name == name)
                    if not db.execute(mine.values(values)).rowcount:
                        db.execute(people.insert().values(name=name, **values))
                    db.execute(sa.delete(sessions).where(sessions.c.person == name))
                    return token
            except IntegrityError:
                continue  # invited by another process in the same moment
        raise DatabaseError(f"{self.name}: {name} could not be invited; try again")

    def revoke(self, name: str) -> None:
        self._must_know(name)
        mine = sa.update(people).where(people.c.name == name, people.c.token.is_not(None))
        with self._database.writing() as db:
            db.execute(mine.values(token=None, revoked_at=now()))
            db.execute(sa.delete(sessions).where(sessions.c.person == name))

    def is_invitation(self, token: str) -> bool:
        """Whether the token is somebody's."""
        wanted = sa.select(people.c.name).where(people.c.token == hashed(token))
        with self._database.reading() as db:
            return db.execute(wanted).first() is not None

    def sign_in(self, token: str) -> tuple[str, str] | None:
        """Name and secret of a new session, if somebody's invitation has this token."""
        wanted, session = hashed(token), new_token()
        # Locked, so that revoking waits and then ends this session too.
        mine = sa.select(people).where(people.c.token == wanted).with_for_update()
        with self._database.writing() as db:
            row = db.execute(mine).one_or_none()
            if row is None or not same(row.token, wanted):
                return None
            db.execute(sa.delete(sessions).where(sessions.c.expires_at < time.time()))
            until = time.time() + SESSION_SECONDS
            values = {"token": hashed(session), "person": row.name, "expires_at": until}
            db.execute(sessions.insert().values(values))
            return row.name, session

    def sign_out(self, session: str) -> None:
        with self._database.writing() as db:
            db.execute(sa.delete(sessions).where(sessions.c.token == hashed(session)))

    def who(self, session: str) -> str | None:
        """Whose session this is, if it has not ended."""
        token = hashed(session)
        with self._database.reading() as db:
            return still_signed_in(db, [token]).get(token)

    def _must_know(self, name: str) -> None:
        if name not in self.everybody:
            known = ", ".join(self.everybody[:-1])
            raise UnknownNameError(f"{name}: not in this study; there are {known} and {ADMIN}")


def still_signed_in(db: sa.Connection, tokens: Collection[str]) -> dict[str, str]:
    """Hash of a session -> whose it is, for those that have not ended."""
    if not tokens:
        return {}
    rows = db.execute(
        sa.select(sessions.c.token, sessions.c.person).where(
            sessions.c.token.in_(sorted(set(tokens))), sessions.c.expires_at > time.time()
        )
    )
    return {row.token: row.person for row in rows}
