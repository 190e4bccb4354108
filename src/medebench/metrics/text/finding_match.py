"""What an answer states of findings, against what its reference states.

A finding counts once for each side it is said of. What is said to be absent counts only where the
other text speaks of the same finding: to deny what nobody mentioned is neither right nor wrong.
Surely and possibly there are the same; the detail tells how many were hedged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from medebench.metrics.text.findings import Finding, find_findings

_SIDES = {"both": ("left", "right")}


@dataclass(frozen=True)
class Statement:
    """That a finding is there, or is not, on one side or on none that is named."""

    name: str
    side: str
    there: bool
    nature: str = ""

    def meets(self, other: Statement) -> bool:
        """Whether both are about the same finding, on sides that may be the same."""
        near = not self.side or not other.side or self.side == other.side
        return self.name == other.name and near

    def agrees(self, other: Statement) -> bool:
        same = not self.nature or not other.nature or self.nature == other.nature
        return self.meets(other) and self.there == other.there and same


@dataclass(frozen=True)
class FindingMatch:
    """The statements that are compared, and those that have none to agree with."""

    said: tuple[Statement, ...]
    due: tuple[Statement, ...]
    wrong: tuple[Statement, ...]
    missed: tuple[Statement, ...]
    #: Findings that the answer says are there, those nowhere in the reference, and the other way.
    stated: frozenset[str]
    invented: frozenset[str]
    expected: frozenset[str]
    omitted: frozenset[str]
    #: Findings found in each text, counting nothing twice.
    in_answer: int
    in_reference: int

    @property
    def precision(self) -> float | None:
        """Of the answer's statements, the share that the reference agrees with."""
        return 1 - len(self.wrong) / len(self.said) if self.said else None

    @property
    def recall(self) -> float | None:
        return 1 - len(self.missed) / len(self.due) if self.due else None

    @property
    def f1(self) -> float | None:
        """None where neither text states anything that could be compared."""
        if not self.said and not self.due:
            return None
        precision, recall = self.precision or 0.0, self.recall or 0.0
        total = precision + recall
        return 2 * precision * recall / total if total else 0.0


@lru_cache(8192)
def match_findings(answer: str, reference: str) -> FindingMatch:
    """The findings of two texts beside each other.

    >>> match_findings("large pneumothorax", "no pneumothorax").f1
    0.0
    >>> match_findings("left effusion, no fracture", "effusion on the left").f1
    1.0
    """
    ours, theirs = _statements(answer), _statements(reference)
    said = tuple(one for one in ours if one.there or any(one.meets(other) for other in theirs))
    due = tuple(one for one in theirs if one.there or any(one.meets(other) for other in ours))
    stated, expected = _there(ours), _there(theirs)
    return FindingMatch(
        said,
        due,
        tuple(one for one in said if not any(one.agrees(other) for other in due)),
        tuple(one for one in due if not any(one.agrees(other) for other in said)),
        stated,
        stated - expected,
        expected,
        expected - stated,
        len({one.name for one in ours}),
        len({one.name for one in theirs}),
    )


@lru_cache(8192)
def _statements(text: str) -> tuple[Statement, ...]:
    """Each once; where a text says both, what is there counts, as a list of negatives is often a
    template and the finding is not."""
    found = [one for one in find_findings(text) if not one.aside]
    there = dict.fromkeys(_each_side(one for one in found if one.stated))
    absent = dict.fromkeys(_each_side(one for one in found if one.negated))
    sides: dict[str, set[str]] = {}
    for one in there:
        sides.setdefault(one.name, set()).add(one.side)
    # "An effusion ... the left effusion" is one.
    told = [one for one in there if one.side or sides[one.name] == {""}]
    return tuple(told + [one for one in absent if not any(one.meets(other) for other in there)])


def _each_side(findings: Iterable[Finding]) -> Iterable[Statement]:
    for one in findings:
        for side in _SIDES.get(one.side, (one.side,)):
            yield Statement(one.name, side, not one.negated, one.nature)


def _there(statements: Iterable[Statement]) -> frozenset[str]:
    return frozenset(one.name for one in statements if one.there)
