"""A test set, the edits made of it, and what a stress test found, as numbers.

Words, tables and the page are made from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from medebench.analysis.estimate import Estimate

#: What a predictor does: say how likely a class is, or mark an organ.
Task = Literal["classification", "segmentation"]


@dataclass(frozen=True, slots=True)
class Sample:
    """`label` is true of the picture (classification), `mask` marks the organ (segmentation)."""

    id: str
    image: Path
    label: str = ""
    mask: Path | None = None
    #: What the picture shows, in words; the edit score compares them with those of the edit.
    caption: str = ""
    #: Pictures of one group (a patient) are not independent; empty: a group of its own.
    group: str = ""
    #: Significant bits of a 16-bit picture; None = the file's own depth.
    bits: int | None = None

    @property
    def cluster(self) -> str:
        return self.group or self.id


@dataclass(frozen=True, slots=True)
class IntendedEdit:
    """One edit to make: what the picture should show, where it may change, what must stay."""

    sample: Sample
    prompt: str
    #: True of the picture once it is edited; the mask of an organ stays that of the sample.
    label: str = ""
    edit: Path | None = None
    keep: Path | None = None
    #: A kind of edit, where a stress test makes several ("oedema", "pacemaker").
    kind: str = ""
    #: The picture as it should look, where that is known (drawn pictures).
    reference: Path | None = None

    @property
    def id(self) -> str:
        return f"{self.sample.id}-{self.kind}" if self.kind else self.sample.id

    @property
    def cluster(self) -> str:
        return self.sample.cluster


@dataclass(frozen=True)
class StressSet:
    """The test set as it is, and the edits that are to be made of some of it."""

    task: Task
    samples: tuple[Sample, ...]
    intended: tuple[IntendedEdit, ...]
    #: The class whose probability the predictor tells; all other labels are the other class.
    positive: str = ""


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
