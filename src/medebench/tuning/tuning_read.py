"""`read_outcome`: what an experiment has come to so far, from its folder alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medebench.errors import InputError
from medebench.files import read_bytes
from medebench.runs import Run, open_run
from medebench.runs.case_state import CasesNow
from medebench.runs.run_folder import INFO
from medebench.tuning.tuning_arms import Planned, plan_trainings, shown_counts
from medebench.tuning.tuning_design import Arm, Fold, Untrained
from medebench.tuning.tuning_folder import (
    ADAPTER,
    FAILED,
    FINISHED,
    RUN,
    TuningFolder,
    read_tuning,
)
from medebench.tuning.tuning_outcome import TrainingFacts, TuningOutcome

if TYPE_CHECKING:
    import polars as pl

_PLACE = ("task", "arm", "samples", "draw", "seed", "fold")
SCORES = (*_PLACE, "case", "source", "elsewhere", "metric", "value", "reason")
NEAREST = (*_PLACE, "case", "to_training", "to_other")
_WHOLE = ("samples", "draw", "seed", "fold")

_NOT_YET = "not done yet"


def read_outcome(folder: str | Path | TuningFolder) -> TuningOutcome:
    """All scores and facts that are there; what is not done yet stands in `open`, with reasons."""
    found = folder if isinstance(folder, TuningFolder) else read_tuning(folder)
    return _Reader(found).outcome()


@dataclass
class _Reader:
    folder: TuningFolder
    now: CasesNow = field(default_factory=CasesNow)
    open: dict[str, str] = field(default_factory=dict)
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    near: list[tuple[Any, ...]] = field(default_factory=list)
    trainings: list[TrainingFacts] = field(default_factory=list)

    def outcome(self) -> TuningOutcome:
        for arm in ("untouched", "blank", "copy", "reference"):
            self._untrained(arm)
        self._in_context()
        for one in plan_trainings(self.folder.design, self.folder.split):
            self._trained(one)
        return TuningOutcome(
            self.folder.design,
            self.folder.split.folds,
            _frame(SCORES, self.rows),
            self.trainings,
            _frame(NEAREST, self.near),
            self.open,
            self.folder.facts,
        )

    def _untrained(self, arm: Untrained) -> None:
        run = self._run(self.folder.untrained(arm), arm)
        if run is None:
            return
        table = self._table(run)
        for fold in self.folder.split.folds:
            self._add((fold.task, arm, 0, -1, -1, fold.fold), table, fold.test, elsewhere=False)
        for task, cases in self.folder.split.elsewhere.items() if arm == "untouched" else ():
            self._add((task, arm, 0, -1, -1, -1), table, cases, elsewhere=True)

    def _in_context(self) -> None:
        folder, arm = self.folder, "in-context"
        for shown in shown_counts(folder.design):
            if shown == 0:
                if (run := self._run(folder.without_any, "in-context/k0")) is not None:
                    table = self._table(run)
                    for fold in folder.split.folds:
                        self._add((fold.task, arm, 0, -1, -1, fold.fold), table, fold.test, False)
                continue
            for fold, draw in self._drawn():
                path = folder.in_context(fold, draw, shown)
                if (run := self._run(path, f"in-context/{fold.task}/{path.name}")) is not None:
                    place = fold.task, arm, shown, draw, -1, fold.fold
                    self._add(place, self._table(run), fold.test, elsewhere=False)

    def _drawn(self) -> Iterator[tuple[Fold, int]]:
        for fold in self.folder.split.folds:
            for draw in range(self.folder.design.draws):
                yield fold, draw

    def _trained(self, one: Planned) -> None:
        place, done = self.folder.training(one), one.training
        if (told := finished(place)) is None:
            self.open[one.name] = failure(place) or _NOT_YET
            return
        run = self._run(place / RUN, one.name)
        if run is None:
            return
        losses = float(told["first_loss"]), float(told["last_loss"])
        self.trainings.append(TrainingFacts(done, place / ADAPTER, float(told["seconds"]), *losses))
        table = self._table(run)
        (fold,) = (
            fold
            for fold in self.folder.split.folds
            if (fold.task, fold.fold) == (done.task, done.fold)
        )
        for arm in one.arms:
            at = done.task, arm, done.samples, done.draw, done.seed, done.fold
            self._add(at, table, fold.test, elsewhere=False)
            self._add(at, table, self.folder.split.elsewhere[done.task], elsewhere=True)
            self.near += [
                (*at, near["case"], near["to_training"], near["to_other"])
                for near in told["nearest"]
            ]

    def _run(self, path: Path, name: str) -> Run | None:
        if not (path / INFO).is_file():
            self.open[name] = failure(path) or _NOT_YET
            return None
        return open_run(path)

    def _table(self, run: Run) -> Mapping[str, list[tuple[Any, ...]]]:
        """By case its scores; those of a changed case or output are reasons."""
        try:
            run.look_again(self.now)
        except InputError:
            # The cases are not at hand: the scores as they were written.
            run.__dict__["states"] = {}
        run.look_at_outputs()
        found: dict[str, list[tuple[Any, ...]]] = {}
        columns = ("case", "source", "metric", "value", "reason")
        for case, *rest in run.table().select(columns).iter_rows():
            found.setdefault(case, []).append(tuple(rest))
        return found

    def _add(
        self,
        place: tuple[str, Arm | Untrained | str, int, int, int, int],
        table: Mapping[str, list[tuple[Any, ...]]],
        cases: Iterable[str],
        elsewhere: bool,
    ) -> None:
        for case in cases:
            for source, *score in table.get(case, ()):
                self.rows.append((*place, case, source, elsewhere, *score))


def finished(place: Path) -> dict[str, Any] | None:
    """The facts of a training that is done; None for one that is not."""
    return _told(place / FINISHED)


def failure(place: Path) -> str | None:
    """Why a training was not done, when it was last tried."""
    told = _told(place / FAILED)
    return None if told is None else str(told["reason"])


def _told(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(read_bytes(path))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: cannot be read ({error}); remove it to do the work anew"
        ) from None
    return found


def _frame(columns: Iterable[str], rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    import polars as pl

    kinds: dict[str, Any] = dict.fromkeys(_WHOLE, pl.Int64) | {"elsewhere": pl.Boolean}
    kinds |= dict.fromkeys(("value", "to_training", "to_other"), pl.Float64)
    schema = {name: kinds.get(name, pl.String) for name in columns}
    return pl.DataFrame(rows, schema=schema, orient="row")
