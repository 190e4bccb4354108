"""Every number of the predictors' training; none was chosen by looking at a test set."""

from __future__ import annotations

from dataclasses import dataclass

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
