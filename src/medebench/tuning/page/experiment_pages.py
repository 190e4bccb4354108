"""What the pages need of an experiment's folder: how far it is, and the pictures in its runs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from medebench.cases import CaseSet
from medebench.runs.run_folder import INFO, Run, open_run
from medebench.tuning.page.tuning_examples import Made, RunPictures
from medebench.tuning.page.tuning_progress import Stage, TrainingState, TuningState
from medebench.tuning.train_adapter import FACTS
from medebench.tuning.training_loop import LOG
from medebench.tuning.tuning_arms import plan_trainings
from medebench.tuning.tuning_folder import ADAPTER, FAILED, FINISHED, RUN, TuningFolder

#: Seconds without a step after which a training is taken to have been stopped.
_QUIET = 900.0


def state_of(
    folder: TuningFolder, *, doing: str = "", finished: bool = False, results: Path | None = None
) -> TuningState:
    """How far an experiment is, as its files say; whoever works on it need not be asked."""
    trainings = []
    for one in plan_trainings(folder.design, folder.split):
        place = folder.training(one)
        stage, reason = _stage(place)
        adapter = place / ADAPTER
        there = adapter if (adapter / LOG).is_file() else None
        trainings.append(TrainingState(one.training, stage, there, reason))
    title = f"{folder.design.system.rpartition('/')[2]} learns from few pairs"
    return TuningState(title, trainings, doing, finished=finished, results=results)


def _stage(place: Path) -> tuple[Stage, str]:
    if (place / FINISHED).is_file():
        return "done", ""
    if (place / FAILED).is_file():
        return "failed", _reason(place / FAILED)
    if (place / ADAPTER / FACTS).is_file():
        return "testing", ""
    try:
        quiet = time.time() - (place / ADAPTER / LOG).stat().st_mtime
    except OSError:
        return "open", ""
    return ("training", "") if quiet < _QUIET else ("open", "begun, and stopped")


def _reason(path: Path) -> str:
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["reason"])
    except (OSError, ValueError, KeyError, TypeError):
        return "it failed"


def pictures_of(folder: TuningFolder, cases: CaseSet) -> RunPictures:
    """The pictures of all runs of an experiment."""
    return RunPictures(cases, _finder(folder))


def _finder(folder: TuningFolder) -> Callable[[Made], Run | None]:
    planned = {
        Made(t.task, arm, t.samples, t.draw, t.seed, t.fold): folder.training(one) / RUN
        for one in plan_trainings(folder.design, folder.split)
        for t in [one.training]
        for arm in one.arms
    }
    folds = {(fold.task, fold.fold): fold for fold in folder.split.folds}
    opened: dict[Path, Run] = {}

    def path_of(made: Made) -> Path | None:
        if made in planned:
            return planned[made]
        if made.arm == "in-context":
            fold = folds.get((made.task, made.fold))
            if made.samples == 0 or fold is None:
                return folder.without_any
            return folder.in_context(fold, made.draw, made.samples)
        return folder.untrained(made.arm) if made.draw == -1 else None

    def find(made: Made) -> Run | None:
        path = path_of(made)
        if path is None or not (path / INFO).is_file():
            return None
        if path not in opened:
            opened[path] = open_run(path)
        return opened[path]

    return find
