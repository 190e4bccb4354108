"""What a study says; every table, figure and sentence is made from this."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from medebench.study.design import EDITING

if TYPE_CHECKING:
    from medebench.analysis.agreement import Agreement
    from medebench.analysis.estimate import Estimate
    from medebench.analysis.ordering import Ordering
    from medebench.analysis.worth import Worths
    from medebench.page.score_columns import Score


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
    """One dimension: of editing, of the study's own questions, or of an imported table."""

    key: str
    agreement: Agreement
    ordering: Ordering
    #: None where no run was given.
    worths: Worths | None
    #: In words, a sentence each: who leads, how far people agree, which metric stands in for them.
    answer: list[str] = field(default_factory=list)
    label: str = ""

    @property
    def name(self) -> str:
        return self.label or (EDITING[self.key].name if self.key in EDITING else self.key)


@dataclass(frozen=True)
class StudyResults:
    """Everything a study says: tables, figures and sentences are made from it."""

    title: str
    #: "study" or "table": whether attention and time are known.
    origin: str
    annotators: tuple[AnnotatorFacts, ...]
    models: tuple[str, ...]
    #: Models that are controls of medebench (identity, reference, ...).
    controls: frozenset[str]
    #: Cases ranked by at least one, and by at least two annotators; their distinct sources.
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
    #: Whether it is known which cases share a source; else each counts as its own.
    sources_known: bool = True
    #: What a reader must know: gaps, replaced outputs, excluded annotators.
    notes: tuple[str, ...] = ()
    #: What cases are made from.
    source_noun: str = "source image"

    @property
    def unit(self) -> str:
        """What intervals are taken over."""
        return self.source_noun if self.sources_known else "case"

    def __repr__(self) -> str:
        counts = f"{len(self.annotators)} annotators, {len(self.models)} models"
        return f"StudyResults({self.title!r}, {counts}, {self.cases} cases)"
