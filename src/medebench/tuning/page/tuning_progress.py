"""`write_progress`: a page that shows trainings while they go on, and updates by itself.

`index.html` holds everything but the numbers; these are in a small script beside it, which the page
loads again every few seconds. So it works from the disk, without a server.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from medebench.files import unwritable, write_text
from medebench.page.document import render, static
from medebench.page.page_folder import script
from medebench.page.private_paths import without_any_folder
from medebench.tuning.page.loss_curve import LossCurve, loss_curve
from medebench.tuning.page.tuning_formats import ARMS, TRAINED, arm_text, task_label
from medebench.tuning.train_adapter import SAMPLES
from medebench.tuning.tuning_design import Training

PAGE, STATE = "index.html", "progress/state.js"
#: Seconds between two writings, and between two looks of the page.
EVERY = 3.0
_PACKAGE = "medebench.tuning.page"
#: Points of a curve that is being watched, and of one that is done.
_FINE, _COARSE = 160, 40
#: Samples of a case that are shown.
_SAMPLES = 8

#: `open`: still to be done. `testing`: the adapter is there, its outputs are being made or scored.
Stage = Literal["open", "training", "testing", "done", "failed"]


@dataclass(frozen=True)
class TrainingState:
    """How far one training is."""

    training: Training
    stage: Stage = "open"
    #: The folder of its adapter, as soon as there is one.
    adapter: Path | None = None
    #: Why it failed or waits.
    reason: str = ""


@dataclass(frozen=True)
class TuningState:
    """How far an experiment is."""

    title: str
    trainings: Sequence[TrainingState]
    #: What is being done besides: "judging".
    doing: str = ""
    finished: bool = False
    #: The page of the results, once there is one.
    results: Path | None = None


def write_progress(
    folder: str | Path, state: TuningState | Callable[[], TuningState], *, every: float = EVERY
) -> Path | None:
    """Write the page about `state` into `folder`; where it is, or None where it was too early.

    Within `every` seconds of the last time nothing is written, unless the experiment is finished;
    a function that tells the state is then not even asked.
    """
    folder = Path(folder).expanduser().absolute()
    page, told = folder / PAGE, folder / STATE
    finished = isinstance(state, TuningState) and state.finished
    if not finished and _age(told) < every:
        return None
    state = state if isinstance(state, TuningState) else state()
    try:
        html = _html()
        if not (page.is_file() and page.read_text(encoding="utf-8", errors="replace") == html):
            write_text(page, html)
        write_text(told, script("MEDEBENCH_TUNING", progress_data(folder, state)))
    except OSError as error:
        raise unwritable(page, error) from error
    return page


def _age(path: Path) -> float:
    try:
        return abs(time.time() - path.stat().st_mtime)
    except OSError:
        return float("inf")


def _html() -> str:
    return render(
        _PACKAGE,
        "progress.html",
        title="Trainings",
        state=STATE,
        skip=("top", "trainings"),
        headline="",
        style="\n".join(static(_PACKAGE, name) for name in ("page.css", "progress.css")),
        script="\n".join(
            static(_PACKAGE, name) for name in ("dom.js", "theme.js", "loss.js", "progress.js")
        ),
        every=round(1000 * EVERY),
    )


def progress_data(folder: Path, state: TuningState) -> dict[str, Any]:
    """What the script of the page is given; see `static/progress.js` for the reader."""
    curves = [
        loss_curve(one.adapter, _COARSE if one.stage in ("done", "failed") else _FINE)
        if one.adapter
        else LossCurve()
        for one in state.trainings
    ]
    return {
        "title": state.title,
        "written": round(1000 * time.time()),
        "doing": state.doing,
        "left": seconds_left(state.trainings, curves),
        "finished": state.finished,
        "results": _link(folder, state.results) if state.results else "",
        "arms": [
            {
                "name": arm,
                "label": ARMS[arm].label,
                "colour": ARMS[arm].colour.variable,
                "control": ARMS[arm].control,
            }
            for arm in TRAINED
        ],
        "trainings": [
            _training(folder, one, curve)
            for one, curve in zip(state.trainings, curves, strict=True)
        ],
    }


def _training(folder: Path, one: TrainingState, curve: LossCurve) -> dict[str, Any]:
    training = one.training
    fold = f", fold {training.fold}" if training.fold else ""
    every = {
        "task": task_label(training.task),
        "arm": TRAINED.index(training.arm),
        "samples": training.samples,
        "name": f"{arm_text(training.arm, training.samples)}, draw {training.draw + 1}, "
        f"seed {training.seed + 1}{fold}",
        "stage": one.stage,
        "step": training.steps if one.stage in ("done", "testing") else curve.last,
        "steps": training.steps,
        "seconds": round(curve.seconds, 1),
        "reason": without_any_folder(one.reason),
        "loss": [curve.steps, curve.losses] if curve.steps else None,
        "folder": _link(folder, one.adapter / "samples") if one.adapter else "",
        "drawn": _samples(one.adapter, one.stage) if one.adapter else None,
    }
    return {name: value for name, value in every.items() if value not in ("", None, 0.0)} | {
        "arm": every["arm"], "step": every["step"],
    }  # fmt: skip


def _samples(adapter: Path, stage: Stage) -> dict[str, list[int]] | None:
    """The steps at which each validation case was drawn; of what is done only the last ones."""
    found: dict[str, list[int]] = {}
    for path in sorted((adapter / SAMPLES).glob("*.png")):
        case, _, step = path.stem.rpartition("-")
        if case and step.isdecimal():
            found.setdefault(case, []).append(int(step))
    if not found:
        return None
    most = 2 if stage == "done" else _SAMPLES
    return {case: _few(sorted(steps), most) for case, steps in sorted(found.items())}


def _few(steps: list[int], most: int) -> list[int]:
    """The first and the last, and some between them."""
    if len(steps) <= most:
        return steps
    return [steps[round(i * (len(steps) - 1) / (most - 1))] for i in range(most)]


def _link(folder: Path, target: Path) -> str:
    return Path(os.path.relpath(target, folder)).as_posix()


def seconds_left(trainings: Iterable[TrainingState], curves: Iterable[LossCurve]) -> float | None:
    """What the open steps take at the pace so far, as many at a time as now."""
    done = spent = left = 0.0
    at_once = 0
    for one, curve in zip(trainings, curves, strict=True):
        steps = one.training.steps
        done += curve.last
        spent += curve.seconds
        at_once += one.stage == "training"
        if one.stage in ("open", "training"):
            left += max(0, steps - (curve.last if one.stage == "training" else 0))
    if not left:
        return 0.0
    return left * spent / done / max(1, at_once) if done and spent else None
