"""What an audit says: findings, worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from medebench.audit.finding_kinds import AUDIT_VERSION, Kind, Severity, kind_of

if TYPE_CHECKING:
    from medebench.audit.fix import FixReport

_RANK: dict[Severity, int] = {"error": 0, "warning": 1, "note": 2}


class Member(NamedTuple):
    """One picture of a group: whose, and in which role."""

    case: str
    role: str


@dataclass(frozen=True)
class Finding:
    """One kind of flaw, with every case that has it."""

    code: str
    cases: tuple[str, ...]
    detail: str
    #: For flaws that cases have together (duplicates); empty for all others.
    groups: tuple[tuple[Member, ...], ...] = ()
    #: Where it is not that of the kind.
    own_severity: Severity | None = None

    @property
    def kind(self) -> Kind:
        """What it says of every finding of this code: label, remedy, effect on which scores."""
        return kind_of(self.code)

    @property
    def severity(self) -> Severity:
        return self.own_severity or self.kind.severity

    @property
    def title(self) -> str:
        return self.kind.label

    @property
    def remedy(self) -> str:
        return self.kind.remedy

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {"severity": self.severity, "code": self.code, "title": self.title}
        value |= {"count": len(self.cases), "cases": list(self.cases)}
        value |= {"detail": self.detail, "remedy": self.remedy}
        value |= {"effect": self.kind.effect, "spoils": list(self.kind.spoils)}
        if self.groups:
            value["groups"] = [[member._asdict() for member in group] for group in self.groups]
        return value

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Finding:
        groups = (tuple(Member(**one) for one in group) for group in value.get("groups", ()))
        ids, severity = tuple(value["cases"]), value["severity"]
        return cls(value["code"], ids, value["detail"], tuple(groups), severity)


@dataclass(frozen=True)
class Audit:
    """All findings about one set of cases."""

    name: str
    source: str
    #: How many cases can be used at all, and how many records of the source cannot.
    cases: int
    unusable: int
    #: Different picture files that were read.
    files: int
    findings: tuple[Finding, ...]
    #: The repaired copy, where one was asked for.
    fix: FixReport | None = None

    def __repr__(self) -> str:
        counts = f"{self.errors} errors, {self.warnings} warnings, {self.notes} notes"
        return f"Audit({self.name!r}, {self.cases} cases, {counts})"

    @property
    def errors(self) -> int:
        return self._count("error")

    @property
    def warnings(self) -> int:
        return self._count("warning")

    @property
    def notes(self) -> int:
        return self._count("note")

    @property
    def exit_code(self) -> int:
        return 1 if self.errors else 0

    def __getitem__(self, code: str) -> Finding:
        for finding in self.findings:
            if finding.code == code:
                return finding
        raise KeyError(code)

    def __contains__(self, code: object) -> bool:
        return any(finding.code == code for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        copy = {"fix": self.fix.to_json()} if self.fix else {}
        names = ("name", "source", "cases", "unusable", "files", "errors", "warnings", "notes")
        told = {"version": AUDIT_VERSION} | {name: getattr(self, name) for name in names}
        return told | {"findings": [finding.to_json() for finding in self.findings]} | copy

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Audit:
        names = ("name", "source", "cases", "unusable", "files")
        findings = tuple(Finding.from_json(one) for one in value["findings"])
        return cls(**{name: value[name] for name in names}, findings=findings)

    def _count(self, severity: Severity) -> int:
        return sum(finding.severity == severity for finding in self.findings)


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: (_RANK[finding.severity], finding.code)))


def examples(texts: Iterable[str], limit: int = 3) -> str:
    """The first few of many, and how many more there are, on one line."""
    every = [" ".join(text.split()) for text in texts]
    more = len(every) - limit
    return "; ".join(every[:limit]) + (f"; and {more:,} more" if more > 0 else "")


def distinct(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ids))


def tally(words: Iterable[str]) -> str:
    """'GPS position (3), comment (1)', most frequent first."""
    counts = sorted(Counter(words).items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{word} ({count:,})" for word, count in counts)
