"""Invitations and sessions in the database."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, delete, select, update

from medebench.study.server.schema import people, sessions
from medebench.study.server.times import now
from medebench.study.server.tokens import hashed, new_token, same

ADMIN = "admin"
SESSION_SECONDS = 30 * 24 * 3600


@dataclass(frozen=True)
class Person:
    name: str
    invited_at: str
    revoked_at: str | None


def invite(db: Connection, name: str) -> str:
    """A new token; the old one and what was opened with it end."""
    token = new_token()
    values = {"token": hashed(token), "invited_at": now(), "revoked_at": None}
    if not db.execute(update(people).where(people.c.name == name).values(values)).rowcount:
        db.execute(people.insert().values(name=name, **values))
    db.execute(delete(sessions).where(sessions.c.person == name))
    return token


def revoke(db: Connection, name: str) -> None:
    db.execute(
        update(people)
        .where(people.c.name == name, people.c.token.is_not(None))
        .values(token=None, revoked_at=now())
    )
    db.execute(delete(sessions).where(sessions.c.person == name))


def is_invitation(db: Connection, token: str) -> bool:
    return (
        db.execute(select(people.c.name).where(people.c.token == hashed(token))).first() is not None
    )


def sign_in(db: Connection, token: str) -> tuple[str, str] | None:
    """Name and secret of a new session, if somebody's invitation has this token."""
    wanted = hashed(token)
    # Locked, so that revoking waits and then ends this session too.
    row = db.execute(select(people).where(people.c.token == wanted).with_for_update()).one_or_none()
    if row is None or not same(row.token, wanted):
        return None
    db.execute(delete(sessions).where(sessions.c.expires_at < time.time()))
    session = new_token()
    db.execute(
        sessions.insert().values(
            token=hashed(session), person=row.name, expires_at=time.time() + SESSION_SECONDS
        )
    )
    return row.name, session


def sign_out(db: Connection, session: str) -> None:
    db.execute(delete(sessions).where(sessions.c.token == hashed(session)))


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


def invited(db: Connection) -> dict[str, Person]:
    return {
        row.name: Person(row.name, row.invited_at, row.revoked_at)
        for row in db.execute(select(people))
    }
