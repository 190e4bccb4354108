"""The tables, the same for SQLite and PostgreSQL.

Their names carry a prefix, because a lab's PostgreSQL database may hold other things.
"""

from __future__ import annotations

from datetime import datetime, timezone

from sqlalchemy import (
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

FORMAT = 1

metadata = MetaData()

#: One row: which design this database belongs to, and since when it is closed.
study = Table(
    "medebench_study",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("format", Integer, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("closed_at", Text),
)

#: Who has been invited. Of a token only its hash is kept; NULL once it was revoked.
people = Table(
    "medebench_people",
    metadata,
    Column("name", Text, primary_key=True),
    Column("token", Text, unique=True),
    Column("invited_at", Text, nullable=False),
    Column("revoked_at", Text),
)

#: Who is signed in; kept here so that a restart of the server signs nobody out.
sessions = Table(
    "medebench_sessions",
    metadata,
    Column("token", Text, primary_key=True),
    Column("person", Text, ForeignKey(people.c.name), nullable=False, index=True),
    Column("expires_at", Double, nullable=False),
)

#: Rows are added, never changed or removed; the highest version counts. The primary key is what
#: lets only one of two tabs write the version after the one that both have seen.
answers = Table(
    "medebench_answers",
    metadata,
    Column("annotator", Text, primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, CheckConstraint("version >= 1"), primary_key=True),
    Column("key", Text, nullable=False),
    Column("state", Text, CheckConstraint("state IN ('draft', 'done', 'skipped')"), nullable=False),
    Column("ranks", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("seconds", Double, CheckConstraint("seconds >= 0"), nullable=False),
    Column("saved_at", Text, nullable=False),
    UniqueConstraint("annotator", "place", "key"),
)


def now() -> str:
    """UTC, to the millisecond; later times are later in the alphabet."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
