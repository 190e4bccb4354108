"""What is wrong with a set of cases, and a repaired copy of it."""

from medebench.audit.audit_finding import Audit, Finding, Member, Severity
from medebench.audit.audit_run import audit
from medebench.audit.check_set import check_cases
from medebench.audit.fix import FixReport, fix

__all__ = ["Audit", "Finding", "FixReport", "Member", "Severity", "audit", "check_cases", "fix"]
