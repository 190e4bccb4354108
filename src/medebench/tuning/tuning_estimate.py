"""What an experiment would take, before anything is done."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from medebench.cases import open_case
from medebench.errors import InputError, MedebenchError
from medebench.files import write_json
from medebench.judge import Judge
from medebench.models import Ask, Plan
from medebench.models.tally import add_plans
from medebench.outputs import Output
from medebench.page.number import counted
from medebench.progress import Progress
from medebench.runs import generate
from medebench.runs.generate_run import estimate_generation
from medebench.runs.stages.judge_scores import JudgeLimits, JudgeScores
from medebench.tuning.train_adapter import train_adapter
from medebench.tuning.tuning_arms import plan_trainings
from medebench.tuning.tuning_jobs import TrainJob
from medebench.tuning.tuning_read import finished
from medebench.tuning.tuning_run import TuningWork, is_done
from medebench.tuning.tuning_split import is_too_small, whole_order
from medebench.tuning.tuning_workers import in_processes

#: Cases whose references stand in for outputs when judging is estimated.
_LOOKED_AT = 4
#: Steps of the two short trainings whose difference is timed.
_TIMED = (2, 6)


@dataclass(frozen=True)
class Speed:
    """How long things take here, in seconds."""

    step: float
    output: float


@dataclass(frozen=True)
class TaskPlan:
    """How the cases of a task are used."""

    task: str
    tested: int
    #: More than 1: all cases are tested, in turn.
    folds: int
    #: Pairs that draws are made from, of the fold that has the fewest.
    pool: int

    def in_words(self) -> str:
        """
        >>> TaskPlan("Reconstruct ear", 31, 3, 20).in_words()
        'Reconstruct ear: cross-fitted in 3 folds, all 31 cases tested, pairs drawn from 20 others'
        """
        parts = f"cross-fitted in {self.folds} folds, all " if self.folds > 1 else ""
        tested = f"{counted(self.tested, 'case')} tested"
        return f"{self.task}: {parts}{tested}, pairs drawn from {self.pool} others"


@dataclass(frozen=True)
class TuningEstimate:
    """What is left to do, and what it would take."""

    tasks: tuple[TaskPlan, ...]
    #: Tasks with too few pairs for as many samples.
    too_small: tuple[str, ...]
    arms: tuple[str, ...]
    primary: str
    trainings: int
    done: int
    steps: int
    #: Folders of outputs that are made beside the trainings' own.
    runs: int
    outputs: int
    processes: int
    #: Calls of the system in context and of the judge; cost None where no price is known.
    shown_calls: int = 0
    shown_cost: float | None = 0.0
    judge_calls: int = 0
    judge_cost: float | None = 0.0
    #: Of all processes together; None: not known before something was done or measured.
    seconds: float | None = None
    #: Bytes that one training takes on its device, and that all adapters take on the disk.
    memory: int | None = None
    disk: int | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def words(self) -> list[str]:
        """A line for each thing."""
        lines = [one.in_words() for one in self.tasks]
        if self.too_small:
            lines.append(f"left out, too few pairs: {', '.join(self.too_small)}")
        besides = f", {self.runs:,} runs besides those of the trainings" if self.runs else ""
        done = f" ({self.done:,} already done)" if self.done else ""
        lines += [
            f"arms: {', '.join(self.arms)}; primary score: {self.primary}",
            f"{counted(self.trainings, 'training')}{done}, {counted(self.steps, 'step')} to go",
            f"{counted(self.outputs, 'output')} to make{besides}",
        ]
        if self.shown_calls:
            cost = _money(self.shown_cost)
            lines.append(f"in context: {self.shown_calls:,} calls to make, {cost}")
        if self.judge_calls:
            lines.append(
                f"judge: about {self.judge_calls:,} calls in all, {_money(self.judge_cost)}"
            )
        if self.seconds is None:
            lines.append("time: not known before a training is done; --measure times a few steps")
        else:
            where = f"{self.processes:,} process{'es' * (self.processes > 1)}"
            lines.append(f"time: about {_hours(self.seconds)} in {where}")
        if self.memory is not None:
            lines.append(f"memory: about {_bytes(self.memory)} for each training at a time")
        disk = (
            "not known before a training is done"
            if self.disk is None
            else f"about {_bytes(self.disk)}"
        )
        lines.append(f"disk for all adapters: {disk}")
        return lines


def estimate_tuning(work: TuningWork, measure: bool = False) -> TuningEstimate:
    """Nothing is written and no call is made; with `measure` a few steps are trained."""
    from medebench.tuning.training_memory import training_memory

    design, split = work.folder.design, work.folder.split
    planned = plan_trainings(design, split)
    told = [one for each in planned if (one := finished(work.folder.training(each)))]
    jobs, others = work.train_jobs(), work.output_jobs()
    shown = [one for one in work.shown_runs() if not is_done(one.path, one.cases, work.names)]
    speed = _seen(told)
    if speed is None and measure and jobs:
        speed = _measured(work, jobs[0])
    steps = sum(one.request.steps for one in jobs if finished(one.folder) is None)
    outputs = sum(len(one.cases) for one in jobs) + sum(len(one.cases) for one in others)
    seconds = None
    if speed is not None:
        # The controls among the untrained cost nothing beside a model.
        seconds = (steps * speed.step + outputs * speed.output) / len(work.places)
    asked = _in_context(work)
    judged = sum(len(run.cases) for run in work.shown_runs()) + outputs_of(work)
    plan = _judging(work, judged)
    small = [one for one in work.tasks.values() if one.task not in design.tasks]
    return TuningEstimate(
        tasks=tuple(_task_plan(work, one) for one in design.tasks),
        # Where another would have done, they were not left out for being small.
        too_small=tuple(one.task for one in small)
        if all(map(partial(is_too_small, design), small))
        else (),
        arms=design.arms,
        primary=design.primary,
        trainings=len(planned),
        done=len(told),
        steps=steps,
        runs=len(others) + len(shown),
        outputs=outputs + sum(len(one.cases) for one in shown),
        processes=len(work.places),
        shown_calls=0 if asked is None else asked.calls,
        shown_cost=0.0 if asked is None else asked.cost,
        judge_calls=0 if plan is None else plan.calls,
        judge_cost=0.0 if plan is None else plan.cost,
        seconds=seconds,
        memory=training_memory(design.system, design.train),
        disk=_disk(work, told, len(planned)),
    )


def _task_plan(work: TuningWork, task: str) -> TaskPlan:
    design = work.folder.design
    folds = [fold for fold in work.folder.split.folds if fold.task == task]
    pools = [len(whole_order(design, fold, work.tasks[task], 0)) for fold in folds]
    return TaskPlan(task, sum(len(fold.test) for fold in folds), len(folds), min(pools))


def outputs_of(work: TuningWork) -> int:
    """Of all trainings and untrained systems, done or not."""
    design, split = work.folder.design, work.folder.split
    tested = {(fold.task, fold.fold): len(fold.test) for fold in split.folds}
    further = {task: len(cases) for task, cases in split.elsewhere.items()}
    trained = (one.training for one in plan_trainings(design, split))
    total = sum(tested[one.task, one.fold] + further[one.task] for one in trained)
    return total + 4 * len(split.tested) + sum(further.values())


def _seen(told: Sequence[dict[str, Any]]) -> Speed | None:
    """As it went in this experiment so far."""
    if not told:
        return None
    step = statistics.median(one["seconds"] / one["steps"] for one in told)
    return Speed(step, statistics.median(one["output_seconds"] for one in told))


def _disk(work: TuningWork, told: Sequence[dict[str, Any]], trainings: int) -> int | None:
    if work.keep == "scores":
        return 0
    return int(statistics.median(one["bytes"] for one in told) * trainings) if told else None


def _in_context(work: TuningWork) -> Plan | None:
    plans = []
    for one in work.shown_runs():
        if is_done(one.path, one.cases, work.names):
            continue
        try:
            plans.append(
                estimate_generation(
                    work.cases.select(ids=list(one.cases)),
                    work.shown_system(len(one.shown)),
                    one.path,
                    seed=work.folder.design.seed,
                    shown=one.shown or None,
                )
            )
        except InputError:
            # A system on this machine makes no calls that cost.
            continue
    return add_plans(plans) if plans else None


def _judging(work: TuningWork, outputs: int) -> Plan | None:
    """As for the references of a few cases, for all outputs."""
    judge = work.judge
    if judge is None or judge.client is None:
        return None
    looked = work.folder.split.tested[:_LOOKED_AT]
    with JudgeScores(judge, JudgeLimits()).caller() as caller:
        plan = caller.plan(list(_asked(work, judge, looked)))
    often = outputs / len(looked)
    calls = plan.calls + plan.cached
    cost = None if plan.cost is None else plan.cost * often * calls / max(1, plan.calls)
    return replace(plan, calls=round(calls * often), cost=cost)


def _asked(work: TuningWork, judge: Judge, ids: Sequence[str]) -> Iterator[Ask]:
    for one in ids:
        case = open_case(work.cases[one])
        try:
            yield from judge.asks(judge.show(case, Output(case.reference)))
        except MedebenchError:
            continue


@dataclass(frozen=True)
class _TimeJob:
    """Two short trainings, and two outputs: what the longer takes more is what its steps take."""

    like: TrainJob
    out: Path
    name: str = "measure"
    size: int = sum(_TIMED)

    def do(self, device: str, threads: int, progress: Progress) -> None:
        took = []
        for steps in _TIMED:
            request = replace(self.like.request, steps=steps, device=device, validation=())
            took.append(train_adapter(request, self.out / str(steps), progress).seconds)
        run = generate(
            self.like.cases.select(limit=2),
            str(self.out / str(_TIMED[0])),
            self.out / "run",
            workers=threads,
        )
        # The first one loads.
        output = min(row.seconds for row in run.contents().outputs.values())
        step = max(0.0, took[1] - took[0]) / (_TIMED[1] - _TIMED[0])
        write_json(self.out / "speed.json", {"step": step, "output": output})


def _measured(work: TuningWork, job: TrainJob) -> Speed:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        with ExitStack() as stack:
            tell = stack.enter_context(work.bar("timing a few steps"))
            measured = in_processes([_TimeJob(job, out)], work.places[:1], tell)
            ((_, reason),) = stack.enter_context(closing(measured))
        if reason is not None:
            raise MedebenchError(f"measure: {reason}")
        told = json.loads((out / "speed.json").read_text("utf-8"))
    return Speed(told["step"], told["output"])


def _money(cost: float | None) -> str:
    return "price not known" if cost is None else f"about ${cost:,.2f}"


def _bytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _hours(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
