"""What is wrong with a set of cases, and a repaired copy of it."""

from medebench.cases.audit.finding import Audit, Finding, Member, Severity
from medebench.cases.audit.fix import FixReport, fix
from medebench.cases.audit.run import audit

__all__ = ["Audit", "Finding", "FixReport", "Member", "Severity", "audit", "fix"]
