"""A run on disk: one editor on one CaseSet."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from medebench.cases.caseset import CaseSet
from medebench.errors import BusyError, InputError
from medebench.files import TEMPORARY, read_bytes, sweep, unwritable, write_json
from medebench.runs.case_state import CasesNow, CaseState, as_valid_now, states_of
from medebench.runs.ledger import (
    STALE_CASE,
    STALE_SET,
    CaseRow,
    Ledger,
    OutputRow,
    ScoreRow,
    SetRow,
    editing_cost,
)
from medebench.runs.recovery import Recovery, recover

if TYPE_CHECKING:
    import polars as pl

INFO = "run.json"
LEDGER = "ledger.sqlite"
EDITS = "edits"
ATTENTION = "attention"
CHANGE = "change"
ATTEMPTS = "attempts"
#: More outputs of a case than anybody asks for.
MOST_OUTPUTS = 1000
#: The columns of the long table that `medebench export` writes, in this order.
COLUMNS = ("run", "editor", "organ", "task", "case", "k", "metric", "value", "reason", "finding")


class CasesInfo(BaseModel):
    """Which cases a run is about; `fingerprint` is over the ones it holds."""

    model_config = ConfigDict(extra="ignore")
    name: str
    source: str
    fingerprint: str
    count: int
    #: Cases of the set, of which an adopted folder may cover only some.
    of: int


class Tried(BaseModel):
    """One setting of a sweep, with the mean of the score that decides."""

    settings: dict[str, Any]
    #: How many of the outputs that were asked for have a score.
    scored: int
    asked: int
    #: None for a setting that failed too often to take part.
    mean: float | None = None
    interval: tuple[float, float] | None = None


class Tuned(BaseModel):
    """Which settings were tried on which other cases, and which one was taken."""

    metric: str
    higher_is_better: bool
    sweep: str
    tried: list[Tried]
    #: Cases over which the settings were compared.
    cases: int
    best: int


class RunInfo(BaseModel):
    """What `run.json` holds; never a secret."""

    model_config = ConfigDict(extra="ignore")
    format: int = 1
    editor: str
    settings: dict[str, Any] = {}
    #: Settings that do not change the outputs; they may differ when a run is continued.
    how: dict[str, Any] = {}
    #: Where the editor came from: hash of the user's file, or package and version.
    origin: str = ""
    control: bool = False
    sees: list[str] = []
    #: What differs between the outputs k of a case, one after the other, if they are a sweep.
    sweep: list[dict[str, Any]] = []
    #: How the settings were chosen, if by a sweep over other cases.
    tuned: Tuned | None = None
    #: The judge that looked at outputs while they were made: its scores of them are not blind.
    judged_by: str = ""
    adopted_from: str | None = None
    #: Pictures of an adopted folder that are named after no case.
    unmatched: list[str] = []
    seed: int = 0
    outputs_per_case: int = Field(1, ge=1)
    cases: CasesInfo
    created: str
    versions: dict[str, str] = {}

    @model_validator(mode="after")
    def _bounded(self) -> RunInfo:
        # Adopted files are named as people like, and none of them counts as missing.
        if self.adopted_from is None and self.outputs_per_case > MOST_OUTPUTS:
            raise ValueError(
                f"outputs_per_case is {self.outputs_per_case}, not 1 to {MOST_OUTPUTS}"
            )
        return self

    def differs(self, other: RunInfo) -> str | None:
        """What about the two runs is not the same work, if anything."""
        for name in ("editor", "settings", "sweep", "origin", "seed", "adopted_from"):
            if getattr(self, name) != getattr(other, name):
                return f"{name} is {getattr(self, name)!r} there, {getattr(other, name)!r} now"
        if self.cases.fingerprint != other.cases.fingerprint:
            return f"its cases ({self.cases.name}) have changed or are others"
        return None


@dataclass(frozen=True)
class Contents:
    """The rows of a ledger that are about single cases."""

    cases: dict[str, CaseRow]
    outputs: dict[tuple[str, int], OutputRow]
    scores: list[ScoreRow]

    @property
    def cost(self) -> float:
        """US dollars that judging took."""
        return math.fsum(row.cost for row in self.scores)

    @property
    def editing_cost(self) -> float:
        """US dollars that the outputs took, as far as prices are known."""
        return editing_cost(self.outputs.values())


class Run:
    """An existing run folder."""

    def __init__(self, path: Path, info: RunInfo) -> None:
        self.path = path
        self.info = info
        #: What was damaged in the ledger when it was last opened for writing, if anything.
        self.recovery: Recovery | None = None

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}, editor={self.info.editor!r})"

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def edits(self) -> Path:
        return self.path / EDITS

    def output_path(self, case_id: str, k: int) -> Path:
        return self.edits / f"{case_id}_{k}.png"

    def attention_path(self, case_id: str, k: int) -> Path:
        """Where the attention of an output lies, if its editor shows any."""
        return self.path / ATTENTION / f"{case_id}_{k}.png"

    def attempt_path(self, case_id: str, k: int, number: int) -> Path:
        """Where a picture lies that was made on the way to an output."""
        return self.path / ATTEMPTS / f"{case_id}_{k}_{number}.png"

    def change_path(self, case_id: str, k: int) -> Path:
        """Where the region lies that an output changed, once the run was grounded."""
        return self.path / CHANGE / f"{case_id}_{k}.png"

    def ledger(self) -> Ledger:
        return Ledger(self.path / LEDGER)

    @cached_property
    def cases(self) -> CaseSet:
        """The cases the run is about, read again from where they were."""
        return self._cases(CasesNow(), self._case_rows())

    @cached_property
    def states(self) -> dict[str, CaseState]:
        """By case id, what has become of the case since; not of those that left their set."""
        return states_of(self.cases, self._case_rows(), self.info.sees, CasesNow())

    def look_again(self, now: CasesNow | None = None) -> None:
        """Read the cases anew, or take them from `now`, where several runs are about the same."""
        now, rows = now or CasesNow(), self._case_rows()
        self.__dict__["cases"] = self._cases(now, rows)
        self.__dict__["states"] = states_of(self.cases, rows, self.info.sees, now)

    def _cases(self, now: CasesNow, rows: dict[str, CaseRow]) -> CaseSet:
        try:
            found = now.load(self.info.cases.source)
        except InputError as error:
            raise InputError(f"{self.path}: its cases cannot be read: {error}") from None
        return found.select(ids=[case_id for case_id in rows if case_id in found])

    def _case_rows(self) -> dict[str, CaseRow]:
        with self.ledger() as ledger:
            return ledger.cases()

    @property
    def digests(self) -> dict[str, str]:
        """By case id, the digest of the case as it is now."""
        return {case_id: state.digest for case_id, state in self.states.items()}

    def contents(self) -> Contents:
        """What the ledger holds of single cases, read once."""
        with self.ledger() as ledger:
            return Contents(ledger.cases(), ledger.outputs(), list(ledger.scores()))

    def scores(self, read: Contents | None = None) -> Iterator[ScoreRow]:
        """All scores; one of another picture, or of the case as it was before, is a reason."""
        read, now = read or self.contents(), self.digests
        for row in read.scores:
            if row.case_id in read.cases:
                digest = now.get(row.case_id, row.seen)
                yield as_valid_now(row, read.outputs.get((row.case_id, row.k)), digest)

    def set_scores(self) -> list[SetRow]:
        """Scores of sets; one of other outputs or cases than those of now is a reason."""
        with self.ledger() as ledger:
            return ledger.current_sets(self.digests)

    def frame(self) -> pl.DataFrame:
        """The long table: one row per case, k and metric, with a value or a reason.

        The cases are read again: what was scored before they changed is no score of now. Where
        they are not at hand, the scores are given as they were written.
        """
        self._look_if_there()
        return self.table()

    def _look_if_there(self) -> None:
        try:
            self.look_again()
        except InputError:
            self.__dict__["states"] = {}

    def outdated(self, table: pl.DataFrame) -> tuple[int, set[str]]:
        """How many scores are of cases as they were before they changed, and of which cases."""
        old = table.filter(reason=STALE_CASE)
        cases = {case_id for case_id, state in self.states.items() if state.changed}
        cases |= set(old["case"])
        sets = [row for row in self.set_scores() if row.reason == STALE_SET] if cases else []
        return old.height + len(sets), cases if sets else set(old["case"])

    def table(self, read: Contents | None = None) -> pl.DataFrame:
        """The same as `frame`, for the cases as they were last looked at."""
        import polars as pl

        schema = {
            "organ": pl.String,
            "task": pl.String,
            "case": pl.String,
            "k": pl.Int64,
            "metric": pl.String,
            "value": pl.Float64,
            "reason": pl.String,
            "source": pl.String,
            #: The type of failure, in the rows of `success`.
            "finding": pl.String,
        }
        read = read or self.contents()
        cases, made = read.cases, set(read.outputs)
        rows: list[tuple[Any, ...]] = []
        for row in self.scores(read):
            case = cases[row.case_id]
            made.add((row.case_id, row.k))
            place = (case.organ, case.task, row.case_id, row.k, row.metric)
            rows.append((*place, row.value, row.reason, case.source, row.detail.get("type")))
        rows += self._not_made(cases, made, sorted({row[4] for row in rows}))
        frame = pl.DataFrame(rows, schema=schema, orient="row")
        return frame.select(
            pl.lit(self.name).alias("run"),
            pl.lit(self.info.editor).alias("editor"),
            *COLUMNS[2:],
            pl.lit(self.info.control).alias("control"),
            "source",
        )

    def sets(self) -> pl.DataFrame:
        """Scores of the outputs as a set: one row per metric, for all and for each organ ("part").

        `n` outputs were compared with `n_references` references.
        """
        import polars as pl

        self._look_if_there()
        schema = {
            "metric": pl.String,
            "part": pl.String,
            "value": pl.Float64,
            "low": pl.Float64,
            "high": pl.Float64,
            "n": pl.Int64,
            "n_references": pl.Int64,
            "floor": pl.Float64,
            "reason": pl.String,
            "variant": pl.String,
        }
        rows = [
            {name: getattr(r, name, None) for name in schema}
            | {"floor": r.detail.get("floor")}
            | dict(zip(("low", "high"), r.interval or (None, None), strict=True))
            for r in self.set_scores()
        ]
        return pl.DataFrame(rows, schema=schema).select(pl.lit(self.name).alias("run"), *schema)

    def _not_made(
        self, cases: dict[str, CaseRow], made: set[tuple[str, int]], scores: list[str]
    ) -> list[tuple[Any, ...]]:
        """Rows for outputs that were asked for but are not there yet: they count as missing."""
        if self.info.adopted_from is not None:
            return []
        return [
            (case.organ, case.task, case.case_id, k, name, None, "not made yet", case.source, None)
            for case in cases.values()
            for k in range(self.info.outputs_per_case)
            if (case.case_id, k) not in made
            for name in scores
        ]

    @contextmanager
    def locked(self) -> Iterator[Ledger]:
        """The ledger, for writing; a second process is refused at once."""
        with _lock(self.path):
            sweep(self.edits)
            sweep(self.path / ATTENTION)
            sweep(self.path / CHANGE)
            sweep(self.path / ATTEMPTS)
            with self.ledger() as ledger:
                self.recovery = recover(self, ledger)
                ledger.upgrade()
                yield ledger


def open_run(path: str | Path) -> Run:
    path = Path(path).expanduser().absolute()
    info = path / INFO
    if not info.is_file():
        raise InputError(f"{path}: not a run (it has no {INFO})")
    try:
        read = RunInfo.model_validate_json(read_bytes(info))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(f"{info}: {field}: {first['msg']}") from None
    except OSError as error:
        raise InputError(f"{info}: cannot be read ({error.strerror})") from error
    if not re.fullmatch(r"[^\0]+", read.cases.source):
        raise InputError(f"{info}: cases.source: is not a path")
    return Run(path, read)


def create_or_continue(path: str | Path, info: RunInfo) -> Run:
    """A new run folder, or the same run to be continued; another run's folder is refused."""
    path = Path(path).expanduser().absolute()
    if not (path / INFO).exists():
        require_free(path)
        _make_folder(path)
    try:
        with _lock(path):
            # Looked at under the lock: another process may have made the run meanwhile.
            return _continue(path, info) if (path / INFO).exists() else _create(path, info)
    except OSError as error:
        raise unwritable(path, error) from error


