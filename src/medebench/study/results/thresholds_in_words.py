"""How much a number of a study is worth in words. Every threshold of the sentences is here."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from medebench.analysis.agreement import Agreement
from medebench.analysis.signflip import least_p
from medebench.analysis.worth import MetricWorth, Worths
from medebench.study.results.results_model import AnnotatorFacts, DimensionResults, StudyResults

#: A difference counts as sure below this p, after Holm's correction.
ALPHA = 0.05
#: With fewer source images behind its rho nothing is said about a metric but that they are few.
FEW_SOURCES = 10
#: Low end of a metric's interval, corrected for the number of metrics, from which it is said to
#: stand in for people, if ...
STANDS_IN = 0.5
#: ... it is surely less than this below one person, both held against the other people; ...
NEAR_PERSON = 0.1
#: ... to follow people; above 0 it follows them weakly, else not.
FOLLOWS = 0.3
#: Mean Spearman between people: close, fair, loose agreement; below the last, too little.
CLOSE, FAIR, LOOSE = 0.8, 0.6, 0.4
#: Share of failed controls from which an annotator's answers are in doubt.
INATTENTIVE = 0.2
#: Agreement with oneself below which they are in doubt, and over how many repeated cases.
INCONSISTENT, FEWEST_REPEATS = 0.5, 4
#: Seconds a case below which nobody can have looked at all outputs.
HASTY = 10.0

Grade = Literal["stands in", "follows", "follows weakly", "does not follow", "unknown"]


def grade(one: MetricWorth, *, with_controls: bool = False) -> Grade:
    """What a metric's correlation with people allows to say about it.

    Controls are easily told from the rest: where they are among what was compared, a metric may
    follow people, but that it stands in for them among models is not shown.
    """
    if one.corrected is None or one.sources < FEW_SOURCES:
        return "unknown"
    low = one.corrected.low
    if low <= 0:
        return "does not follow"
    gap = one.gap.interval if one.gap else None
    if low >= STANDS_IN and gap and gap.low >= -NEAR_PERSON and not with_controls:
        return "stands in"
    return "follows" if low >= FOLLOWS else "follows weakly"


def compared_controls(results: StudyResults) -> frozenset[str]:
    """Controls among the models over which metrics were compared with people."""
    return results.controls & set(results.compared or results.models)


def active(results: StudyResults) -> list[AnnotatorFacts]:
    """The people who have ranked anything."""
    return [one for one in results.annotators if one.ranked]


def hopeless(sources: int, comparisons: int) -> bool:
    """Whether the test could not have told anything apart, whatever people said."""
    return comparisons > 0 and least_p(sources) * comparisons >= ALPHA


def too_little_agreement(agreement: Agreement) -> bool:
    """Whether people agree so little that there is nothing to follow."""
    value = agreement.spearman.value
    return value is not None and value < LOOSE


@dataclass(frozen=True)
class Race:
    """The metrics that take part in one dimension: who is first, and who may be as good."""

    first: MetricWorth
    level: tuple[MetricWorth, ...]
    behind: tuple[MetricWorth, ...]

    @property
    def size(self) -> int:
        return 1 + len(self.level) + len(self.behind)


def race(worths: Worths) -> Race | None:
    """None where no metric takes part.

    A metric with numbers in a few cases only may have any rho: it does not lead.
    """
    part = [one for one in worths.metrics if one.best is not None and one.rho.value is not None]
    if not part:
        return None
    first = max(part, key=lambda one: one.rho.value or 0.0)
    others = [one for one in part if one is not first]
    behind = tuple(one for one in others if _behind(one))
    return Race(first, tuple(one for one in others if one not in behind), behind)


def _behind(one: MetricWorth) -> bool:
    gap = one.behind.value if one.behind else None
    return gap is not None and gap > 0 and one.p is not None and one.p < ALPHA


def too_few_to_tell(found: Race, worths: Worths) -> bool:
    """Whether no metric could have been ruled out as the best with so few pictures."""
    compared = sum(one.behind is not None for one in worths.metrics)
    most = max((min(found.first.sources, one.sources) for one in found.level), default=0)
    return not found.behind and bool(found.level) and hopeless(most, compared)


def standing_of(one: MetricWorth, found: Race | None) -> Literal["first", "level", "behind", ""]:
    """Where a metric is in the race; nothing where it took no part."""
    if found is None:
        return ""
    if one is found.first:
        return "first"
    return "level" if one in found.level else "behind" if one in found.behind else ""


def leader(dimension: DimensionResults, controls: Collection[str]) -> str:
    """The model that people put first; controls are there to be compared with, not to win."""
    known = [one for one in dimension.ordering.standings if one.strength.value is not None]
    return next((one.model for one in known if one.model not in controls), "")


def metric_order(results: StudyResults) -> list[str]:
    """Metrics by their mean rho over the dimensions in which they take part.

    Then, by the mean of what there is, those that take part in none; last those without a number.
    """
    part: dict[str, list[float]] = {}
    known: dict[str, list[float]] = {}
    for dimension in results.dimensions:
        for one in dimension.worths.metrics if dimension.worths else ():
            values, sure = known.setdefault(one.metric, []), part.setdefault(one.metric, [])
            if one.rho.value is not None:
                values.append(one.rho.value)
                if one.best is not None:
                    sure.append(one.rho.value)

    def place(name: str) -> tuple[bool, bool, float]:
        values = part[name] or known[name]
        return not part[name], not known[name], -sum(values) / max(1, len(values))

    return sorted(known, key=place)


def doubts(one: AnnotatorFacts) -> list[str]:
    """What speaks against the answers of an annotator, in words."""
    found = []
    controls = one.controls_passed + one.controls_failed
    if controls and one.controls_failed / controls >= INATTENTIVE:
        found.append(f"failed {one.controls_failed} of {controls} controls")
    low = [
        (key, self.value)
        for key, self in one.consistency.items()
        if self.value is not None and self.n >= FEWEST_REPEATS and self.value < INCONSISTENT
    ]
    if low:
        texts = ", ".join(f"{key} {value:.2f}".replace("-", "−") for key, value in low)
        found.append(f"ranked repeated cases differently (mean rho with themselves {texts})")
    if one.seconds is not None and one.ranked and one.seconds < HASTY:
        found.append(f"took a median of {one.seconds:.0f} s per case")
    return found
