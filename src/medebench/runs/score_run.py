"""`score`: metrics and a judge on the outputs of runs, decoding every picture once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, overload

from medebench.audit import without_findings
from medebench.cases import Case
from medebench.engine.executors import find_executor
from medebench.engine.named import Named
from medebench.errors import InputError
from medebench.judge import Judge, PlainJudge, as_judge, find_judge
from medebench.metrics import (
    DEFAULT,
    MEDGEN,
    READY,
    AnyMetric,
    BatchMetric,
    Metric,
    SetMetric,
    find_metric,
    find_named_metrics,
)
from medebench.metrics.metric import PART_OF
from medebench.models.model_lookup import names_model
from medebench.progress import Progress, silent
from medebench.runs.drive import drive
from medebench.runs.failed_calls import Failures
from medebench.runs.run_folder import Run, cases_of, open_run
from medebench.runs.stages.judge_scores import JudgeLimits, JudgeScores, JudgeStoppedError
from medebench.runs.stages.network_scores import NetworkScores
from medebench.runs.stages.opinion_scores import OpinionScores
from medebench.runs.stages.output_stage import OutputStage
from medebench.runs.stages.pixel_scores import PixelScores
from medebench.runs.stages.set_scores import set_stages
from medebench.runs.visits import plan_visits, take_stock
from medebench.tasks import find_task

if TYPE_CHECKING:
    from typing_extensions import Unpack

AnyRun = Run | str | Path
Metrics = str | Iterable[str | AnyMetric] | None
AnyJudge = str | Judge | PlainJudge | None


class WorkOptions(TypedDict, total=False):
    """How work on runs is done."""

    workers: int | None
    retry_failed: bool
    progress: Progress
    executor: str


class ScoreOptions(WorkOptions, total=False):
    limits: JudgeLimits | None
    device: str
    batch: int | None
    failures: Failures | None
    without: Sequence[str]


@overload  # A text is a sequence too, of texts, but comes first.
def score(  # type: ignore[overload-overlap]
    runs: AnyRun, metrics: Metrics = None, judge: AnyJudge = None, **options: Unpack[ScoreOptions]
) -> Run: ...
@overload
def score(
    runs: Sequence[AnyRun],
    metrics: Metrics = None,
    judge: AnyJudge = None,
    **options: Unpack[ScoreOptions],
) -> list[Run]: ...
def score(
    runs: AnyRun | Sequence[AnyRun],
    metrics: Metrics = None,
    judge: AnyJudge = None,
    *,
    limits: JudgeLimits | None = None,
    device: str = "auto",
    batch: int | None = None,
    workers: int | None = None,
    retry_failed: bool = False,
    progress: Progress = silent,
    failures: Failures | None = None,
    executor: str = "threads",
    without: Sequence[str] = (),
) -> Run | list[Run]:
    """Score the outputs of `runs`: only what is missing, or belongs to a changed output or case.

    Args:
        runs: a run or its folder, or several of one task. Give runs over the same cases together:
            the images of a case are then decoded once for all of them.
        metrics: names, with commas or in a list, or metrics themselves; by default those of the
            task. `default` stands for them, `ready` for all that can be computed here.
        judge: `offline`, a model (`openai:NAME`), `file.py:Name` or a judge itself. A model judges
            by the rubric of the task, unless it comes with another.
        limits: what a judge may spend.
        device: of metrics with a network: auto, cpu, cuda or mps.
        batch: how many images such a metric takes at a time.
        workers: threads or processes; by default one for each core.
        retry_failed: also retry scores that failed before.
        progress: called with the number of cases done and of all.
        failures: counts the calls that failed now, and why.
        executor: "processes" decodes and measures in processes; metrics and judges are then given
            by name.
        without: findings of an audit (`other-photograph`, ...); outputs of cases that have one are
            not scored.

    Returns:
        The run, or a list where a list was given.

    >>> import tempfile
    >>> from medebench.runs import edit
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = edit("phantoms:count=2", "identity", f"{folder}/run")
    ...     score(run, "ssim,psnr").frame().height
    4
    """
    opened = open_runs(runs)
    if not opened:
        return opened
    same_task(opened)
    call = judge if isinstance(judge, str) else None
    task, found = opened[0].info.task, None
    if judge is not None:
        found = judge_for(task, judge) if isinstance(judge, str) else as_judge(judge)
        require_judge(opened, found)
    names = task_metrics(task, metrics)
    if metrics is None and not names and found is None:
        raise InputError(f"task '{task}': has no metrics of its own; name some, or a judge")
    given = _metrics(opened, names, device, batch)
    if failures is not None:
        failures.asked |= {one.name for _, one in given} | set(found.scores if found else ())
    find = partial(find_metric, device=device, batch=batch)
    how = find_executor(executor, workers)
    left_out = _left_out(opened, without, workers)

    pixel = [Named(name, find, one) for name, one in given if isinstance(one, Metric)]
    networks = [(name, one) for name, one in given if isinstance(one, BatchMetric)]
    sets = [Named(name, find, one) for name, one in given if isinstance(one, SetMetric)]
    if sets and left_out:
        named = ", ".join(one.thing.name for one in sets)
        raise InputError(f"metric {named}: compares whole sets; score it apart, over all cases")
    stages: list[OutputStage] = [PixelScores(pixel)]
    asking: JudgeScores | None = None
    if found is not None and found.client is not None:
        asking = JudgeScores(found, limits or JudgeLimits())
    elif found is not None:
        stages.append(OpinionScores(Named(call, find_judge, found)))
    with ExitStack() as stack:
        ledgers = [stack.enter_context(run.locked()) for run in opened]
        take_stock(opened, ledgers, workers)
        stages.append(NetworkScores(_among(networks, opened, find)))
        stages += set_stages(sets, opened, ledgers, retry_failed)
        stages += [asking] if asking else []
        visits = plan_visits(opened, ledgers, stages, retry_failed)
        visits = [visit for visit in visits if visit.case.id not in left_out]
        not_done = drive(stages, visits, opened, ledgers, how, progress=progress, failures=failures)
    if asking is not None and not_done:
        targets = (one for visit in visits for one in visit.targets)
        total = sum(bool(asking.wants(one, one.known.sha256)) for one in targets)
        why, _ = not_done.most_common(1)[0]
        raise JudgeStoppedError(
            f"judge {asking.judge.name}: {not_done.total()} of {total} outputs were not judged: "
            f"{why}; run again to continue"
        )
    return opened[0] if isinstance(runs, AnyRun) else opened


def _among(
    metrics: Sequence[tuple[str | None, BatchMetric]],
    runs: Sequence[Run],
    find: Callable[[str], AnyMetric],
) -> list[Named[BatchMetric]]:
    """The metrics as they are for the runs' whole sets: also for cases that no run is about.

    What a metric takes from a set is then the same for every run over a part of it.
    """
    if not metrics:
        return []
    every = {case.id: case for run in reversed(runs) for case in run.whole_set}
    found = partial(_find_over, tuple(every.values()), find)
    return [Named(name, found, one.over(every.values())) for name, one in metrics]


def _find_over(cases: Sequence[Case], find: Callable[[str], AnyMetric], name: str) -> BatchMetric:
    one = find(name)
    assert isinstance(one, BatchMetric)
    return one.over(cases)


def _left_out(runs: Sequence[Run], codes: Sequence[str], workers: int | None) -> set[str]:
    """The ids of the cases that have one of these findings."""
    if not codes:
        return set()
    found = without_findings(cases_of(runs), codes, workers=workers)
    return {case_id for ids in found.left_out.values() for case_id in ids}


def same_task(runs: Sequence[Run]) -> None:
    """Runs of different tasks have no scores in common."""
    for run in runs:
        if run.info.task != runs[0].info.task:
            raise InputError(
                f"{run.path}: is a run of task '{run.info.task}', {runs[0].path} of "
                f"'{runs[0].info.task}'; score the runs of each task by themselves"
            )


def judge_for(task: str, name: str, options: dict[str, Any] | None = None) -> Judge:
    """A judge by name; a model judges by the rubric of the task unless `options` name another."""
    given = dict(options or {})
    if names_model(name) and "rubric" not in given and (rubric := find_task(task).rubric):
        given["rubric"] = rubric
    return find_judge(name, given)


def require_judge(runs: Sequence[Run], judge: Judge) -> None:
    """Before any call: a judge of images has nothing to say about texts."""
    parts = getattr(judge, "looks_at", ())
    require_parts(runs, f"judge {judge.name}", parts, "choose another judge or rubric")


def require_parts(runs: Sequence[Run], who: str, parts: Iterable[str], remedy: str) -> None:
    """Refuse what looks at a part of outputs that none of the runs has."""
    given = {part for run in runs for part in run.task.gives}
    if given and (missing := sorted(set(parts) - given)):
        raise InputError(
            f"{who}: looks at the {missing[0]} of an output, and those of {runs[0].path} are "
            f"{' and '.join(sorted(given))} only; {remedy}"
        )


def task_metrics(task: str, metrics: Metrics) -> list[str | AnyMetric]:
    """The metrics that were asked for; `default`, or None, are those of the task."""
    names = metrics.split(",") if isinstance(metrics, str) else metrics
    found: list[str | AnyMetric] = []
    for one in [DEFAULT] if names is None else names:
        found.extend(find_task(task).metrics if one == DEFAULT else [one])
    return found


def _metrics(
    runs: Sequence[Run], names: Sequence[str | AnyMetric], device: str, batch: int | None
) -> list[tuple[str | None, AnyMetric]]:
    found = []
    for call, one in find_named_metrics(names, device=device, batch=batch):
        part = "image" if isinstance(one, SetMetric) else PART_OF.get(one.of, one.of)
        try:
            require_parts(runs, f"metric '{one.name}'", [part] if part else [], "leave it out")
            found.append((call, one))
        except InputError:
            # These stand for what can be computed, whatever that is.
            if not {READY, MEDGEN} & {*names} or call is None or call in names:
                raise
    return found


def open_runs(runs: AnyRun | Sequence[AnyRun]) -> list[Run]:
    given = [runs] if isinstance(runs, AnyRun) else list(runs)
    opened = [run if isinstance(run, Run) else open_run(run) for run in given]
    if len({run.path for run in opened}) != len(opened):
        raise InputError("the same run is given twice")
    return opened
