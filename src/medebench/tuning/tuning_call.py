"""`tune`: an experiment on learning from few pairs, from a call to the answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from medebench.audit.related_cases import kin
from medebench.cases import CaseSet, load_cases
from medebench.errors import InputError, NotReadyError, UnknownNameError
from medebench.judge import Judge
from medebench.metrics import AnyMetric, SetMetric, find_named_metrics
from medebench.models.api_keys import keys_optional
from medebench.progress import Bar, no_bar
from medebench.runs.failed_calls import Failures
from medebench.runs.provenance import now, versions
from medebench.runs.score_run import judge_for, task_metrics
from medebench.settings import read_settings
from medebench.systems import SystemInstance, find_system
from medebench.tasks import find_task
from medebench.tuning.train_adapter import training_problem
from medebench.tuning.train_settings import TrainSettings
from medebench.tuning.tuning_answers import TuningAnswers
from medebench.tuning.tuning_arms import (
    TuningSplit,
    control_samples,
    require_arms,
    split_others,
)
from medebench.tuning.tuning_design import Arm, TuningDesign
from medebench.tuning.tuning_estimate import TuningEstimate, estimate_tuning
from medebench.tuning.tuning_folder import (
    FILE,
    PAGE,
    PROGRESS,
    TuningFolder,
    as_before,
    begin_tuning,
    locked,
    read_tuning,
    require_free,
    require_growth,
    require_same,
)
from medebench.tuning.tuning_jobs import Keep
from medebench.tuning.tuning_outcome import TuningOutcome
from medebench.tuning.tuning_read import read_outcome
from medebench.tuning.tuning_run import TuningWork
from medebench.tuning.tuning_split import TaskCases, choose_tasks, find_tasks, split_task
from medebench.tuning.tuning_workers import find_places

ARMS: tuple[Arm, ...] = get_args(Arm)
#: The score that decides where neither it nor a judge is named: how far the output is from what
#: should come out. Not how much is done, which is neither better high nor low beyond 1.
_PRIMARY = "edit_residual"


@dataclass(frozen=True)
class TuningResult:
    """What an experiment has come to: scores, answers, and the page to open.

    Of a dry run only `estimate`.
    """

    path: Path
    estimate: TuningEstimate | None = None
    outcome: TuningOutcome | None = field(default=None, repr=False)
    answers: TuningAnswers | None = field(default=None, repr=False)
    #: The page.
    index: Path | None = None
    #: By training, why it failed now.
    crashed: Mapping[str, str] = field(default_factory=dict)
    #: What could not be finished now (no money, no connection), a line each.
    stopped: tuple[str, ...] = ()
    #: Outputs and scores that failed on the driver now.
    failures: Failures = field(default_factory=Failures, repr=False)

    @property
    def words(self) -> Sequence[str]:
        """The answer in sentences."""
        return () if self.answers is None else self.answers.words


def tune(
    cases: str | Path | CaseSet,
    system: str,
    out: str | Path,
    *,
    samples: Sequence[int] = (0, 4, 8, 16),
    draws: int = 5,
    seeds: int = 3,
    steps_per_sample: int = 50,
    steps: int | None = None,
    arms: Sequence[str] | None = None,
    controls_at: Sequence[int] = (),
    tasks: Sequence[str] = (),
    test: int = 30,
    elsewhere: int = 12,
    in_context: str = "",
    demonstrations: Sequence[int] = (0, 1, 2, 3),
    metrics: str | Sequence[str] | None = None,
    judge: str = "",
    primary: str = "",
    seed: int = 0,
    train: Mapping[str, Any] | None = None,
    devices: str = "",
    workers: int | None = None,
    keep: str = "adapters",
    max_cost: float | None = None,
    retry_failed: bool = False,
    dry_run: bool = False,
    measure: bool = False,
    command: str = "",
    bar: Bar = no_bar,
) -> TuningResult:
    """Find out what a system learns from few pairs: many trainings, the same test cases for all.

    Interrupted, the same call continues; draws, seeds and samples may be added.

    Args:
        cases: what `load_cases` takes; cases with an instruction and a reference image count.
        system: a diffusion model that is trained, as `generate` takes it.
        out: folder of the experiment; an existing one is continued.
        samples: numbers of pairs to learn from; 0 is the untouched model.
        draws: how often pairs are drawn.
        seeds: trainings of each draw.
        steps_per_sample: of the arm `per-sample`.
        steps: of the arm `same-steps`, at every number of samples; those of the most unless given.
        arms: `per-sample`, `same-steps`, `shuffled`, `other-task`; all that the cases allow unless
            given.
        controls_at: numbers of samples of the controls; the most unless given.
        tasks: names, or `Organ/Task`; all that are large enough unless given.
        test: cases tested in each task; all of them, in turn, where a task is too small.
        elsewhere: cases of other tasks on which forgetting is measured.
        in_context: a system that is shown the same pairs in place of learning from them.
        demonstrations: how many pairs it is shown.
        metrics: names; those of the task unless given.
        judge: as `score` takes it.
        primary: the score that decides, declared before anything runs.
        seed: of splits, draws, trainings and outputs.
        train: settings of the training (method, rank, rate, ...).
        devices: `cpu`, or GPUs (`cuda:0,cuda:1`); all GPUs unless given, else the CPU.
        workers: processes on the CPU; two unless given.
        keep: `adapters`, or only the `scores`: weights are then dropped once they were used.
        max_cost: US dollars for the judge, over the whole experiment.
        retry_failed: also retry outputs and scores that failed before.
        dry_run: only say what it would take.
        measure: with `dry_run`, train a few steps to know how long it would take.
        command: what reproduces it, for the page.
        bar: opens a progress bar for each part of the work.

    Returns:
        The answers, the scores behind them, and the page to open.

    >>> mb.tune("phantoms:count=26", "blur", tmp / "tuning")
    Traceback (most recent call last):
    medebench.errors.NotReadyError: blur: is no diffusion model of diffusers, ...
    """
    design = TuningDesign(
        system,
        samples=tuple(samples),
        draws=draws,
        seeds=seeds,
        steps_per_sample=steps_per_sample,
        steps=steps,
        arms=ARMS if arms is None else tuple(arms),  # type: ignore[arg-type]
        controls_at=tuple(controls_at),
        tasks=tuple(tasks),
        test=test,
        elsewhere=elsewhere,
        in_context=in_context,
        demonstrations=tuple(demonstrations),
        metrics=_names(metrics),
        judge=judge,
        primary=primary,
        seed=seed,
        train=read_settings(TrainSettings, dict(train or {}), "train"),
    )
    if keep not in get_args(Keep):
        raise InputError(f"keep: '{keep}': choose {' or '.join(get_args(Keep))}")
    if measure and not dry_run:
        raise InputError("measure: is for a dry run")
    path = Path(out).expanduser().absolute()
    with keys_optional() if dry_run else nullcontext():
        plan = prepare(cases, design, path, open_arms=arms is None, ready=not dry_run, bar=bar)
        work = plan.work(devices, workers)
        work.keep, work.max_cost = keep, max_cost  # type: ignore[assignment]
        work.retry_failed, work.bar = retry_failed, bar
        if dry_run:
            return TuningResult(path, estimate=estimate_tuning(work, measure))
    with locked(path):
        work.folder = begin_tuning(path, plan.folder.design, plan.folder.split, plan.folder.facts)
        work.run()
        return _result(work, command)


@dataclass(frozen=True)
class TuningPlan:
    """An experiment that makes sense, with all it names found and checked."""

    folder: TuningFolder
    cases: CaseSet
    tasks: Mapping[str, TaskCases]
    names: tuple[str, ...]
    judge: Judge | None

    def work(self, devices: str, workers: int | None) -> TuningWork:
        return TuningWork(
            self.folder,
            self.cases,
            self.tasks,
            self.folder.design.metrics,
            self.names,
            find_places(devices, workers),
            judge=self.judge,
        )


def prepare(
    cases: str | Path | CaseSet,
    given: TuningDesign,
    path: Path,
    *,
    open_arms: bool = True,
    ready: bool = True,
    bar: Bar = no_bar,
) -> TuningPlan:
    """Everything that can be wrong is said here; nothing is written.

    With `open_arms` those that the cases do not allow are left out.
    """
    _check_numbers(given)
    require_free(path)
    before = read_tuning(path) if (path / FILE).is_file() else None
    if before is not None:
        require_growth(before, given)
        given = _still_open(given, before.design, open_arms)
        open_arms = False
    if problem := training_problem(given.system, given.train):
        raise _not_trained(given.system, problem)
    chosen = find_system(given.system)
    shown = _in_context(given, ready)
    with bar("reading cases") as progress:
        whole = load_cases(cases, progress=progress)
    if "image" not in find_task(whole.task).gives:
        raise InputError(f"{whole.name}: its task is '{whole.task}', which asks for no image")
    measured = _metrics(given, whole)
    judge = judge_for(whole.task, given.judge) if given.judge else None
    known = _directions(measured, judge)
    design = replace(given, metrics=tuple(call for call, _ in measured))
    design = replace(design, primary=_primary(given, known, before, judge))
    with bar("comparing images"):
        groups = kin(whole)
    tasks = find_tasks(whole, groups)
    design, split = _split(design, tasks, groups, before, open_arms)
    facts = _facts(whole, design, chosen, shown, [one for _, one in measured], judge)
    if before is not None:
        require_same(before, design, split, facts)
    folder = TuningFolder(path, design, split, facts)
    return TuningPlan(folder, whole, tasks, tuple(one.name for _, one in measured), judge)


def _split(
    design: TuningDesign,
    tasks: Mapping[str, TaskCases],
    groups: Mapping[str, int],
    before: TuningFolder | None,
    open_arms: bool,
) -> tuple[TuningDesign, TuningSplit]:
    chosen = choose_tasks(design, tasks)
    if open_arms:
        arms = [one for one in design.arms if max(design.samples) > 1 or one != "shuffled"]
        design = replace(design, arms=tuple(arms))
    if before is not None:
        design = as_before(design, before.design)
    steps = design.steps or design.steps_per_sample * max(design.samples)
    design = replace(
        design,
        tasks=tuple(one.task for one in chosen),
        steps=steps,
        controls_at=control_samples(design),
    )
    require_arms(design)
    folds = [fold for one in chosen for fold in split_task(design, one)]
    try:
        return design, split_others(design, folds, tasks, groups)
    except InputError:
        if not open_arms:
            raise
    # What is tested and looked at for forgetting may leave too few pairs of any other task.
    design = replace(design, arms=tuple(one for one in design.arms if one != "other-task"))
    return design, split_others(design, folds, tasks, groups)


def _still_open(given: TuningDesign, before: TuningDesign, open_arms: bool) -> TuningDesign:
    """What the first call decided stays, where this one does not say otherwise."""
    return replace(
        given,
        arms=before.arms if open_arms else given.arms,
        tasks=given.tasks or before.tasks,
        metrics=given.metrics or before.metrics,
    )


def _check_numbers(design: TuningDesign) -> None:
    if list(design.samples) != sorted(set(design.samples)) or min(design.samples, default=0) < 0:
        raise InputError("samples: numbers from 0 up, each once, in order (0,4,8,16)")
    if not any(design.samples):
        raise InputError("samples: name at least one number above 0 (0,4,8,16)")
    for name in ("draws", "seeds", "steps_per_sample", "test"):
        if getattr(design, name) < 1:
            raise InputError(f"{name}: must be 1 or more")
    if design.elsewhere < 0 or (design.steps is not None and design.steps < 1):
        raise InputError("elsewhere: must be 0 or more, and steps 1 or more")
    if unknown := [one for one in design.arms if one not in ARMS]:
        raise InputError(f"arms: no arm '{unknown[0]}'; there are: {', '.join(ARMS)}")
    if not {"per-sample", "same-steps"} & {*design.arms}:
        raise InputError("arms: controls alone say nothing; add per-sample or same-steps")
    if len(set(design.arms)) != len(design.arms):
        raise InputError("arms: one is named twice")
    if min(design.demonstrations, default=0) < 0:
        raise InputError("demonstrations: numbers from 0 up")


def _not_trained(system: str, problem: str) -> NotReadyError:
    return NotReadyError(problem if problem.startswith(system) else f"{system}: {problem}")


def _in_context(design: TuningDesign, ready: bool) -> SystemInstance | None:
    if not design.in_context:
        return None
    try:
        found = find_system(design.in_context, {"demonstrations": max(design.demonstrations)})
    except UnknownNameError:
        raise
    except InputError as error:
        raise InputError(f"in_context: {error}") from None
    if found.system.demonstrations != max(design.demonstrations):
        raise InputError(f"in_context: {found.name} cannot be shown other cases; name another")
    if ready:
        found.require_ready()
    return found


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    if given is None:
        return ()
    names = given.split(",") if isinstance(given, str) else given
    found = tuple(dict.fromkeys(one.strip() for one in names if one.strip()))
    if not found:
        raise InputError("metrics: names no metric; `medebench metrics` lists them")
    return found


def _metrics(design: TuningDesign, cases: CaseSet) -> list[tuple[str, AnyMetric]]:
    """By their calls; those of the task, as far as a single output has them, unless named."""
    found = find_named_metrics(task_metrics(cases.task, design.metrics or None))
    single: list[tuple[str, AnyMetric]] = [
        (call or one.name, one) for call, one in found if not isinstance(one, SetMetric)
    ]
    if design.metrics and len(single) < len(found):
        name = next(one.name for _, one in found if isinstance(one, SetMetric))
        raise InputError(f"metrics: '{name}' compares whole sets and has no value for a case")
    return single


def _directions(metrics: Sequence[tuple[str, AnyMetric]], judge: Judge | None) -> dict[str, str]:
    known = {one.name: str(one.info.better) for _, one in metrics}
    return known | dict.fromkeys(judge.scores if judge is not None else (), "higher")


def _primary(
    design: TuningDesign,
    known: Mapping[str, str],
    before: TuningFolder | None,
    judge: Judge | None,
) -> str:
    """The score that decides: named, as before, the judge's first, or what is missed."""
    decisive = [name for name, better in known.items() if better != "neither"]
    if design.primary:
        if design.primary not in known:
            raise InputError(
                f"primary: '{design.primary}' is not computed; there are: {', '.join(decisive)}"
            )
        if design.primary not in decisive:
            raise InputError(f"primary: '{design.primary}' is neither better high nor low")
        return design.primary
    if before is not None:
        return before.design.primary
    if not decisive:
        raise InputError("primary: no metric says what is better; name one in metrics")
    if judge is not None:
        return judge.scores[0]
    return _PRIMARY if _PRIMARY in decisive else decisive[0]


