"""The predictors of a recipe: one that may have learned the wrong thing, one that could not.

Both learn from equally many patients, in the same way. Of the classifiers, they are the very same
patients, but that what comes with the illness comes by chance for the second one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.cases.phantoms.chest import render
from medebench.cases.phantoms.chest.sampling import EVERYBODY, confounded, draw_patient
from medebench.cases.phantoms.chest.shifts import CONFOUNDED, HEALTHY, Shift
from medebench.errors import MedebenchError, one_line
from medebench.files import write_bytes
from medebench.stress.recipes.training import CLASSIFIER, SEGMENTER, TRAINING, Training

#: Called for each patient drawn and for each step of the training.
Tick = Callable[[], None]

#: The class in networks.py, the predictor under test, and the one to compare it with.
PUPILS: dict[Shift, tuple[str, str, str]] = {
    "acquisition": ("Classifier", "biased", "unbiased"),
    "manifestation": ("Classifier", "biased", "unbiased"),
    "population": ("Segmenter", "weak", "strong"),
}
HOW: dict[Shift, Training] = {
    "acquisition": CLASSIFIER,
    "manifestation": CLASSIFIER,
    "population": SEGMENTER,
}


@dataclass(frozen=True)
class Lesson:
    """One predictor to train; `seed` is the recipe's."""

    shift: Shift
    name: str
    seed: int
    how: Training

    @property
    def ticks(self) -> int:
        return self.how.patients + self.how.steps


def drawn(lesson: Lesson, seed: int, tick: Tick) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Pictures of `lesson.how.patients` patients, and what is true of each: a label or a mask."""
    pictures, truth = [], []
    for index in range(lesson.how.patients):
        if lesson.shift == "population":
            among = HEALTHY if lesson.name == "weak" else EVERYBODY
            one = render(draw_patient(seed, index, among))
            truth.append(one.masks["lungs"])
        else:
            ill, with_it, _ = CONFOUNDED[lesson.shift]
            degree = 1.0 if lesson.name == "biased" else 0.0
            spec, sick = confounded(seed, index, ill, with_it, degree)
            one = render(spec)
            truth.append(np.asarray(sick))
        pictures.append(one.picture)
        tick()
    return np.stack(pictures), np.stack(truth)


def teach(lesson: Lesson, target: Path, tick: Tick) -> None:
    """Draw, train, and write the weights."""
    pictures, truth = drawn(lesson, TRAINING + lesson.seed, tick)
    from medebench.stress.recipes.learning import train_classifier, train_segmenter

    train = train_segmenter if lesson.shift == "population" else train_classifier
    weights = train(pictures, truth, lesson.how, lesson.seed, lambda done, total: tick())
    write_bytes(target, weights)


def teach_apart(lessons: Sequence[tuple[Lesson, Path]], tick: Tick) -> None:
    """All at once, each in a process of one thread: so weights do not depend on the cores."""
    children = [_start(lesson, target) for lesson, target in lessons]
    with ThreadPoolExecutor(max(1, len(children))) as pool:
        try:
            for done in [pool.submit(_follow, child, tick) for child in children]:
                done.result()
        except BaseException:
            for child in children:
                child.kill()
            raise


def _start(lesson: Lesson, target: Path) -> subprocess.Popen[str]:
    code = (
        "import sys; from medebench.stress.recipes.pupils import teach_here; "
        "teach_here(sys.argv[1], sys.argv[2])"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, json.dumps(asdict(lesson)), str(target)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
    )


def teach_here(lesson: str, target: str) -> None:
    """In the child: a line with a dot for every tick."""
    read: dict[str, Any] = json.loads(lesson)
    how = Training(**read.pop("how"))
    teach(Lesson(**read, how=how), Path(target), lambda: print(".", flush=True))


def _follow(child: subprocess.Popen[str], tick: Tick) -> None:
    assert child.stdout is not None
    said = ""
    with child.stdout:
        for line in child.stdout:
            if line == ".\n":
                tick()
            else:
                said = (said + line)[-2000:]
    if child.wait():
        raise MedebenchError(f"training a predictor failed: {one_line(said[-300:])}")
