"""`check_cases`: load a set, audit it and, if asked, write a repaired copy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from medebench.audit.audit_cache import remember
from medebench.audit.audit_finding import Audit
from medebench.audit.audit_run import audit
from medebench.audit.fix import fix
from medebench.cases import CaseSet, load_cases
from medebench.errors import InputError
from medebench.progress import Bar, no_bar


def check_cases(
    cases: str | Path | CaseSet,
    *,
    fixed: str | Path | None = None,
    workers: int | None = None,
    bar: Bar = no_bar,
) -> Audit:
    """Find out what is wrong with a set of cases; every file is read once.

    Args:
        cases: whatever `load_cases` takes; records that cannot be used become findings.
        fixed: a new folder for a copy in which everything is repaired that can be.
        workers: threads; all cores by default.
        bar: opens a progress bar for each part of the work.

    Returns:
        The findings, worst first, each with its cases and a remedy; `Audit.fix` tells of the copy.

    >>> found = mb.check_cases("phantoms:count=4")
    >>> found.cases, found.errors
    (4, 0)
    """
    with bar("reading cases") as progress:
        found = load_cases(cases, strict=False, progress=progress)
    if not found.cases and not found.problems:
        raise InputError(f"{found.source}: holds no case")
    copy = None
    if fixed is not None:
        with bar("repairing") as progress:
            target = Path(fixed).expanduser().absolute()
            copy = fix(found, target, workers=workers, progress=progress)
    with bar("checking") as progress:
        result = audit(found, workers=workers, progress=progress)
    remember(found, result)
    return replace(result, fix=copy)
