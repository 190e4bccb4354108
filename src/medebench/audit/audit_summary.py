"""An audit in a table: what was found, in how many cases, and what it does to which metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from medebench.audit.audit_finding import Finding, ordered
from medebench.audit.finding_kinds import Severity


class SummaryRow(NamedTuple):
    """One kind of finding over a set."""

    finding: str
    label: str
    severity: Severity
    #: How many cases it touches.
    cases: int
    #: What it does to the scores, in a sentence, and the metrics it does it to (patterns).
    effect: str
    spoils: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return self._asdict() | {"spoils": list(self.spoils)}


def summary(findings: Iterable[Finding], metrics: Iterable[str] | None = None) -> list[SummaryRow]:
    """A row for every finding, worst first.

    With `metrics` (names of columns), `spoils` holds those of them that suffer instead of patterns.
    """
    names = None if metrics is None else list(metrics)
    return [
        SummaryRow(
            one.code,
            one.title,
            one.severity,
            len(one.cases),
            one.kind.effect,
            one.kind.spoils if names is None else tuple(filter(one.kind.touches, names)),
        )
        for one in ordered(findings)
    ]