def _facts(
    cases: CaseSet,
    design: TuningDesign,
    chosen: SystemInstance,
    shown: SystemInstance | None,
    metrics: Sequence[AnyMetric],
    judge: Judge | None,
) -> dict[str, Any]:
    """What is written down beside the design; JSON."""
    told = {one.name: one.info.told() for one in metrics}
    judged = judge.facts() if judge is not None else {}
    facts: dict[str, Any] = {
        "source": cases.source,
        "case set": cases.name,
        "cases": cases.fingerprint,
        "weights": chosen.system.identity(),
        "settings": chosen.settings,
        "begun": now(),
        "versions": versions(),
    }
    if shown is not None:
        facts["in context"] = {"system": shown.name, "settings": shown.settings}
    scores = judge.scores if judge is not None else ()
    return facts | {"metrics": _plain(told | dict.fromkeys(scores, judged))}


def _plain(value: Any) -> Any:
    """As a ledger keeps it: ends that are infinite become text."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _result(work: TuningWork, command: str) -> TuningResult:
    outcome = read_outcome(work.folder)
    answers, index = _answered(work, outcome, command)
    return TuningResult(
        work.folder.path,
        outcome=outcome,
        answers=answers,
        index=index,
        crashed=work.crashed,
        stopped=tuple(work.stopped),
        failures=work.failures,
    )


def _answered(
    work: TuningWork, outcome: TuningOutcome, command: str
) -> tuple[TuningAnswers | None, Path | None]:
    """Statistics and page, as soon as there are outputs of anything."""
    if outcome.scores.is_empty():
        return None, None
    from medebench.tuning.learning_curve import answer
    from medebench.tuning.page import pictures_of, state_of, write_progress, write_tuning_page

    folder = work.folder
    with work.bar("statistics and page"):
        answers = answer(outcome)
        pictures = pictures_of(folder, work.cases)
        path = folder.path / PAGE
        index = write_tuning_page(outcome, answers, path, pictures=pictures, command=command)
        write_progress(
            folder.path / PROGRESS, state_of(folder, finished=not outcome.open, results=index)
        )
    return answers, index
