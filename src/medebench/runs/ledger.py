"""The ledger: the only truth about what is done.

Each row is committed before the next is asked for. With SQLite's write-ahead log a killed process
loses no committed row and leaves no damaged file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from medebench.aliases import current_name, old_names
from medebench.cases.case import Case
from medebench.cases.caseset import CaseHash
from medebench.cases.open_case import OpenCase
from medebench.cases.source_clusters import joined_sources
from medebench.errors import ImageError, InputError
from medebench.files import sha256
from medebench.reason import KINDS, Reason, kind_of, with_kind
from medebench.runs import ledger_file as file

STALE = Reason("stale", "the output changed after it was scored; score again")
STALE_CASE = Reason("stale", "the case changed after it was scored; score again")
STALE_SET = Reason("stale", "outputs or cases changed after they were scored; score again")
_FORGET = "DELETE FROM scores WHERE case_id = ? AND k = ? AND metric = ?"
#: The part of a `SetRow` that is about all of the run.
WHOLE = ""


@dataclass(frozen=True)
class CaseRow:
    case_id: str
    organ: str
    task: str
    digest: str
    source: str
    #: What the digest is made of, by field; empty where the ledger does not know.
    parts: dict[str, str] = field(default_factory=dict)
    #: Named groups besides organ and task, the modality among them.
    groups: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, case: Case, now: CaseHash, source: str) -> CaseRow:
        groups = dict(case.groups) | ({"modality": case.modality} if case.modality else {})
        return cls(case.id, case.organ, case.task, now.digest, source, now.parts, groups)

    @classmethod
    def of_opened(cls, case: OpenCase, now: CaseHash) -> CaseRow:
        try:
            return cls.of(case.case, now, case.source)
        except ImageError:
            return cls.of(case.case, now, f"unreadable-{case.case.id}")

    def group(self, name: str) -> str:
        """The group of this name that the case is in, or ""."""
        own = {"organ": self.organ, "task": self.task}
        return own[name] if name in own else self.groups.get(name, "")


@dataclass(frozen=True)
class OutputRow:
    case_id: str
    k: int
    sha256: str | None
    reason: Reason | None = None
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
    reason: Reason | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    cost: float = 0.0
    #: Digest of the case it was computed from; None: the case as the ledger knows it.
    seen: str | None = None


@dataclass(frozen=True)
class SetRow:
    """A score of a set of outputs: all of a run, or those of a leading group, such as an organ."""

    metric: str
    part: str
    outputs: str
    variant: str
    value: float | None
    reason: Reason | None
    interval: tuple[float, float] | None
    n: int
    n_references: int
    detail: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


#: Whatever is written one by one.
AnyRow = CaseRow | OutputRow | ScoreRow


class Ledger:
    """One SQLite file; used by one thread."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        if not create and not path.is_file():
            raise InputError(f"{path}: no such ledger")
        with file.clear_errors(path):
            self._db = file.connect(path)
            try:
                self.version = self._open(create)
            except BaseException:
                self._db.close()
                raise

    def _open(self, create: bool) -> int:
        version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        if version == 0 and create:
            with self.transaction():
                file.create(self._db)
            return file.SCHEMA_VERSION
        if version not in file.READ:
            raise InputError(
                f"{self.path}: ledger of version {version}; this medebench reads versions 1 to "
                f"{file.SCHEMA_VERSION}; upgrade medebench, or restore a backup of the file"
            )
        file.check_structure(self._db, self.path, version)
        if version != file.SCHEMA_VERSION:
            file.show_as_present(self._db, version)
        return version

    def is_renewed(self) -> bool:
        """Whether somebody has made a newer version of the file since it was opened."""
        with file.clear_errors(self.path):
            now = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        return now != self.version

    def upgrade(self) -> None:
        """Make an older ledger one of now; rows without checksums stay marked as unchecked."""
        if self.version != file.SCHEMA_VERSION:
            if self.damage():
                raise self._damaged()
            self.restore(self.whole(), (), ())

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with file.clear_errors(self.path):
            self._db.execute("BEGIN")
            try:
                yield
            except BaseException:
                # A full disk has rolled it back already.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def write(self, *rows: AnyRow) -> None:
        """Add or replace rows, all or none."""
        self.upgrade()
        with self.transaction():
            self._write(rows)

    def _write(self, rows: Iterable[AnyRow]) -> None:
        for row in rows:
            if isinstance(row, CaseRow):
                values: tuple[Any, ...] = (row.case_id, row.organ, row.task, row.digest, row.source)
                file.insert(self._db, "cases", (*values, _dump(row.parts), _dump(row.groups)))
            elif isinstance(row, OutputRow):
                values = (row.case_id, row.k, row.sha256, row.reason, row.seed)
                values += (_dump(row.detail), row.seconds, _kind(row, "error"))
                file.insert(self._db, "outputs", values)
            else:
                seen = self._digest(row.case_id) if row.seen is None else row.seen
                for old in old_names(row.metric):
                    key = (row.case_id, row.k, old)
                    self._db.execute(_FORGET, key)
                values = (row.case_id, row.k, row.metric, row.output, seen, row.value, row.reason)
                values += (_dump(row.detail), row.seconds, row.cost, _kind(row))
                file.insert(self._db, "scores", values)

    def _digest(self, case_id: str) -> str:
        wish = "SELECT digest FROM cases WHERE case_id = ?"
        found = self._db.execute(wish, (case_id,)).fetchone()
        return "" if found is None else str(found[0])

    def cases(self) -> dict[str, CaseRow]:
        return {r[0]: _case(r) for r in self._rows("cases")}

    def clustered_cases(self) -> dict[str, CaseRow]:
        """The same, where cases that share any of their images have one source."""
        rows = self.cases()
        joined = joined_sources({case_id: row.source for case_id, row in rows.items()})
        return {case_id: replace(row, source=joined[case_id]) for case_id, row in rows.items()}

    def outputs(self) -> dict[tuple[str, int], OutputRow]:
        return {(r[0], r[1]): _output(r) for r in self._rows("outputs")}

    def scores(self) -> Iterator[ScoreRow]:
        """All scores, also those of pictures and cases that have changed since."""
        return map(_score, self._rows("scores"))

    def write_sets(self, metric: str, rows: Iterable[SetRow]) -> None:
        """All scores of sets by this metric, in place of the earlier ones."""
        self.upgrade()
        with self.transaction():
            self._db.execute("DELETE FROM sets WHERE metric = ?", (metric,))
            self._write_sets(rows)

    def _write_sets(self, rows: Iterable[SetRow]) -> None:
        for row in rows:
            values: tuple[Any, ...] = (row.metric, row.part, row.outputs, row.variant)
            values += (row.value, row.reason)
            values += (*(row.interval or (None, None)), row.n, row.n_references)
            values += (_dump(row.detail), row.seconds, _kind(row))
            file.insert(self._db, "sets", values)

    def current_sets(
        self,
        now: Mapping[str, str] | None = None,
        files: Mapping[tuple[str, int], str] | None = None,
    ) -> list[SetRow]:
        """The scores of sets; one of other outputs or cases than those of now is a reason.

        `now` are the digests of the cases, `files` the hashes of the outputs, where the ledger may
        be behind.
        """
        rows = self.sets()
        digest = self.outputs_digest(now, files) if rows else ""
        return [
            row
            if row.outputs == digest
            else replace(row, value=None, reason=STALE_SET, interval=None, detail={})
            for row in rows
        ]

    def sets(self) -> list[SetRow]:
        """The scores of sets, also those of outputs that have changed since."""
        return [_set(r) for r in self._rows("sets")]

    def outputs_digest(
        self,
        now: Mapping[str, str] | None = None,
        files: Mapping[tuple[str, int], str] | None = None,
    ) -> str:
        """Changes with every output and case: what a score of the set was computed from."""
        known = {case_id: row.digest for case_id, row in self.cases().items()} | dict(now or {})
        there = files or {}
        rows = "\n".join(
            "\x1f".join((case_id, str(k), there.get((case_id, k), row.sha256), known[case_id]))
            for (case_id, k), row in self.outputs().items()
            if row.sha256 is not None and case_id in known
        )
        return sha256(rows.encode())[:32]

    def cost(self) -> float:
        """US dollars that judging took."""
        return math.fsum(r[9] for r in self._rows("scores"))

    def editing_cost(self) -> float:
        """US dollars that the outputs took, as far as prices are known."""
        return editing_cost(self.outputs().values())

    def unchecked(self) -> int:
        """Rows from before rows had checksums: nobody can tell whether they are whole."""
        with file.clear_errors(self.path):
            return sum(file.count(self._db, name, file.UNCHECKED_VERSION) for name in file.TABLES)

    def damage(self) -> dict[str, list[file.Row]]:
        """By table, the rows that are not as they were written."""
        found = {
            table: [row for row in self._raw(table) if not self._is_whole(table, row)]
            for table in file.TABLES
        }
        return {table: rows for table, rows in found.items() if rows}

    def whole(self) -> Whole:
        """What is not damaged."""
        rows = {
            table: [row for row in self._raw(table) if self._is_whole(table, row)]
            for table in file.TABLES
        }
        return Whole(
            {r[0]: _case(r) for r in rows["cases"]},
            {(r[0], r[1]): _output(r) for r in rows["outputs"]},
            list(map(_score, rows["scores"])),
            list(map(_set, rows["sets"])),
            rows,
        )

    def restore(self, whole: Whole, rows: Iterable[AnyRow], sets: Iterable[SetRow]) -> None:
        """The rows that are whole, with `rows` and `sets` beside them or in their place."""
        with self.transaction():
            file.renew(self._db, whole.rows)
            self._write(rows)
            self._write_sets(sets)
        self.version = file.SCHEMA_VERSION

    def _rows(self, table: str) -> Iterator[file.Row]:
        for row in self._raw(table):
            if not self._is_whole(table, row):
                raise self._damaged()
            yield row

    def _raw(self, table: str) -> Iterator[file.Row]:
        with file.clear_errors(self.path):
            yield from file.read(self._db, table)

    def _is_whole(self, table: str, row: file.Row) -> bool:
        return file.is_whole(table, row, self.version)

    def _damaged(self) -> InputError:
        count = {name: len(rows) for name, rows in self.damage().items()}
        return InputError(
            f"{self.path}: {sum(count.values())} of its rows are damaged ({in_words(count)}); "
            f"`medebench score {self.path.parent}` with the same metrics and judge as before "
            "recomputes them"
        )