def require_free(path: Path) -> None:
    """Nobody's files are in the way of a new run."""
    if path.is_dir() and not all(map(_is_own, path.iterdir())):
        raise InputError(f"{path}: is not empty and not a run; choose another --out")
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: is a file; choose another --out")


def _make_folder(path: Path) -> None:
    try:
        (path / EDITS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error


def _create(path: Path, info: RunInfo) -> Run:
    # The info comes last: a folder with run.json always has a ledger.
    Ledger(path / LEDGER, create=True).close()
    write_json(path / INFO, json.loads(info.model_dump_json()))
    return Run(path, info)


def same_run(path: Path, info: RunInfo) -> Run:
    """The run in `path`, if it is the one of `info`."""
    run = open_run(path)
    if difference := run.info.differs(info):
        raise InputError(
            f"{path}: holds another run ({difference}); choose another --out or remove it"
        )
    return run


def _continue(path: Path, info: RunInfo) -> Run:
    run = same_run(path, info)
    most = max(run.info.outputs_per_case, info.outputs_per_case)
    news = {"outputs_per_case": most, "tuned": info.tuned}
    if news != {name: getattr(run.info, name) for name in news}:
        run.info = run.info.model_copy(update=news)
        write_json(path / INFO, json.loads(run.info.model_dump_json()))
    return run


def _is_own(child: Path) -> bool:
    """Whether a killed process may have left this behind before `run.json` was written."""
    return child.name in (".lock", EDITS) or child.name.startswith((LEDGER, TEMPORARY))


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    lock = FileLock(path / ".lock", timeout=0)
    try:
        with lock:
            yield
    except Timeout:
        raise BusyError(f"{path}: another medebench is at work on this run; wait for it") from None
