"""Running a plan: everything is checked first, then generated, scored, grounded and reported."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from medebench.audit import without_findings
from medebench.audit.split import split
from medebench.cases import load_cases
from medebench.errors import InputError, MedebenchError, NotReadyError
from medebench.grounding import Thresholds
from medebench.judge import Judge, ModelJudge
from medebench.metrics import AnyMetric, find_learned, find_metrics
from medebench.page.section import Section
from medebench.plan.plan_model import AdoptEntry, Plan, SystemEntry, load_plan
from medebench.plan.sweep import Aim, choose, find_aim, find_sweep
from medebench.progress import Bar, no_bar
from medebench.reporting import Report, build_report
from medebench.runs import Run, adopt, generate, ground, open_run, score
from medebench.runs.adoption import match_outputs
from medebench.runs.failed_calls import Failures
from medebench.runs.generate_run import NotAllTriedError, require_parts
from medebench.runs.run_folder import INFO, Tuned
from medebench.runs.score_run import judge_for, task_metrics
from medebench.runs.stages.judge_scores import JudgeLimits
from medebench.settings import in_words, read_settings, split_name
from medebench.systems import SYSTEMS, SystemInstance, find_system
from medebench.systems.system_folder import system_folder
from medebench.tasks import Task, find_task
from medebench.tuning.page import tuning_section
from medebench.tuning.tuning_call import TuningResult

#: Folder of the experiment under `tuning`.
TUNING = "tuning"
REPORT = "report"


@dataclass(frozen=True)
class PlanResult:
    """What a plan has come to."""

    runs: list[Run]
    report: Report | None = field(repr=False)
    #: Outputs that could not be made.
    failed: int
    #: Optional systems that are not ready here, and why.
    skipped: tuple[str, ...] = ()
    #: What could not be finished now (no money, no connection), a line each.
    stopped: tuple[str, ...] = ()
    #: Calls of systems and judges that failed now, not in an earlier command.
    failures: Failures = field(default_factory=Failures)
    #: The experiment under `tuning`, if there is one.
    tuning: TuningResult | None = field(default=None, repr=False)


def run_plan(
    plan: Plan | str | Path = "demo",
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    retry_failed: bool = False,
    bar: Bar = no_bar,
) -> PlanResult:
    """Do everything a plan says: edit, score, ground, report. Run again, it continues.

    Nothing is written before all of the plan makes sense.

    Args:
        plan: a YAML file, the name of a built-in plan, or a plan that was loaded.
        out: folder for runs and report; by default the plan's.
        workers: threads; all cores by default.
        retry_failed: also retry items that failed before.
        bar: opens a progress bar for each part of the work.

    Returns:
        The runs, the report, and what failed, was skipped or could not be finished.

    >>> plan = tmp / "plan.yaml"
    >>> text = "{cases: 'phantoms:count=2', editors: [blur], metrics: [cp], report: false}"
    >>> _ = plan.write_text(text)
    >>> [run.name for run in mb.run_plan(plan).runs]
    ['blur']
    """
    if not isinstance(plan, Plan):
        plan = load_plan(str(plan), None if out is None else Path(out))
    elif out is not None:
        plan = replace(plan, out=Path(out).expanduser().absolute())
    try:
        return _Job(plan, workers, retry_failed, bar).run()
    except NotReadyError:
        raise
    except InputError as error:
        text = str(error)
        raise InputError(text if plan.name in text else f"plan {plan.name}: {text}") from error


@dataclass(frozen=True)
class _Ready:
    """A system of the plan: one, or one for each combination of a sweep."""

    entry: SystemEntry
    chosen: list[SystemInstance]
    combinations: list[dict[str, Any]]


class _Job:
    """A plan that makes sense, with all it names found and checked; nothing is written yet."""

    def __init__(self, plan: Plan, workers: int | None, retry_failed: bool, bar: Bar) -> None:
        self.plan, self.bar = plan, bar
        #: What could not be finished now, a line each; the rest is done nevertheless.
        self.stopped: list[str] = []
        self.failures = Failures()
        self.how: dict[str, Any] = {"workers": workers, "retry_failed": retry_failed}
        model = plan.model
        with bar("reading cases") as progress:
            task = None if model.task is None else _local(plan, model.task)
            cases = load_cases(plan.path(model.cases), task=task, progress=progress)
        #: The cases that are reported, and those that settings are chosen on.
        self.cases = self.others = cases.select(organs=model.organs, limit=model.limit)
        what = find_task(cases.task)
        named = None if model.metrics is None else [_local(plan, one) for one in model.metrics]
        self.metrics = find_metrics(task_metrics(cases.task, named))
        self.judge: Judge | ModelJudge | None = None
        if model.judge is not None:
            name, options = _local(plan, model.judge.name), model.judge.options()
            self.judge = judge_for(cases.task, name, options)
        self.thresholds: Thresholds | None = None
        if model.ground is not None and "image" in what.gives:
            given = model.ground.thresholds
            self.thresholds = read_settings(Thresholds, given, "ground.thresholds")
        if model.without:
            # Done once and remembered; a name that is none is said here.
            with bar("checking the cases") as progress:
                without_findings(self.cases, model.without, workers=workers, progress=progress)
        self.systems, self.skipped = _ready(plan, what)
        #: Whether more of the score that chooses is better.
        self.aim = Aim()
        if (choice := model.choose) is not None:
            self.aim = find_aim(choice.metric, self.metrics, self.judge)
            self.others, self.cases = split(self.cases, choice.share, choice.seed, workers)
        for taken in model.adopt:
            match_outputs(Path(plan.path(taken.folder)), self.cases)
        self.tuning = model.tuning and model.tuning.seen_from(partial(_local, plan))
        if self.tuning is not None:
            with _field("tuning"):
                self.tuning.check(self.cases, plan.out / TUNING, model.seed, bar)

    def run(self) -> PlanResult:
        model = self.plan.model
        names = self._names()
        made = [self._made(one, name) for one, name in zip(self.systems, names, strict=False)]
        runs = [run for run in made if run is not None and _has_outputs(run)]
        runs += [
            self._adopted(one, name)
            for one, name in zip(model.adopt, names[len(made) :], strict=True)
        ]
        if not runs and model.tuning is None:
            raise MedebenchError("\n".join(self.stopped))
        report = self._scored(runs) if runs else None
        failed = sum(map(_failed, runs))
        stopped, tuning = tuple(self.stopped), self._tuning()
        # Trainings take days: the report is there before, and says more afterwards.
        if report is not None and (learned := self._learned(tuning)) is not None:
            report = self._reported(runs, [learned])
        return PlanResult(runs, report, failed, self.skipped, stopped, self.failures, tuning)

    def _tuning(self) -> TuningResult | None:
        if self.tuning is None:
            return None
        return self.tuning.run(
            self.cases,
            self.plan.out / TUNING,
            self.plan.model.seed,
            retry_failed=self.how["retry_failed"],
            command=f"medebench run {self.plan.name}",
            bar=self.bar,
        )

    def _learned(self, tuning: TuningResult | None) -> Section | None:
        """The experiment as a section of the report; None where there is nothing to say yet."""
        if tuning is None or tuning.outcome is None or tuning.answers is None:
            return None
        page = ""
        if tuning.index is not None:
            page = Path(os.path.relpath(tuning.index, self.plan.out / REPORT)).as_posix()
        return tuning_section(tuning.outcome, tuning.answers, page=page)

    def _scored(self, runs: list[Run]) -> Report | None:
        model = self.plan.model
        self._score("scoring", runs, self.metrics, self.judge, model.without)
        if self.thresholds is not None:
            with self.bar("grounding") as progress:
                ground(runs, thresholds=self.thresholds, progress=progress, **self.how)
        return self._reported(runs)

    def _reported(self, runs: list[Run], sections: Sequence[Section] = ()) -> Report | None:
        model = self.plan.model
        if model.report is None:
            return None
        with self.bar("reporting") as progress:
            return build_report(
                runs,
                self.plan.out / REPORT,
                headline=model.report.headline,
                title=model.report.title,
                published=model.report.published,
                failures=model.report.failures,
                scale=model.report.scale,
                audit=model.report.audit,
                without=model.without,
                sections=sections,
                workers=self.how["workers"],
                progress=progress,
            )

    def _names(self) -> list[str]:
        names = [_run_name(one.entry, one.chosen[0]) for one in self.systems]
        names += [one.name or Path(one.folder).name for one in self.plan.model.adopt]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"two runs are called '{twice[0]}'; give one a 'name'")
        return names

    def _made(self, one: _Ready, name: str) -> Run | None:
        model, entry = self.plan.model, one.entry
        seed = model.seed if entry.seed is None else entry.seed
        folder = self.plan.out / "runs" / name
        try:
            tuned = self._tuned(one, name, seed) if one.combinations else None
            _check_choice(folder, tuned)
            with self.bar(f"{_doing(one)} with {name}") as progress:
                return generate(
                    self.cases,
                    one.chosen[tuned.best if tuned else 0],
                    folder,
                    seed=seed,
                    outputs=entry.outputs or model.outputs,
                    tuned=tuned,
                    progress=progress,
                    failures=self.failures,
                    **self.how,
                )
        except NotAllTriedError as error:
            self.stopped.append(str(error))
            return open_run(folder) if (folder / INFO).exists() else None

    def _tuned(self, one: _Ready, name: str, seed: int) -> Tuned:
        """Every setting on the other cases, scored as far as the choice needs it."""
        assert self.plan.model.choose is not None
        metric = self.plan.model.choose.metric
        with self.bar(f"trying settings of {name}") as progress:
            sweep = generate(
                self.others,
                one.chosen,
                self.plan.out / "sweeps" / name,
                seed=seed,
                # Demonstrations from the reported cases would have a say in the choice.
                pool=self.others,
                progress=progress,
                failures=self.failures,
                **self.how,
            )
        needed = [each for each in self.metrics if each.name == metric]
        self._score(f"scoring settings of {name}", [sweep], needed, None if needed else self.judge)
        return choose(sweep, metric, self.aim, one.combinations)

    def _adopted(self, entry: AdoptEntry, name: str) -> Run:
        with self.bar(f"adopting {name}") as progress:
            return adopt(
                Path(self.plan.path(entry.folder)),
                self.cases,
                self.plan.out / "runs" / name,
                name=name,
                control=entry.control,
                workers=self.how["workers"],
                progress=progress,
                failures=self.failures,
            )

    def _score(
        self,
        title: str,
        runs: list[Run],
        metrics: list[AnyMetric],
        judge: Judge | ModelJudge | None,
        without: Sequence[str] = (),
    ) -> None:
        asked = self.plan.model.judge
        limits = JudgeLimits(max_cost=asked.max_cost if asked else None)
        with self.bar(title) as progress:
            told = {"progress": progress, "failures": self.failures, **self.how}
            score(runs, metrics, judge, limits=limits, without=without, **told)


def _ready(plan: Plan, task: Task) -> tuple[list[_Ready], tuple[str, ...]]:
    """The plan's systems; what one of them lacks is said before any of them begins."""
    systems: list[_Ready] = []
    lacking: list[str] = []
    skipped: list[str] = []
    for entry in plan.model.entries:
        call = _local(plan, entry.system)
        if entry.sweep:
            one = _Ready(entry, *find_sweep(call, entry.settings, entry.sweep))
        else:
            one = _Ready(entry, [find_system(call, entry.settings)], [])
        for each in one.chosen:
            require_parts(each, task)
        found = list(dict.fromkeys(lack for each in one.chosen for lack in each.lacks()))
        if not found:
            systems.append(one)
        (skipped if entry.optional else lacking).extend(found)
    if lacking:
        raise NotReadyError("\n".join(lacking))
    return systems, tuple(skipped)


