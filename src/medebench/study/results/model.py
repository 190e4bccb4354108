"""What a study says; every table, figure and sentence is made from this."""

from __future__ import annotations

from dataclasses import dataclass, field

from medebench.analysis.agreement import Agreement
from medebench.analysis.ordering import Ordering
from medebench.analysis.ranked import Estimate
from medebench.analysis.worth import Worths
from medebench.report.facts import Score

NAMES = {
    "ea": "Editing accuracy",
    "cp": "Contextual preservation",
    "vq": "Visual quality",
}


@dataclass(frozen=True)
class AnnotatorFacts:
    """What one annotator has done, and how attentively."""

    name: str
    #: Cases ranked, skipped and asked for, without trials, controls and repeats.
    ranked: int
    skipped: int
    asked: int
    controls_passed: int
    controls_failed: int
    #: Cases ranked twice.
    repeated: int
    #: Active seconds per case, the median; None where it is not known (an imported study).
    seconds: float | None
    #: dimension -> agreement with oneself on the repeated cases (mean Spearman).
    consistency: dict[str, Estimate] = field(default_factory=dict)


@dataclass(frozen=True)
class DimensionResults:
    """One dimension: "ea", "cp", "vq", or another name from an imported table."""

    key: str
    agreement: Agreement
    ordering: Ordering
    #: None where no run was given.
    worths: Worths | None
    #: In words, a sentence each: who leads, how far people agree, which metric stands in for them.
    answer: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return NAMES.get(self.key, self.key)


@dataclass(frozen=True)
class StudyResults:
    title: str
    #: "study" or "table": whether attention and time are known.
    origin: str
    annotators: tuple[AnnotatorFacts, ...]
    models: tuple[str, ...]
    #: Models that are controls of medebench (identity, reference, ...).
    controls: frozenset[str]
    #: Cases ranked by at least one, and by at least two annotators; their distinct source pictures.
    cases: int
    shared: int
    sources: int
    dimensions: tuple[DimensionResults, ...]
    #: metric -> how it is called, its direction and its judge.
    scores: dict[str, Score] = field(default_factory=dict)
    #: Metrics of the ledgers that took no part, with the reason.
    left_out: dict[str, str] = field(default_factory=dict)
    #: The models over which metrics were compared with people: without controls where that leaves
    #: three or more, else all.
    compared: tuple[str, ...] = ()
    #: Whether it is known which cases share a source picture; else each counts as its own.
    sources_known: bool = True
    #: What a reader must know: gaps, replaced outputs, excluded annotators.
    notes: tuple[str, ...] = ()
