"""The only code that opens a case, feeds every stage that wants it, and writes the ledger.

A case is opened on a thread or in a process of the executor, for all stages and all runs at once.
What they can tell there is written as it comes; what waits for a device goes on in batches, what
waits for a model goes on to it, while the next cases are opened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from medebench.engine.batches import Batches
from medebench.engine.calls import run_calls
from medebench.engine.stages import Executor
from medebench.errors import MedebenchError
from medebench.models import NOT_ASKED, Failure
from medebench.progress import Progress, silent
from medebench.runs.failed_calls import Failures
from medebench.runs.ledger import AnyRow, Ledger, OutputRow, ScoreRow, SetRow
from medebench.runs.run_folder import Run
from medebench.runs.stages.output_stage import (
    DeviceStage,
    Found,
    Held,
    ModelStage,
    NotDone,
    OutputStage,
    Rows,
)
from medebench.runs.visits import Opened, Visit, open_wanted


class DiskError(MedebenchError):
    pass


@dataclass(frozen=True)
class Visited:
    """What the stages told of one case, and by their number what waits."""

    rows: Rows = field(default_factory=list)
    held: dict[int, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class CaseStage:
    """All stages of a command as one, which travels and is its own worker."""

    stages: tuple[OutputStage, ...]

    def open(self) -> CaseStage:
        return self

    def do(self, visits: Sequence[Visit]) -> Iterator[Visited]:
        for visit in visits:
            visited = Visited()
            for opened, wants in open_wanted(visit, self.stages):
                if row := opened.replaced():
                    visited.rows.append((opened.target.run, row))
                for number, names in enumerate(wants):
                    self._see(opened, number, names, visited)
            yield visited

    def _see(self, opened: Opened, number: int, names: Sequence[str], visited: Visited) -> None:
        found: Iterable[Found] = ()
        stage = self.stages[number]
        if aside := opened.set_aside(names):
            visited.rows.extend((opened.target.run, row) for row in aside)
            names = [name for name in names if name not in opened.target.set_aside]
        if names and stage.needs and opened.lacks(stage.needs):
            found = opened.without(stage.needs, names)
        elif names:
            found = stage.do(opened, names)
        for one in found:
            if isinstance(one, Held):
                visited.held.setdefault(number, []).append(one.item)
            else:
                visited.rows.append((opened.target.run, one))

    def close(self) -> None:
        for stage in self.stages:
            stage.close()


def drive(
    stages: Sequence[OutputStage],
    visits: Sequence[Visit],
    runs: Sequence[Run],
    ledgers: Sequence[Ledger],
    executor: Executor,
    *,
    progress: Progress = silent,
    failures: Failures | None = None,
) -> Counter[str]:
    """Do the work of all stages; returns why outputs were not even tried, and how many."""
    failures = Failures() if failures is None else failures
    work = _Work(stages, runs, ledgers, failures, progress, len(visits))
    with ExitStack() as stack:
        for device in work.devices.values():
            stack.callback(device.close)
        results = executor.run(CaseStage(tuple(stages)), visits)
        stack.callback(results.close)
        work.follow(visited for rows in results for visited in rows)
    for index, (run, ledger) in enumerate(zip(runs, ledgers, strict=True)):
        for stage in stages:
            _write_conclusions(ledger, stage.conclude(index, run, ledger, failures))
    return work.not_done


class _Work:
    """One command under way; all of it on the thread that owns ledgers and devices."""

    def __init__(
        self,
        stages: Sequence[OutputStage],
        runs: Sequence[Run],
        ledgers: Sequence[Ledger],
        failures: Failures,
        progress: Progress,
        total: int,
    ) -> None:
        numbered = list(enumerate(stages))
        self.devices: dict[int, Batches[Any, Rows]] = {
            number: Batches(one) for number, one in numbered if isinstance(one, DeviceStage)
        }
        self.not_done: Counter[str] = Counter()
        self._models = {number: one for number, one in numbered if isinstance(one, ModelStage)}
        assert len(self._models) <= 1, "one model is asked in a command"
        self._runs, self._ledgers, self._failures = runs, ledgers, failures
        self._progress, self._total, self._seen = progress, total, 0
        #: By visit, how many of its questions are open.
        self._open: Counter[int] = Counter()

    def follow(self, visits: Iterable[Visited]) -> None:
        self._tell()
        questions = self._see(visits)
        for model in self._models.values():
            self._ask(model, questions)
        for _ in questions:
            pass
        self._tell()

    def _see(self, visits: Iterable[Visited]) -> Generator[tuple[int, Any], None, None]:
        """Writes what is known and feeds devices; gives the questions for a model."""
        for number, visited in enumerate(visits):
            self._seen += 1
            questions: list[Any] = []
            self._write(visited.rows)
            for stage, items in visited.held.items():
                if stage in self._models:
                    questions, self._open[number] = items, len(items)
                    continue
                for rows in self.devices[stage].add(number, items):
                    self._write(rows)
            self._tell()
            yield from ((number, one) for one in questions)
        for device in self.devices.values():
            for rows in device.rest():
                self._write(rows)

    def _ask(self, model: ModelStage, questions: Iterable[tuple[int, Any]]) -> None:
        for (number, item), result in run_calls(model, questions):
            if isinstance(result, Failure):
                result = model.failed(item, result.reason, result.kind in NOT_ASKED)
            self._write(result, asked=True)
            self._open[number] -= 1
            if not self._open[number]:
                del self._open[number]
            self._tell()

    def _tell(self) -> None:
        waiting = set(self._open).union(*(device.visits for device in self.devices.values()))
        self._progress(self._seen - len(waiting), self._total)

    def _write(self, rows: Rows, asked: bool = False) -> None:
        for index, (run, ledger) in enumerate(zip(self._runs, self._ledgers, strict=True)):
            own: list[AnyRow] = []
            for number, row in rows:
                if number == index and isinstance(row, NotDone):
                    self.not_done[row.reason] += 1
                elif number == index and not isinstance(row, NotDone):
                    own.append(row)
            if not own:
                continue
            ledger.write(*own)
            outputs = [row for row in own if isinstance(row, OutputRow)]
            scores = [row for row in own if isinstance(row, ScoreRow)]
            self._failures.note(outputs)
            # A model that was asked in vain is a failure, a score that is undefined is none.
            (self._failures.note if asked else self._failures.note_broken)(scores)
            for one in outputs:
                if trouble := one.detail.get("disk"):
                    raise DiskError(f"{run.path}: {trouble} with --retry-failed")


def _write_conclusions(ledger: Ledger, rows: Sequence[ScoreRow | SetRow]) -> None:
    if scores := [row for row in rows if isinstance(row, ScoreRow)]:
        ledger.write(*scores)
    sets: dict[str, list[SetRow]] = {}
    for row in rows:
        if isinstance(row, SetRow):
            sets.setdefault(row.metric, []).append(row)
    for metric, own in sets.items():
        ledger.write_sets(metric, own)
