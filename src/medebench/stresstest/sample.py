"""A picture of a test set with what is true of it, and the edit that is to be made of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

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


@dataclass(frozen=True)
class StressSet:
    """The test set as it is, and the edits that are to be made of some of it."""

    task: Task
    samples: tuple[Sample, ...]
    intended: tuple[IntendedEdit, ...]
    #: The class whose probability the predictor tells; all other labels are the other class.
    positive: str = ""
