"""Running a plan: everything is checked first, then edited, scored, grounded and reported."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medebench.cases import CaseSet, load_cases
from medebench.cases.split import split
from medebench.editors import Chosen, find_editor
from medebench.errors import InputError, MedebenchError, NotReadyError
from medebench.grounding import Thresholds
from medebench.judge import Judge, ModelJudge, find_judge
from medebench.metrics import AnyMetric, find_learned, find_metrics
from medebench.plan.model import AdoptEntry, EditorEntry, Plan
from medebench.plan.sweeping import Aim, choose, find_aim, find_sweep
from medebench.progress import Progress, silent
from medebench.report import Report, build_report
from medebench.runs import Run, adopt, edit, ground, open_run, score
from medebench.runs.adopting import match_files
from medebench.runs.editing import NotAllTriedError
from medebench.runs.failed_calls import Failures
from medebench.runs.judging import JudgeLimits
from medebench.runs.run import INFO, Tuned
from medebench.settings import in_words, read_settings, split_name

Bar = Callable[[str], AbstractContextManager[Progress]]


@dataclass(frozen=True)
class Done:
    runs: list[Run]
    report: Report | None
    #: Outputs that could not be made.
    failed: int
    #: Optional editors that are not ready here, and why.
    skipped: tuple[str, ...] = ()
    #: What could not be finished now (no money, no connection), a line each.
    stopped: tuple[str, ...] = ()
    #: Calls of editors and judges that failed now, not in an earlier command.
    failures: Failures = field(default_factory=Failures)


def _no_bar(title: str) -> AbstractContextManager[Progress]:
    return nullcontext(silent)


def run_plan(
    plan: Plan, *, workers: int | None = None, retry_failed: bool = False, bar: Bar = _no_bar
) -> Done:
    """Do what is still to be done of `plan`. Nothing is written before all of it makes sense."""
    try:
        return _prepare(plan, workers, retry_failed, bar).run()
    except NotReadyError:
        raise
    except InputError as error:
        text = str(error)
        raise InputError(text if plan.name in text else f"plan {plan.name}: {text}") from error


@dataclass(frozen=True)
class _Ready:
    """An editor of the plan: one, or one for each combination of a sweep."""

    entry: EditorEntry
    chosen: list[Chosen]
    combinations: list[dict[str, Any]]


@dataclass(frozen=True)
class _Job:
    """A plan that makes sense, with all it names found."""

    plan: Plan
    #: The cases that are reported, and those that settings are chosen on.
    cases: CaseSet
    others: CaseSet
    editors: list[_Ready]
    skipped: tuple[str, ...]
    metrics: list[AnyMetric]
    judge: Judge | ModelJudge | None
    #: Whether more of the score that chooses is better.
    aim: Aim
    thresholds: Thresholds | None
    workers: int | None
    retry_failed: bool
    bar: Bar
    #: What could not be finished now, in a line each; the rest of the plan is done nevertheless.
    stopped: list[str] = field(default_factory=list)
    failures: Failures = field(default_factory=Failures)

    def run(self) -> Done:
        model = self.plan.model
        names = self._names()
        edited = [self._edited(one, name) for one, name in zip(self.editors, names, strict=False)]
        runs = [run for run in edited if run is not None and _has_outputs(run)]
        runs += [
            self._adopted(one, name)
            for one, name in zip(model.adopt, names[len(edited) :], strict=True)
        ]
        if not runs:
            raise MedebenchError("\n".join(self.stopped))
        self._score("scoring", runs, self.metrics, self.judge)
        if self.thresholds is not None:
            with self.bar("grounding") as progress:
                ground(
                    runs,
                    thresholds=self.thresholds,
                    workers=self.workers,
                    retry_failed=self.retry_failed,
                    progress=progress,
                )
        report = None
        if model.report is not None:
            with self.bar("reporting") as progress:
                report = build_report(
                    runs,
                    self.plan.out / "report",
                    headline=model.report.headline,
                    title=model.report.title,
                    published=model.report.published,
                    workers=self.workers,
                    progress=progress,
                )
        failed = sum(map(_failed, runs))
        return Done(runs, report, failed, self.skipped, tuple(self.stopped), self.failures)

    def _names(self) -> list[str]:
        names = [_run_name(one.entry, one.chosen[0]) for one in self.editors]
        names += [one.name or Path(one.folder).name for one in self.plan.model.adopt]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"two runs are called '{twice[0]}'; give one a 'name'")
        return names

    def _edited(self, one: _Ready, name: str) -> Run | None:
        model, entry = self.plan.model, one.entry
        seed = model.seed if entry.seed is None else entry.seed
        folder = self.plan.out / "runs" / name
        try:
            tuned = self._tuned(one, name, seed) if one.combinations else None
            _check_choice(folder, tuned)
            with self.bar(f"editing with {name}") as progress:
                return edit(
                    self.cases,
                    one.chosen[tuned.best if tuned else 0],
                    folder,
                    seed=seed,
                    outputs=entry.outputs or model.outputs,
                    tuned=tuned,
                    progress=progress,
                    **self._how(),
                )
        except NotAllTriedError as error:
            self.stopped.append(str(error))
            return open_run(folder) if (folder / INFO).exists() else None

    def _tuned(self, one: _Ready, name: str, seed: int) -> Tuned:
        """Every setting on the other cases, scored as far as the choice needs it."""
        assert self.plan.model.choose is not None
        metric = self.plan.model.choose.metric
        with self.bar(f"trying settings of {name}") as progress:
            sweep = edit(
                self.others,
                one.chosen,
                self.plan.out / "sweeps" / name,
                seed=seed,
                # Demonstrations from the reported cases would have a say in the choice.
                pool=self.others,
                progress=progress,
                **self._how(),
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
                workers=self.workers,
                progress=progress,
                failures=self.failures,
            )

    def _score(
        self,
        title: str,
        runs: list[Run],
        metrics: list[AnyMetric],
        judge: Judge | ModelJudge | None,
    ) -> None:
        asked = self.plan.model.judge
        limits = JudgeLimits(max_cost=asked.max_cost if asked else None)
        with self.bar(title) as progress:
            score(runs, metrics, judge, limits=limits, progress=progress, **self._how())

    def _how(self) -> dict[str, Any]:
        how = {"workers": self.workers, "retry_failed": self.retry_failed}
        return how | {"failures": self.failures}


def _prepare(plan: Plan, workers: int | None, retry_failed: bool, bar: Bar) -> _Job:
    """Everything the plan names, found and checked; nothing is written yet."""
    model = plan.model
    with bar("reading cases") as progress:
        cases = load_cases(plan.path(model.cases), progress=progress)
    cases = cases.select(organs=model.organs, limit=model.limit)
    metrics = find_metrics(
        None if model.metrics is None else [_local(plan, name) for name in model.metrics]
    )
    judge = None
    if model.judge is not None:
        judge = find_judge(_local(plan, model.judge.name), model.judge.options())
    thresholds = None
    if model.ground is not None:
        thresholds = read_settings(Thresholds, model.ground.thresholds, "ground.thresholds")
    editors, skipped = _ready(plan)
    others, aim = cases, Aim()
    if model.choose is not None:
        aim = find_aim(model.choose.metric, metrics, judge)
        others, cases = split(cases, model.choose.share, model.choose.seed, workers)
    for taken in model.adopt:
        match_files(Path(plan.path(taken.folder)), cases)
    return _Job(
        plan,
        cases,
        others,
        editors,
        skipped,
        metrics,
        judge,
        aim,
        thresholds,
        workers,
        retry_failed,
        bar,
    )


def _ready(plan: Plan) -> tuple[list[_Ready], tuple[str, ...]]:
    """The plan's editors; what one of them lacks is said before any of them begins."""
    editors: list[_Ready] = []
    lacking: list[str] = []
    skipped: list[str] = []
    for entry in plan.model.editors:
        call = _local(plan, entry.editor)
        if entry.sweep:
            one = _Ready(entry, *find_sweep(call, entry.settings, entry.sweep))
        else:
            one = _Ready(entry, [find_editor(call, entry.settings)], [])
        found = list(dict.fromkeys(lack for each in one.chosen for lack in each.lacks()))
        if not found:
            editors.append(one)
        (skipped if entry.optional else lacking).extend(found)
    if lacking:
        raise NotReadyError("\n".join(lacking))
    return editors, tuple(skipped)


def _local(plan: Plan, call: str) -> str:
    """`file.py:Name`, and a metric's `isim:folder`, as seen from the plan's folder."""
    learned = find_learned(call)
    if learned and learned.which and (plan.folder / learned.which).exists():
        return f"{learned.name}:{plan.folder / learned.which}"
    return str(plan.folder / call) if ".py:" in split_name(call)[0] else call


def _run_name(entry: EditorEntry, chosen: Chosen) -> str:
    if entry.name is not None:
        return entry.name
    if "://" in entry.editor:
        # An address may hold a password or a key, and names are shown everywhere.
        return chosen.name
    return re.sub(r"[^\w.=,-]+", "-", entry.editor.rpartition("/")[2]).strip("-.") or chosen.name


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
