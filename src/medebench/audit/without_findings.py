"""Cases chosen by finding: those that have it, and a set without them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from medebench.audit.audit_cache import known_audit
from medebench.audit.audit_finding import Finding
from medebench.audit.finding_kinds import AUDIT_VERSION, KINDS
from medebench.cases.caseset import CaseSet
from medebench.errors import InputError
from medebench.progress import Progress, silent
from medebench.tasks import find_task


@dataclass(frozen=True)
class Remaining:
    """A set without the cases that have certain findings, and which these were."""

    cases: CaseSet
    #: By finding, the cases left out for it; a case with two findings is in both.
    left_out: dict[str, tuple[str, ...]]
    #: Cases before anything was left out.
    total: int
    version: int = AUDIT_VERSION

    def __repr__(self) -> str:
        return f"Remaining({self.told()})"

    def told(self) -> str:
        """What was left out, in a line for a person."""
        why = ", ".join(f"{code} ({len(ids):,})" for code, ids in self.left_out.items())
        kept = f"{len(self.cases):,} of {self.total:,} cases"
        return f"{kept}: without {why} by audit {self.version}"

    def to_json(self) -> dict[str, Any]:
        """What a run's or report's data should record."""
        told = {code: list(ids) for code, ids in self.left_out.items()}
        return {
            "without": told,
            "audit_version": self.version,
            "cases": len(self.cases),
            "of": self.total,
        }


def cases_with(
    findings: Iterable[Finding], code: str, groups: Iterable[str] = ("organ", "task")
) -> tuple[str, ...]:
    """The ids of the cases that have this finding, in the order of the set; maybe none."""
    checked(code, groups)
    return tuple(case for one in findings if one.code == code for case in one.cases)


def checked(code: str, groups: Iterable[str] = ("organ", "task")) -> str:
    """The code of a finding, if there is such a one."""
    names = [*KINDS, *(f"no-{group}" for group in groups)]
    if code in names:
        return code
    close = difflib.get_close_matches(code, names, 1, 0.5)
    hint = f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(names)}"
    raise InputError(f"no finding '{code}'; {hint}")


def without_findings(
    cases: CaseSet,
    codes: Sequence[str],
    *,
    workers: int | None = None,
    progress: Progress = silent,
) -> Remaining:
    """The cases that have none of these findings; the audit is done once and then remembered."""
    groups = find_task(cases.task).groups
    for code in codes:
        checked(code, groups)
    if not codes:
        return Remaining(cases, {}, len(cases))
    findings = known_audit(cases, workers=workers, progress=progress).findings
    left_out = {code: cases_with(findings, code, groups) for code in dict.fromkeys(codes)}
    gone = {case for ids in left_out.values() for case in ids}
    kept = [case.id for case in cases if case.id not in gone]
    if not kept:
        raise InputError(
            f"{cases.name}: every case has one of these findings ({', '.join(left_out)}); "
            "leave fewer of them out"
        )
    return Remaining(cases.select(ids=kept), left_out, len(cases))
