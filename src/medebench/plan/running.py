"""Running a plan: everything is checked first, then edited, scored, grounded and reported."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from medebench.cases import load_cases
from medebench.editors import Chosen, find_editor
from medebench.errors import InputError, NotReadyError
from medebench.grounding import Thresholds
from medebench.judge import find_judge
from medebench.metrics import find_metrics
from medebench.plan.model import EditorEntry, Plan
from medebench.progress import Progress, silent
from medebench.report import Report, build_report
from medebench.runs import Run, adopt, edit, ground, score
from medebench.runs.adopting import match_files
from medebench.runs.judging import JudgeLimits
from medebench.settings import read_settings

Bar = Callable[[str], AbstractContextManager[Progress]]


@dataclass(frozen=True)
class Done:
    runs: list[Run]
    report: Report | None
    #: Outputs that could not be made.
    failed: int
    #: Optional editors that are not ready here, and why.
    skipped: tuple[str, ...] = ()


def _no_bar(title: str) -> AbstractContextManager[Progress]:
    return nullcontext(silent)


def run_plan(
    plan: Plan, *, workers: int | None = None, retry_failed: bool = False, bar: Bar = _no_bar
) -> Done:
    """Do what is still to be done of `plan`. Nothing is written before all of it makes sense."""
    try:
        return _run(plan, workers, retry_failed, bar)
    except NotReadyError:
        raise
    except InputError as error:
        text = str(error)
        raise InputError(text if plan.name in text else f"plan {plan.name}: {text}") from error


def _run(plan: Plan, workers: int | None, retry_failed: bool, bar: Bar) -> Done:
    model = plan.model
    with bar("reading cases") as progress:
        cases = load_cases(plan.path(model.cases), progress=progress)
    cases = cases.select(organs=model.organs, limit=model.limit)
    metrics = find_metrics(
        None if model.metrics is None else [_local(plan, name) for name in model.metrics]
    )
    judge, limits = None, JudgeLimits()
    if model.judge is not None:
        judge = find_judge(_local(plan, model.judge.name), model.judge.options())
        limits = JudgeLimits(max_cost=model.judge.max_cost)
    thresholds = None
    if model.ground is not None:
        thresholds = read_settings(Thresholds, model.ground.thresholds, "ground.thresholds")
    editors, skipped = _ready(plan)
    for taken in model.adopt:
        match_files(Path(plan.path(taken.folder)), cases)
    names = [_run_name(entry, chosen) for entry, chosen in editors]
    names += [taken.name or Path(taken.folder).name for taken in model.adopt]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"plan {plan.name}: two runs are called '{twice[0]}'; give one a 'name'")

    runs: list[Run] = []
    for name, (entry, chosen) in zip(names, editors, strict=False):
        with bar(f"editing with {name}") as progress:
            runs.append(
                edit(
                    cases,
                    chosen,
                    plan.out / "runs" / name,
                    seed=model.seed if entry.seed is None else entry.seed,
                    outputs=entry.outputs or model.outputs,
                    workers=workers,
                    retry_failed=retry_failed,
                    progress=progress,
                )
            )
    for taken in model.adopt:
        folder = Path(plan.path(taken.folder))
        name = taken.name or folder.name
        with bar(f"adopting {name}") as progress:
            runs.append(
                adopt(
                    folder,
                    cases,
                    plan.out / "runs" / name,
                    name=name,
                    control=taken.control,
                    workers=workers,
                    progress=progress,
                )
            )
    with bar("scoring") as progress:
        score(
            runs,
            metrics,
            judge,
            limits=limits,
            workers=workers,
            retry_failed=retry_failed,
            progress=progress,
        )
    if thresholds is not None:
        with bar("grounding") as progress:
            ground(
                runs,
                thresholds=thresholds,
                workers=workers,
                retry_failed=retry_failed,
                progress=progress,
            )
    report = None
    if model.report is not None:
        with bar("reporting") as progress:
            report = build_report(
                runs,
                plan.out / "report",
                headline=model.report.headline,
                title=model.report.title,
                published=model.report.published,
                workers=workers,
                progress=progress,
            )
    return Done(runs, report, sum(map(_failed, runs)), skipped)


def _ready(plan: Plan) -> tuple[list[tuple[EditorEntry, Chosen]], tuple[str, ...]]:
    """The plan's editors; what one of them lacks is said before any of them begins."""
    editors: list[tuple[EditorEntry, Chosen]] = []
    lacking: list[str] = []
    skipped: list[str] = []
    for entry in plan.model.editors:
        chosen = find_editor(_local(plan, entry.editor), entry.settings)
        found = chosen.lacks()
        if not found:
            editors.append((entry, chosen))
        (skipped if entry.optional else lacking).extend(found)
    if lacking:
        raise NotReadyError("\n".join(lacking))
    return editors, tuple(skipped)


def _local(plan: Plan, call: str) -> str:
    """`file.py:Name` as seen from the plan's folder."""
    return str(plan.folder / call) if ".py:" in call else call


def _run_name(entry: EditorEntry, chosen: Chosen) -> str:
    if entry.name is not None:
        return entry.name
    return re.sub(r"[^\w.=,-]+", "-", entry.editor.rpartition("/")[2]).strip("-.") or chosen.name


def _failed(run: Run) -> int:
    with run.ledger() as ledger:
        return sum(row.reason is not None for row in ledger.outputs().values())
