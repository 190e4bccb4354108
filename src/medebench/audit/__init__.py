"""What is wrong with a set of cases, and a repaired copy of it."""

from medebench.audit.audit_cache import known_audit
from medebench.audit.audit_finding import Audit, Finding, Member
from medebench.audit.audit_run import audit
from medebench.audit.audit_summary import SummaryRow, summary
from medebench.audit.check_set import check_cases
from medebench.audit.finding_kinds import AUDIT_VERSION, KINDS, Kind, Severity, kind_of
from medebench.audit.fix import FixReport, fix
from medebench.audit.without_findings import Remaining, cases_with, without_findings

__all__ = [
    "AUDIT_VERSION",
    "KINDS",
    "Audit",
    "Finding",
    "FixReport",
    "Kind",
    "Member",
    "Remaining",
    "Severity",
    "SummaryRow",
    "audit",
    "cases_with",
    "check_cases",
    "fix",
    "kind_of",
    "known_audit",
    "summary",
    "without_findings",
]
