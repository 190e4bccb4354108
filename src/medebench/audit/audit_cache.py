"""Audits on disk: the same cases are looked at once, whichever command asks."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from medebench.audit.audit_finding import Audit
from medebench.audit.audit_run import audit
from medebench.audit.finding_kinds import AUDIT_VERSION
from medebench.cases.caseset import CaseSet
from medebench.errors import MedebenchError
from medebench.files import cache_folder, read_bytes, sha256, write_json
from medebench.progress import Progress, silent


def known_audit(
    cases: CaseSet, *, workers: int | None = None, progress: Progress = silent
) -> Audit:
    """The audit of these cases, from the cache folder if they were audited before."""
    try:
        stored = json.loads(read_bytes(_place(cases)))
        found = Audit.from_json(stored)
        return replace(found, name=cases.name, source=cases.source)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        # Not there, or not what this version wrote.
        found = audit(cases, workers=workers, progress=progress)
    remember(cases, found)
    return found


def remember(cases: CaseSet, found: Audit) -> None:
    """Keep an audit for the next command; one that cannot be kept is done again."""
    try:
        write_json(_place(cases), found.to_json())
    except (OSError, MedebenchError):
        return


def _place(cases: CaseSet) -> Path:
    """A name made of all that an audit sees: texts, files, which of them are shared, problems."""
    files = [[str(path) for path in case.files().values()] for case in cases]
    problems = [[one.code, one.case_id, one.field, one.message] for one in cases.problems]
    seen = [
        AUDIT_VERSION,
        cases.fingerprint,
        cases.task,
        files,
        problems,
        os.environ.get("MEDEBENCH_MAX_PIXELS"),
    ]
    return cache_folder() / "audits" / f"{sha256(json.dumps(seen).encode())[:32]}.json"
