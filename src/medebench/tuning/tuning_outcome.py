"""What an experiment has come to, as tables that statistics and pages take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medebench.tuning.tuning_design import Fold, Training, TuningDesign

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class TrainingFacts:
    """One training that was done."""

    training: Training
    adapter: Path
    seconds: float
    #: Mean loss of the first and of the last twentieth of the steps.
    first_loss: float
    last_loss: float


@dataclass(frozen=True)
class TuningOutcome:
    """Scores and facts of an experiment; some trainings may not have been done.

    `scores` has a row for each output and metric, with the columns

        task      the task that was learned
        arm       of `Arm` or `Untrained`
        samples   pairs learned from, or shown in the prompt; 0 for what is not trained
        draw, seed, fold   -1 where there is none; untrained arms have seed -1 and draw -1, those in
                  context draw 0, 1, ..., but -1 where no pair is shown. `fold` is that of the test
                  case, -1 elsewhere in untrained arms
        case, source   of the test case; cases of one source are not independent
        elsewhere whether the case is of another task (forgetting)
        metric, value, reason   `value` is null where there is a reason

    `nearest` has a row for each output of a trained model: task, arm, samples, draw, seed, fold,
    case, `to_training` (distance to the nearest target of its training) and `to_other` (to the
    nearest of as many targets that it did not learn from).
    """

    design: TuningDesign
    folds: Sequence[Fold]
    scores: pl.DataFrame
    trainings: Sequence[TrainingFacts]
    nearest: pl.DataFrame | None = None
    #: Trainings of the design, and runs of what is not trained, that are not done yet, and why.
    open: Mapping[str, str] = field(default_factory=dict)
    #: System, case set, versions, device: for methods and provenance.
    facts: Mapping[str, Any] = field(default_factory=dict)