def _local(plan: Plan, call: str) -> str:
    """`file.py:Name`, a folder that is a system, and a metric's `isim:folder`, as seen from the
    plan's folder."""
    learned = find_learned(call)
    if learned and learned.which and (plan.folder / learned.which).exists():
        return f"{learned.name}:{plan.folder / learned.which}"
    name = split_name(call)[0]
    beside = name not in SYSTEMS and system_folder(str(plan.folder / name)) is not None
    return str(plan.folder / call) if beside or ".py:" in name else call


def _run_name(entry: SystemEntry, chosen: SystemInstance) -> str:
    if entry.name is not None:
        return entry.name
    if "://" in entry.system:
        # An address may hold a password or a key, and names are shown everywhere.
        return chosen.name
    return re.sub(r"[^\w.=,-]+", "-", entry.system.rpartition("/")[2]).strip("-.") or chosen.name


@contextmanager
def _field(name: str) -> Iterator[None]:
    """What is wrong inside is wrong with this field of the plan."""
    try:
        yield
    except NotReadyError:
        raise
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _doing(one: _Ready) -> str:
    return "editing" if one.chosen[0].noun == "editor" else "running"


def _check_choice(folder: Path, tuned: Tuned | None) -> None:
    """A run that was made with what an earlier sweep chose is not continued with another choice."""
    if tuned is None or not (folder / INFO).exists():
        return
    before = open_run(folder).info.tuned
    if before is None:
        return
    old, new = before.tried[before.best].settings, tuned.tried[tuned.best].settings
    if old != new:
        raise InputError(
            f"{folder}: was made with {in_words(old)}, and the sweep now chooses {in_words(new)}; "
            "remove that folder to have it made anew"
        )


def _has_outputs(run: Run) -> bool:
    with run.ledger() as ledger:
        return bool(ledger.outputs())


def _failed(run: Run) -> int:
    with run.ledger() as ledger:
        return sum(row.reason is not None for row in ledger.outputs().values())