def editing_cost(outputs: Iterable[OutputRow]) -> float:
    costs = (row.detail.get("cost") for row in outputs)
    return math.fsum(cost for cost in costs if isinstance(cost, int | float))


@dataclass(frozen=True)
class Whole:
    """The rows of a ledger that are as they were written."""

    cases: dict[str, CaseRow]
    outputs: dict[tuple[str, int], OutputRow]
    scores: list[ScoreRow]
    sets: list[SetRow]
    rows: dict[str, list[file.Row]]


def _kind(row: OutputRow | ScoreRow | SetRow, usual: str = "undefined") -> str | None:
    return None if row.reason is None else kind_of(row.reason, usual)


def _reason(words: str | None, kind: str | None, usual: str = "undefined") -> Reason | None:
    """Of an older row, the code its words stand for."""
    if words is None or kind not in KINDS:
        return with_kind(words, usual)
    return Reason(kind, words)


def _case(r: file.Row) -> CaseRow:
    return CaseRow(r[0], r[1], r[2], r[3], r[4], _load(r[5]), _load(r[6]))


def _output(r: file.Row) -> OutputRow:
    return OutputRow(r[0], r[1], r[2], _reason(r[3], r[7], "error"), r[4], _load(r[5]), r[6])


def _score(r: file.Row) -> ScoreRow:
    name, reason = current_name(r[2]), _reason(r[6], r[10])
    return ScoreRow(r[0], r[1], name, r[3], r[5], reason, _load(r[7]), r[8], r[9], r[4])


def _set(r: file.Row) -> SetRow:
    ends, reason = None if r[6] is None else (r[6], r[7]), _reason(r[5], r[12])
    return SetRow(r[0], r[1], r[2], r[3], r[4], reason, ends, r[8], r[9], _load(r[10]), r[11])


def in_words(count: Mapping[str, int]) -> str:
    """
    >>> in_words({"outputs": 1, "scores": 3})
    'outputs 1, scores 3'
    """
    return ", ".join(f"{name} {number}" for name, number in count.items())


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
