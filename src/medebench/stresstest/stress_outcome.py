"""What a stress test found, as numbers: words, tables and the page are made from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from medebench.analysis.estimate import Estimate
from medebench.stresstest.sample import IntendedEdit, Sample, Task

#: The whole test set; the pictures that were edited, as they were (once for each kept edit); their
#: edits that were kept; the second and the third together (classification); what was lost: the
#: first less the third (classification; AUROC: less the pairs), the second less the third
#: (segmentation). A loss above 0 is always one.
Which = Literal["original", "before", "edited", "pairs", "loss"]


@dataclass(frozen=True)
class PredictorOutcome:
    """One predictor on every set: `table["edited"]["accuracy"]`."""

    name: str
    reference: bool
    table: Mapping[Which, Mapping[str, Estimate]]
    #: The same for each kind of edit, where there are several.
    kinds: Mapping[str, Mapping[Which, Mapping[str, Estimate]]] = field(default_factory=dict)


@dataclass(frozen=True)
class EditOutcome:
    """One edit: its score, whether it is used, and what each predictor said before and after."""

    intended: IntendedEdit
    #: None where the edit failed or has no score; `reason` says why.
    score: float | None
    kept: bool
    reason: str = ""
    #: File name of the output in the run.
    output: str = ""
    #: By predictor: probability before and after (classification), or Dice before and after.
    before: Mapping[str, float | None] = field(default_factory=dict)
    after: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class AtThreshold:
    """What would have come out with another threshold of the edit score."""

    threshold: float
    kept: int
    thrown: int
    #: By predictor: the headline measure on the edits kept.
    edited: Mapping[str, Estimate]
    #: In one word, by predictor: see `verdict.py`.
    verdict: Mapping[str, str]


@dataclass(frozen=True)
class StressOutcome:
    name: str
    task: Task
    samples: tuple[Sample, ...]
    edits: tuple[EditOutcome, ...]
    predictors: tuple[PredictorOutcome, ...]
    threshold: float
    #: Name of the encoder behind the edit score; empty where edits are not scored.
    encoder: str
    thresholds: tuple[AtThreshold, ...] = ()
    #: One word for each predictor, and the paragraphs of the verdict.
    verdict: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        return "accuracy" if self.task == "classification" else "dice"

    @property
    def kept(self) -> int:
        return sum(edit.kept for edit in self.edits)
