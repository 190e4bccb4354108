"""The predictors of a recipe: one that may have learned the wrong thing, and one that could not.

Both learn from the same number of patients, in the same way. The classifiers learn from the very
same patients, except that what accompanies the illness is random for the second one.
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

from medebench.errors import MedebenchError, one_line
from medebench.files import write_bytes
from medebench.phantoms.chest import render
from medebench.phantoms.chest.chest_edit import CONFOUNDED, HEALTHY, ShiftName
from medebench.phantoms.chest.patients import EVERYBODY, confounded, draw_patient

#: Seeds of the patients. A recipe's own seed is added, so that no patient occurs in two of these.
TRAINING, VALIDATION, TEST = 40_000, 45_000, 60_000
#: Seeds of a recipe lie below this.
SEEDS = 5_000


@dataclass(frozen=True)
class TrainSettings:
    """How one predictor is trained: `patients`, seen `epochs` times, `batch` at once."""

    patients: int
    epochs: int
    batch: int = 32
    rate: float = 4e-3
    #: Slight changes of each picture: shift in pixels, blur and noise at most, as deviations
    #: in pixels and as a share of the range, and contrast and brightness.
    shift: int = 4
    blur: float = 1.0
    noise: float = 0.03
    tone: float = 0.05

    @property
    def steps(self) -> int:
        return self.epochs * max(1, self.patients // self.batch)


CLASSIFIER = TrainSettings(patients=480, epochs=24)
SEGMENTER = TrainSettings(patients=400, epochs=10, batch=16)
#: Called for each patient drawn and for each step of the training.
Tick = Callable[[], None]

#: The class in networks.py, the predictor under test, and the one to compare it with.
PREDICTORS: dict[ShiftName, tuple[str, str, str]] = {
    "acquisition": ("Classifier", "biased", "unbiased"),
    "manifestation": ("Classifier", "biased", "unbiased"),
    "population": ("Segmenter", "weak", "strong"),
}
SETTINGS: dict[ShiftName, TrainSettings]
SETTINGS = {**dict.fromkeys(CONFOUNDED, CLASSIFIER), "population": SEGMENTER}


@dataclass(frozen=True)
class TrainJob:
    """One predictor to train; `seed` is the recipe's."""

    shift: ShiftName
    name: str
    seed: int
    settings: TrainSettings

    @property
    def ticks(self) -> int:
        return self.settings.patients + self.settings.steps


def drawn(job: TrainJob, seed: int, tick: Tick) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Pictures of `job.settings.patients` patients, and what is true of each: a label or a mask."""
    pictures, truth = [], []
    for index in range(job.settings.patients):
        if job.shift == "population":
            among = HEALTHY if job.name == "weak" else EVERYBODY
            one = render(draw_patient(seed, index, among))
            truth.append(one.masks["lungs"])
        else:
            ill, with_it, _ = CONFOUNDED[job.shift]
            degree = 1.0 if job.name == "biased" else 0.0
            spec, sick = confounded(seed, index, ill, with_it, degree)
            one = render(spec)
            truth.append(np.asarray(sick))
        pictures.append(one.picture)
        tick()
    return np.stack(pictures), np.stack(truth)


def train_predictor(job: TrainJob, target: Path, tick: Tick) -> None:
    """Draw, train, and write the weights."""
    pictures, truth = drawn(job, TRAINING + job.seed, tick)
    from medebench.phantoms.recipes.predictor_fit import train_network
    from medebench.phantoms.recipes.predictor_networks import ClassifierNetwork, SegmenterNetwork

    kind = SegmenterNetwork if job.shift == "population" else ClassifierNetwork
    weights = train_network(kind, pictures, truth, job.settings, job.seed, lambda *_: tick())
    write_bytes(target, weights)


def train_in_processes(jobs: Sequence[tuple[TrainJob, Path]], tick: Tick) -> None:
    """All at once, each in a process of one thread: so weights do not depend on the cores."""
    children = [_start(job, target) for job, target in jobs]
    with ThreadPoolExecutor(max(1, len(children))) as pool:
        try:
            for done in [pool.submit(_follow, child, tick) for child in children]:
                done.result()
        except BaseException:
            for child in children:
                child.kill()
            raise


def _start(job: TrainJob, target: Path) -> subprocess.Popen[str]:
    code = (
        "import sys; from medebench.phantoms.recipes.recipe_predictors import train_in_child; "
        "train_in_child(sys.argv[1], sys.argv[2])"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, json.dumps(asdict(job)), str(target)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
    )


def train_in_child(job: str, target: str) -> None:
    """In the child: a line with a dot for every tick."""
    read: dict[str, Any] = json.loads(job)
    settings = TrainSettings(**read.pop("settings"))
    job_read = TrainJob(**read, settings=settings)
    train_predictor(job_read, Path(target), lambda: print(".", flush=True))


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
