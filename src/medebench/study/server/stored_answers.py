"""Answers in the database: versions are added, none is ever changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, func, or_, select

from medebench.study.rankings import Answer, Ranks, State
from medebench.study.server.people import answers, now, still_signed_in, study


@dataclass(frozen=True)
class Save:
    """A wish to put an answer on top of version `base`; `key` tells a repeated wish."""

    annotator: str
    place: int
    base: int
    key: str
    state: State
    ranks: Ranks
    reason: str = ""
    seconds: float = 0.0
    #: Who asks: nothing is written unless this session is still theirs. None = no session needed.
    session: str | None = None


@dataclass(frozen=True)
class Saved:
    version: int
    saved_at: str


@dataclass(frozen=True)
class Conflict:
    """Somebody saved meanwhile; nothing was written. `current` is None where nothing is saved."""

    current: Answer | None


@dataclass(frozen=True)
class Closed:
    """The study is closed; nothing was written."""

    closed_at: str


@dataclass(frozen=True)
class SignedOut:
    """The session has ended, or the invitation was revoked; nothing was written."""


Outcome = Saved | Conflict | Closed | SignedOut
_Where = tuple[str, int]


def put_all(db: Connection, saves: Sequence[Save], *, again: bool = False) -> list[Outcome]:
    """What becomes of each, in the order in which they came.

    The study's row is locked against closing until the transaction ends. Raises IntegrityError
    where another process has written the same version first, or a key is used a second time: then
    nothing was written, and it is to be done `again`.
    """
    closed_at = db.execute(select(study.c.closed_at).with_for_update(read=True)).scalar_one()
    signed_in = still_signed_in(db, [save.session for save in saves if save.session])
    versions = _versions(db, {_where(save) for save in saves})
    # As a rule pages know the last version. Only of the others it matters whether this is a
    # repeated wish, and what the last version says.
    unsure = [save for save in saves if again or save.base != versions.get(_where(save), 0)]
    accepted = _by_key(db, unsure)
    current = {(one.annotator, one.place): one for one in _latest_of(db, unsure)}
    outcomes: list[Outcome] = []
    rows: list[dict[str, Any]] = []
    for save in saves:
        where = _where(save)
        before = accepted.get((*where, save.key))
        if save.session is not None and signed_in.get(save.session) != save.annotator:
            outcomes.append(SignedOut())
        elif before is not None and _says(before) == _says(save):
            outcomes.append(Saved(before.version, before.saved_at))
        elif closed_at is not None:
            outcomes.append(Closed(closed_at))
        elif before is not None or save.base != versions.get(where, 0):
            outcomes.append(Conflict(current.get(where)))
        else:
            version, seconds = save.base + 1, save.seconds
            answer = Answer(*where, version, save.state, save.ranks, save.reason, seconds, now())
            versions[where] = answer.version
            current[where] = accepted[(*where, save.key)] = answer
            rows.append(vars(answer) | {"key": save.key, "ranks": json.dumps(save.ranks)})
            outcomes.append(Saved(answer.version, answer.saved_at))
    if rows:
        db.execute(answers.insert(), rows)
    return outcomes


def _where(save: Save) -> _Where:
    return save.annotator, save.place


def top() -> Select[str, int, int]:
    return select(
        answers.c.annotator, answers.c.place, func.max(answers.c.version).label("version")
    ).group_by(answers.c.annotator, answers.c.place)


def _top_of(wheres: Iterable[_Where]) -> Select[str, int, int]:
    # Not `(annotator, place) IN (...)`, for which SQLite would look through the whole table.
    return top().where(
        or_(*(and_(answers.c.annotator == who, answers.c.place == place) for who, place in wheres))
    )


def _versions(db: Connection, wheres: Iterable[_Where]) -> dict[_Where, int]:
    return {(row.annotator, row.place): row.version for row in db.execute(_top_of(wheres))}


def _latest_of(db: Connection, saves: Sequence[Save]) -> list[Answer]:
    return read_latest(db, _top_of({_where(save) for save in saves})) if saves else []


def read_latest(db: Connection, top: Select[str, int, int]) -> list[Answer]:
    newest = top.subquery()
    same = and_(*(answers.c[name] == newest.c[name] for name in ("annotator", "place", "version")))
    rows = db.execute(
        select(answers).join(newest, same).order_by(answers.c.annotator, answers.c.place)
    )
    return [read_answer(row) for row in rows]


def _by_key(db: Connection, saves: Sequence[Save]) -> dict[tuple[str, int, str], Answer]:
    """What was accepted under these keys before."""
    if not saves:
        return {}
    one = answers.c
    same = (
        and_(one.annotator == save.annotator, one.place == save.place, one.key == save.key)
        for save in saves
    )
    rows = db.execute(select(answers).where(or_(*same)))
    return {(row.annotator, row.place, row.key): read_answer(row) for row in rows}


def _says(one: Answer | Save) -> tuple[State, Ranks, str]:
    return one.state, one.ranks, one.reason


def read_answer(row: Row[Any]) -> Answer:
    facts = row._asdict() | {"ranks": json.loads(row.ranks)}
    del facts["key"]
    return Answer(**facts)
