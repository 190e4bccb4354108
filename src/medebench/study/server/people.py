"""Invitations and sessions in the database."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, delete, select, update
from sqlalchemy.exc import IntegrityError

from medebench.errors import UnknownNameError
from medebench.study.design import Study
from medebench.study.server.database import Database, DatabaseError
from medebench.study.server.invitation_tokens import hashed, new_token, same
from medebench.study.server.schema import now, people, sessions

ADMIN = "admin"
SESSION_SECONDS = 30 * 24 * 3600
#: Each failed try means that another process saved something, so this many are never needed.
TRIES = 10


class Person(NamedTuple):
    name: str
    invited_at: str
    revoked_at: str | None


class People:
    """Who is invited to a study, and who is signed in."""

    def __init__(self, about: Study, database: Database) -> None:
        self.study = about
        self._database = database
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
            return {row.name: Person(*row) for row in db.execute(select(*columns))}

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
                    mine = update(people).where(people.c.name == name)
                    if not db.execute(mine.values(values)).rowcount:
                        db.execute(people.insert().values(name=name, **values))
                    db.execute(delete(sessions).where(sessions.c.person == name))
                    return token
            except IntegrityError:
                continue  # invited by another process in the same moment
        raise DatabaseError(f"{self.name}: {name} could not be invited; try again")

    def revoke(self, name: str) -> None:
        self._must_know(name)
        mine = update(people).where(people.c.name == name, people.c.token.is_not(None))
        with self._database.writing() as db:
            db.execute(mine.values(token=None, revoked_at=now()))
            db.execute(delete(sessions).where(sessions.c.person == name))

    def is_invitation(self, token: str) -> bool:
        """Whether the token is somebody's."""
        wanted = select(people.c.name).where(people.c.token == hashed(token))
        with self._database.reading() as db:
            return db.execute(wanted).first() is not None

    def sign_in(self, token: str) -> tuple[str, str] | None:
        """Name and secret of a new session, if somebody's invitation has this token."""
        wanted, session = hashed(token), new_token()
        # Locked, so that revoking waits and then ends this session too.
        mine = select(people).where(people.c.token == wanted).with_for_update()
        with self._database.writing() as db:
            row = db.execute(mine).one_or_none()
            if row is None or not same(row.token, wanted):
                return None
            db.execute(delete(sessions).where(sessions.c.expires_at < time.time()))
            until = time.time() + SESSION_SECONDS
            values = {"token": hashed(session), "person": row.name, "expires_at": until}
            db.execute(sessions.insert().values(values))
            return row.name, session

    def sign_out(self, session: str) -> None:
        with self._database.writing() as db:
            db.execute(delete(sessions).where(sessions.c.token == hashed(session)))

    def who(self, session: str) -> str | None:
        """Whose session this is, if it has not ended."""
        token = hashed(session)
        with self._database.reading() as db:
            return still_signed_in(db, [token]).get(token)

    def _must_know(self, name: str) -> None:
        if name not in self.everybody:
            known = ", ".join(self.everybody[:-1])
            raise UnknownNameError(f"{name}: not in this study; there are {known} and {ADMIN}")


def still_signed_in(db: Connection, tokens: Collection[str]) -> dict[str, str]:
    """Hash of a session -> whose it is, for those that have not ended."""
    if not tokens:
        return {}
    rows = db.execute(
        select(sessions.c.token, sessions.c.person).where(
            sessions.c.token.in_(sorted(set(tokens))), sessions.c.expires_at > time.time()
        )
    )
    return {row.token: row.person for row in rows}
