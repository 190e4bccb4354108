"""Carrying out an experiment: what is there already is not done again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from medebench.cases import Case, CaseSet
from medebench.errors import MedebenchError
from medebench.files import sha256
from medebench.judge import Judge
from medebench.progress import Bar, no_bar
from medebench.runs import Run, generate, open_run, score
from medebench.runs.failed_calls import Failures
from medebench.runs.run_folder import INFO
from medebench.runs.stages.judge_scores import JudgeLimits
from medebench.systems import SystemInstance, find_system
from medebench.systems.system_folder import FILE as SYSTEM
from medebench.tuning.train_request import TrainRequest
from medebench.tuning.tuning_arms import Planned, plan_trainings, shown_counts
from medebench.tuning.tuning_design import Fold, Training
from medebench.tuning.tuning_folder import ADAPTER, PROGRESS, RUN, TuningFolder
from medebench.tuning.tuning_jobs import Keep, OutputJob, TrainJob, note_failure, untrained_calls
from medebench.tuning.tuning_read import finished
from medebench.tuning.tuning_split import TaskCases, longest, whole_order
from medebench.tuning.tuning_workers import Job, Place, in_processes

#: Runs that a judge is shown together: each of them has files open meanwhile.
_AT_ONCE = 20
#: Title of the longest part of the work, which a page shows meanwhile.
TRAINING = "training and editing"
#: Cases that are drawn during the first training of each kind.
_WATCHED = 2


@dataclass
class TuningWork:
    """An experiment whose parts are all ready."""

    folder: TuningFolder
    cases: CaseSet
    tasks: Mapping[str, TaskCases]
    #: As they are called, and the names of the scores.
    metrics: tuple[str, ...]
    names: tuple[str, ...]
    places: Sequence[Place]
    keep: Keep = "adapters"
    judge: Judge | None = None
    max_cost: float | None = None
    retry_failed: bool = False
    bar: Bar = no_bar
    failures: Failures = field(default_factory=Failures)
    #: What could not be finished now (no money, no connection), a line each.
    stopped: list[str] = field(default_factory=list)
    #: By training, why it failed now.
    crashed: dict[str, str] = field(default_factory=dict)

    def run(self) -> None:
        """In-context first: what is wrong with a key or a server shows before days of training."""
        self.show()
        self._in_processes([*self.output_jobs(), *self.train_jobs()])
        self._judged()

    def output_jobs(self) -> list[OutputJob]:
        """Of what nobody trains; the untouched model also where forgetting is measured."""
        split, found = self.folder.split, []
        tested = split.tested
        further = [case for ids in split.elsewhere.values() for case in ids]
        for arm, call in untrained_calls(self.folder.design.system).items():
            ids = list(dict.fromkeys(tested + further)) if arm == "untouched" else tested
            path = self.folder.untrained(arm)
            if self.retry_failed or not is_done(path, ids, self.names):
                some, seed = self.cases.select(ids=ids), self.folder.design.seed
                found.append(
                    OutputJob(arm, call, some, path, seed, self.metrics, self.retry_failed)
                )
        return found

    def train_jobs(self) -> list[TrainJob]:
        """Those of the design that are not done, or whose failed outputs are to be tried again."""
        planned = plan_trainings(self.folder.design, self.folder.split)
        places = ((one, self.folder.training(one)) for one in planned)
        return [
            self._job(one)
            for one, place in places
            if finished(place) is None or (self.retry_failed and _lacks_outputs(place))
        ]

    def _job(self, one: Planned) -> TrainJob:
        design, split, training = self.folder.design, self.folder.split, one.training
        place = training.task, training.fold
        (fold,) = (fold for fold in split.folds if (fold.task, fold.fold) == place)
        unused = self._unused(fold, training)
        watched = training.draw == training.seed == 0 and training.arm != "other-task"
        request = TrainRequest(
            design.system,
            tuple((self.cases[shown], self.cases[taught]) for shown, taught in one.pairs),
            training.steps,
            training_seed(design.seed, training),
            design.train,
            validation=self._validation(fold, training.draw) if watched else (),
            card=self._card(one),
        )
        return TrainJob(
            one.name,
            self.folder.training(one),
            request,
            self.cases.select(ids=[*fold.test, *split.elsewhere[training.task]]),
            fold.test,
            unused,
            design.seed,
            self.metrics,
            self.keep,
            self.retry_failed,
        )

    def _unused(self, fold: Fold, training: Training) -> tuple[Case, ...]:
        """As many pairs of the same task as are learned from, none of them kin to those."""
        if training.arm == "other-task":
            one = self.tasks[self.folder.split.donor(fold, training.draw).of]
            order = one.cases
        else:
            one = self.tasks[training.task]
            order = whole_order(self.folder.design, fold, one, training.draw)
        learned = set(training.cases)
        kin = {case for group in one.groups if learned & set(group) for case in group}
        free = [case for case in order if case not in kin]
        return tuple(self.cases[case] for case in free[: training.samples])

    def _validation(self, fold: Fold, draw: int) -> tuple[Case, ...]:
        design = self.folder.design
        order = whole_order(design, fold, self.tasks[fold.task], draw)
        return tuple(self.cases[case] for case in order[longest(design) :][:_WATCHED])

    def _card(self, one: Planned) -> dict[str, object]:
        training, facts = one.training, self.folder.facts
        told = {"task": training.task, "arm": " and ".join(one.arms), "samples": training.samples}
        told |= {"draw": training.draw, "seed": training.seed, "fold": training.fold}
        return told | {"case set": facts.get("source"), "data fingerprint": facts.get("cases")}

    def _in_processes(self, jobs: Sequence[Job]) -> None:
        if not jobs:
            return
        from medebench.tuning.page import state_of, write_progress

        with ExitStack() as stack:
            tell = stack.enter_context(self.bar(TRAINING))

            def progress(done: int, total: int) -> None:
                tell(done, total)
                # At most every few seconds; people may look at it meanwhile.
                write_progress(self.folder.path / PROGRESS, lambda: state_of(self.folder))

            results = stack.enter_context(closing(in_processes(jobs, self.places, progress)))
            for job, reason in results:
                if reason is not None:
                    self.crashed[job.name] = reason
                    if isinstance(job, TrainJob):
                        note_failure(job.folder, reason)

    def show(self) -> None:
        """All runs of the system in context."""
        design = self.folder.design
        counts = shown_counts(design)
        if not counts:
            return
        with self.bar("in context") as progress:
            wanted = list(self.shown_runs())
            for done, one in enumerate(wanted):
                progress(done, len(wanted))
                try:
                    self._shown(one)
                except MedebenchError as error:
                    self.stopped.append(str(error))
                    break
            progress(len(wanted), len(wanted))

    def shown_runs(self) -> Iterator[ShownRun]:
        """All runs of the system that is shown pairs."""
        design, split = self.folder.design, self.folder.split
        for count in shown_counts(design):
            if count == 0:
                yield ShownRun(self.folder.without_any, tuple(split.tested), ())
                continue
            for draw in range(design.draws):
                for fold in split.folds:
                    path = self.folder.in_context(fold, draw, count)
                    yield ShownRun(path, fold.test, fold.draws[draw][:count])

    def _shown(self, one: ShownRun) -> None:
        if not self.retry_failed and is_done(one.path, one.cases, self.names):
            return
        run = generate(
            self.cases.select(ids=list(one.cases)),
            self.shown_system(len(one.shown)),
            one.path,
            seed=self.folder.design.seed,
            shown=one.shown or None,
            retry_failed=self.retry_failed,
            failures=self.failures,
        )
        if self.metrics:
            score(
                run,
                list(self.metrics),
                retry_failed=self.retry_failed,
                failures=self.failures,
            )

    def shown_system(self, count: int) -> SystemInstance:
        """What is left of its budget is for all runs together."""
        call = self.folder.design.in_context
        most = find_system(call).runtime_only.get("max_cost")
        left = {} if most is None else {"max_cost": max(0.0, float(most) - self._spent())}
        return find_system(call, {"demonstrations": count, **left})

    def _spent(self) -> float:
        made = [one.path for one in self.shown_runs() if (one.path / INFO).is_file()]
        return sum(open_run(path).contents().editing_cost for path in made)

    def _judged(self) -> None:
        if self.judge is None:
            return
        from medebench.tuning.page import state_of, write_progress

        runs = self.made_runs()
        with self.bar("judging") as progress:
            for start in range(0, len(runs), _AT_ONCE):
                some = runs[start : start + _AT_ONCE]

                def tell(done: int, total: int, before: int = start, now: int = len(some)) -> None:
                    progress(before + now * done // max(1, total), len(runs))
                    write_progress(
                        self.folder.path / PROGRESS, lambda: state_of(self.folder, doing="judging")
                    )

                try:
                    limits = JudgeLimits(max_cost=self._left_for_judge(runs))
                    score(
                        some,
                        [],
                        self.judge,
                        limits=limits,
                        retry_failed=self.retry_failed,
                        progress=tell,
                        failures=self.failures,
                    )
                except MedebenchError as error:
                    self.stopped.append(str(error))
                    return
            progress(len(runs), len(runs))

    def _left_for_judge(self, runs: Sequence[Run]) -> float | None:
        if self.max_cost is None:
            return None
        return max(0.0, self.max_cost - sum(run.contents().cost for run in runs))

    def made_runs(self) -> list[Run]:
        """All that hold outputs of the design."""
        folder = self.folder
        paths = [folder.untrained(arm) for arm in untrained_calls(folder.design.system)]
        paths += [one.path for one in self.shown_runs()]
        planned = plan_trainings(folder.design, folder.split)
        done = (folder.training(one) for one in planned)
        paths += [path / RUN for path in done if finished(path) is not None]
        return [open_run(path) for path in paths if (path / INFO).is_file()]


@dataclass(frozen=True)
class ShownRun:
    """A run of the system in context: which cases, shown which pairs in which order."""

    path: Path
    cases: tuple[str, ...]
    shown: tuple[str, ...]


def training_seed(seed: int, training: Training) -> int:
    """The same noise for every arm and number of samples of one draw, fold and seed."""
    named = f"{seed}/{training.task}/{training.fold}/{training.draw}/{training.seed}"
    return int(sha256(named.encode())[:8], 16) >> 1


def _lacks_outputs(place: Path) -> bool:
    """Whether a training that is done, and still is a system, could not edit some case."""
    if not (place / ADAPTER / SYSTEM).is_file() or not (place / RUN / INFO).is_file():
        return False
    made = open_run(place / RUN).contents().outputs.values()
    return any(one.reason is not None for one in made)


def is_done(path: Path, cases: Sequence[str], metrics: Sequence[str]) -> bool:
    """Whether a run has all outputs that were asked for, and all scores of them."""
    if not (path / INFO).is_file():
        return False
    read = open_run(path).contents()
    scored = {(row.case_id, row.metric) for row in read.scores}
    made = {case for case, _ in read.outputs}
    return set(cases) <= made and all((case, one) in scored for case in cases for one in metrics)
