"""A run on disk: one editor on one CaseSet."""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from medebench.cases.case import Case
from medebench.cases.caseset import CaseSet
from medebench.errors import BusyError, ImageError, InputError
from medebench.files import TEMPORARY, read_bytes, sweep, unwritable, write_json
from medebench.outputs import OutputFiles, Part
from medebench.parallel import core_count_for, in_parallel
from medebench.runs.case_state import TOGETHER, CasesNow, CaseState, as_valid_now, states_of
from medebench.runs.ledger import (
    STALE,
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
from medebench.runs.run_table import score_table, set_table
from medebench.tasks import Task, find_task

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
    #: Why a mean has no interval.
    why: str = ""


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
    #: Files of an adopted folder, or records of a results file, that belong to no case.
    unmatched: list[str] = []
    #: Records of an adopted results file that say again what an earlier one said.
    repeated: int = 0
    seed: int = 0
    outputs_per_case: int = Field(1, ge=1)
    cases: CasesInfo
    #: What was to be done, and the parts that its outputs have.
    task: str = "editing"
    gives: list[Part] = Field(default=["image"], min_length=1)
    created: str
    versions: dict[str, str] = {}

    @field_validator("task")
    @classmethod
    def _lasting(cls, task: str) -> str:
        """The task of a user's file as it is found from any folder."""
        file, colon, name = task.rpartition(".py:")
        return f"{Path(file).expanduser().absolute()}.py:{name}" if colon else task

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
    """An existing run folder: one system on one set of cases, with outputs and scores.

    `frame()` is the long table of scores, `sets()` that of scores of all outputs together,
    `info` what `run.json` holds, `cases` the cases.

    >>> run = mb.edit("phantoms:count=2", "identity", tmp / "run")
    >>> mb.score(run, "cp") and run.frame()["value"].to_list()
    [1.0, 1.0]
    """

    def __init__(self, path: Path, info: RunInfo) -> None:
        self.path = path
        self.info = info
        #: What was damaged in the ledger when it was last opened for writing, if anything.
        self.recovery: Recovery | None = None
        #: By output, the hash of its file when it was last looked at; else the ledger's counts.
        self._files: dict[tuple[str, int], str] = {}
        #: The ledger while it is open, and the thread that may use it.
        self._ledger: tuple[Ledger, int] | None = None
        self._whole_set: CaseSet

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process: where it is and what it is about."""
        kept = {"path": self.path, "info": self.info}
        return {**kept, "recovery": None, "_files": {}, "_ledger": None}

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}, editor={self.info.editor!r})"

    @property
    def name(self) -> str:
        return self.path.name

    @cached_property
    def task(self) -> Task:
        """What was to be done."""
        try:
            return find_task(self.info.task)
        except InputError as error:
            raise InputError(f"{self.path / INFO}: task: {error}") from None

    @property
    def edits(self) -> Path:
        return self.path / EDITS

    def output_files(self, case_id: str, k: int) -> OutputFiles:
        """The files of an output, one for each part that the task asks for."""
        return OutputFiles(self.edits / f"{case_id}_{k}", tuple(self.info.gives))

    def asked_of(self, case: Case) -> tuple[Part, ...]:
        """What the task asks for in this case; of a control, as much of it as it gives."""
        return tuple(part for part in self.task.of(case).gives if part in self.info.gives)

    def output_path(self, case_id: str, k: int) -> Path:
        """The image of an output."""
        return OutputFiles(self.edits / f"{case_id}_{k}").path("image")

    def attention_path(self, case_id: str, k: int) -> Path:
        """Where the attention of an output lies, if its editor shows any."""
        return self.path / ATTENTION / f"{case_id}_{k}.png"

    def attempt_path(self, case_id: str, k: int, number: int) -> Path:
        """Where a picture lies that was made on the way to an output."""
        return self.path / ATTEMPTS / f"{case_id}_{k}_{number}.png"

    def change_path(self, case_id: str, k: int) -> Path:
        """Where the region lies that an output changed, once the run was grounded."""
        return self.path / CHANGE / f"{case_id}_{k}.png"

    @contextmanager
    def ledger(self) -> Iterator[Ledger]:
        """The ledger; inside another `with run.ledger()` of the same thread, the one open there."""
        thread = threading.get_ident()
        if self._ledger is not None and self._ledger[1] == thread:
            yield self._ledger[0]
            return
        with Ledger(self.path / LEDGER) as ledger:
            others, self._ledger = self._ledger, (ledger, thread)
            try:
                yield ledger
            finally:
                self._ledger = others

    @cached_property
    def cases(self) -> CaseSet:
        """The cases the run is about, read again from where they were."""
        return self._cases(CasesNow(), self._case_rows())

    @property
    def whole_set(self) -> CaseSet:
        """The set that the cases are of; the run may be about a part of it."""
        _ = self.cases
        return self._whole_set

    @cached_property
    def states(self) -> dict[str, CaseState]:
        """By case id, what has become of the case since; not of those that left their set."""
        return states_of(self.cases, self._case_rows(), self.info.sees, CasesNow())

    def look_again(self, now: CasesNow | None = None) -> None:
        """Read the cases anew, or take them from `now`, where several runs are about the same."""
        now, rows = now or CasesNow(), self._case_rows()
        self.__dict__["cases"] = self._cases(now, rows)
        self.__dict__["states"] = states_of(self.cases, rows, self.info.sees, now)
        self._files = {}

    def look_at_outputs(self) -> None:
        """Hash the files of the outputs: one that was replaced by hand has no scores yet.

        One that is gone keeps its scores: nobody put another in its place.
        """
        with self.ledger() as ledger:
            made = [key for key, row in ledger.outputs().items() if row.sha256 is not None]
        workers = core_count_for(self.output_files(*made[0]).paths[0] if made else None)
        groups = (made[i : i + TOGETHER] for i in range(0, len(made), TOGETHER))
        self._files = {}
        for found in in_parallel(self._hashed, groups, workers):
            self._files |= found

    def _hashed(self, outputs: list[tuple[str, int]]) -> dict[tuple[str, int], str]:
        found = {}
        for key in outputs:
            with suppress(ImageError):
                found[key] = self.output_files(*key).read().sha256
        return found

    def _cases(self, now: CasesNow, rows: dict[str, CaseRow]) -> CaseSet:
        try:
            found = now.load(self.info.cases.source, self.info.task)
        except InputError as error:
            raise InputError(f"{self.path}: its cases cannot be read: {error}") from None
        self._whole_set = found
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
            return Contents(ledger.clustered_cases(), ledger.outputs(), list(ledger.scores()))

    def scores(self, read: Contents | None = None) -> Iterator[ScoreRow]:
        """All scores; one of another picture, or of the case as it was before, is a reason."""
        read = read or self.contents()
        for row, valid in self.scores_now(read):
            if row.case_id in read.cases:
                yield valid

    def scores_now(self, read: Contents) -> Iterator[tuple[ScoreRow, ScoreRow]]:
        """Each score as it was written, and as it is valid now."""
        now = self.digests
        made = {key: row.sha256 for key, row in read.outputs.items()} | self._files
        for row in read.scores:
            digest = now.get(row.case_id, row.seen)
            yield row, as_valid_now(row, made.get((row.case_id, row.k)), digest)

    def set_scores(self) -> list[SetRow]:
        """Scores of sets; one of other outputs or cases than those of now is a reason."""
        with self.ledger() as ledger:
            return ledger.current_sets(self.digests, self._files)

    def frame(self) -> pl.DataFrame:
        """The long table: one row per case, k and metric, with a value or a reason.

        Cases and outputs are read again: what was scored before they changed is no score of now.
        Where they are not at hand, the scores are given as they were written.
        """
        self._look_if_there()
        return self.table()

    def _look_if_there(self) -> None:
        try:
            self.look_again()
        except InputError:
            self.__dict__["states"] = {}
        self.look_at_outputs()

    def outdated(self, table: pl.DataFrame) -> tuple[int, set[str]]:
        """How many scores are of outputs or cases as they were before, and of which cases."""
        import polars as pl

        old = table.filter(pl.col("reason").is_in([STALE, STALE_CASE]))
        cases = set(old["case"]) or self._changed()
        sets = [row for row in self.set_scores() if row.reason == STALE_SET] if cases else []
        return old.height + len(sets), cases if sets else set(old["case"])

    def _changed(self) -> set[str]:
        """The cases that are not, or whose outputs are not, as the ledger knows them."""
        with self.ledger() as ledger:
            known = {key: row.sha256 for key, row in ledger.outputs().items()}
        replaced = {key[0] for key, sha in self._files.items() if sha != known.get(key)}
        return replaced | {case_id for case_id, state in self.states.items() if state.changed}

    def table(self, read: Contents | None = None) -> pl.DataFrame:
        """The same as `frame`, for the cases as they were last looked at."""
        return score_table(self, read or self.contents())

    def sets(self) -> pl.DataFrame:
        """Scores of the outputs as a set: one row per metric, for all and for each group ("part").

        `n` outputs were compared with `n_references` references.
        """
        self._look_if_there()
        return set_table(self)

    @contextmanager
    def locked(self) -> Iterator[Ledger]:
        """The ledger, for writing; a second process is refused at once."""
        with _lock(self.path):
            for folder in (EDITS, ATTENTION, CHANGE, ATTEMPTS):
                sweep(self.path / folder)
            with self.ledger() as ledger:
                if ledger.is_renewed():
                    raise BusyError(
                        f"{self.path}: another medebench upgraded its ledger; run again"
                    )
                self.recovery = recover(self, ledger)
                ledger.upgrade()
                yield ledger


@contextmanager
def open_ledgers(runs: Sequence[Run]) -> Iterator[list[Ledger]]:
    """The ledgers of `runs`, opened once for everything inside."""
    with ExitStack() as stack:
        yield [stack.enter_context(run.ledger()) for run in runs]


def cases_of(runs: Sequence[Run]) -> CaseSet:
    """Every case that one of the runs is about, as far as it is still there."""
    known = {case.id: case for run in reversed(runs) for case in run.cases}
    return replace(runs[0].cases, cases=tuple(known.values()))


def open_run(path: str | Path) -> Run:
    """Open a run that exists.

    Args:
        path: its folder.

    Returns:
        The run. Nothing but `run.json` is read yet.

    >>> run = mb.edit("phantoms:count=2", "identity", tmp / "opened")
    >>> mb.open_run(tmp / "opened").info.cases.count
    2
    """
    path = Path(path).expanduser().absolute()
    info = path / INFO
    if not info.is_file():
        raise InputError(f"{path}: not a run (it has no {INFO}){_instead(path)}")
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


def _instead(path: Path) -> str:
    """What may be meant by a folder that is not a run."""
    if not path.is_dir():
        return "; no such folder"
    if inner := sorted(one.parent.name for one in path.glob(f"*/{INFO}")):
        return f"; it holds runs ({', '.join(inner[:3])}): name them, as in {path}/*"
    return (
        "; outputs that exist already become one with "
        f"`medebench adopt {path} --cases CASES --out RUN`"
    )


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
        raise BusyError(
            f"{path}: another medebench is working on this run; wait for it to finish"
        ) from None
