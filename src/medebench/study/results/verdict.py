"""How much a number of a study is worth in words. Every threshold of the sentences is here."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from medebench.analysis.agreement import Agreement
from medebench.analysis.ranked import Estimate
from medebench.analysis.worth import MetricWorth, Worths
from medebench.study.results.model import AnnotatorFacts, DimensionResults, StudyResults

#: A difference counts as sure below this p, after Holm's correction.
ALPHA = 0.05
#: With fewer source pictures nothing is said about metrics but that they are too few.
FEW_SOURCES = 10
#: Low end of a metric's interval from which it is said to stand in for people, if it is ...
STANDS_IN = 0.5
#: ... at most this far below what one person achieves; ...
NEAR_CEILING = 0.1
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


def grade(one: Estimate, ceiling: Estimate, sources: int) -> Grade:
    """What a metric's correlation with people allows to say about it."""
    if one.value is None or one.interval is None or sources < FEW_SOURCES:
        return "unknown"
    low = one.interval.low
    if low <= 0:
        return "does not follow"
    near = ceiling.value is not None and one.value >= ceiling.value - NEAR_CEILING
    if low >= STANDS_IN and near:
        return "stands in"
    return "follows" if low >= FOLLOWS else "follows weakly"


def too_little_agreement(agreement: Agreement) -> bool:
    """Whether people agree so little that there is nothing to follow."""
    value = agreement.spearman.value
    return value is not None and value < LOOSE


@dataclass(frozen=True)
class Race:
    """The metrics of one dimension: who is first, and who cannot be told apart from it."""

    first: MetricWorth
    level: tuple[MetricWorth, ...]
    behind: tuple[MetricWorth, ...]


def race(worths: Worths) -> Race | None:
    """None where no metric has a number.

    A metric with numbers in a few cases only may have any rho: it does not lead while others
    took part in all of the comparison.
    """
    known = [one for one in worths.metrics if one.rho.value is not None]
    part = [one for one in known if one.best is not None] or known
    if not part:
        return None
    first = max(part, key=lambda one: one.rho.value or 0.0)
    others = [one for one in part if one is not first]
    behind = tuple(one for one in others if one.p is not None and one.p < ALPHA)
    return Race(first, tuple(one for one in others if one not in behind), behind)


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
    """Metrics by their mean rho over the dimensions, those without a number last."""
    found: dict[str, list[float]] = {}
    for dimension in results.dimensions:
        for one in dimension.worths.metrics if dimension.worths else ():
            values = found.setdefault(one.metric, [])
            if one.rho.value is not None:
                values.append(one.rho.value)
    return sorted(found, key=lambda n: (not found[n], -sum(found[n]) / max(1, len(found[n]))))


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
        found.append(f"ranked repeated cases differently (mean rho with oneself {texts})")
    if one.seconds is not None and one.ranked and one.seconds < HASTY:
        found.append(f"took {one.seconds:.0f} s a case, the median")
    return found
