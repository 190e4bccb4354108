"""`audit`: every file of a set read once, every finding about it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from medebench.audit.answer_checks import answer_findings
from medebench.audit.audit_finding import Audit, Finding, distinct, examples, ordered
from medebench.audit.audited_case import MASKS, Seen
from medebench.audit.duplicates import duplicate_findings
from medebench.audit.file_facts import Gathered, gather
from medebench.audit.image_checks import picture_findings
from medebench.audit.mask_checks import mask_findings
from medebench.audit.medgen_checks import medgen_findings
from medebench.audit.pair_checks import NO_PAIR, PairFacts, pair_facts, pair_findings
from medebench.audit.text_checks import text_findings
from medebench.cases.case import Case
from medebench.cases.caseset import CaseSet, Problem
from medebench.parallel import core_count
from medebench.progress import Progress, silent
from medebench.tasks import find_task

#: Cases whose files are read ahead of the one being looked at, for each worker.
_AHEAD = 4


def audit(cases: CaseSet, *, workers: int | None = None, progress: Progress = silent) -> Audit:
    """Everything doubtful about `cases`; load them with `strict=False` to hear of bad records."""
    seen: list[Seen] = []
    for one in _examine(cases.cases, workers or core_count()):
        seen.append(one)
        progress(len(seen), len(cases))
    pairs = list(pair_findings(seen))
    turned = {case for one in pairs if one.code == "inverted-mask" for case in one.cases}
    task = find_task(cases.task)
    findings = [
        *problem_findings(cases.problems),
        *picture_findings(seen),
        *mask_findings(seen, turned),
        *pairs,
        *duplicate_findings(seen),
        *text_findings(cases, task.groups),
        *answer_findings(seen, lambda case: "text" in task.of(case).gives),
        *medgen_findings(seen),
    ]
    return Audit(
        name=cases.name,
        source=cases.source,
        cases=len(cases),
        unusable=len(cases.problems),
        files=len({facts.path for one in seen for facts in one.files.values()}),
        findings=ordered(_merged(findings)),
    )


def problem_findings(problems: Sequence[Problem]) -> Iterator[Finding]:
    """What the reader could not make a case of, by code."""
    by_code: dict[str, list[Problem]] = defaultdict(list)
    for problem in problems:
        by_code[problem.code].append(problem)
    for code, found in by_code.items():
        lines = (
            f"{problem.where}{': ' if problem.where else ''}"
            f"{_owner(problem.case_id)}{', ' if problem.field else ''}{problem.field}: "
            f"{problem.message}"
            for problem in found
        )
        yield Finding(code, distinct(problem.case_id for problem in found), examples(lines))


def _owner(case_id: str) -> str:
    return case_id if case_id.startswith("record ") else f"case {case_id}"


def _merged(findings: Sequence[Finding]) -> Iterator[Finding]:
    """One finding a code: a file can be gone when the set is loaded, or go while it is read."""
    by_code: dict[str, Finding] = {}
    for finding in findings:
        if (other := by_code.get(finding.code)) is not None:
            cases, groups = distinct(other.cases + finding.cases), other.groups + finding.groups
            detail = f"{other.detail}; {finding.detail}"
            finding = replace(other, cases=cases, detail=detail, groups=groups)
        by_code[finding.code] = finding
    yield from by_code.values()


_Key: TypeAlias = tuple[Path, bool]


def _keys(case: Case) -> dict[str, _Key]:
    return {role: (path, role in MASKS) for role, path in case.files().items()}


def _examine(cases: Sequence[Case], workers: int) -> Iterator[Seen]:
    """Cases in order; their files are read ahead in threads, each file once however often used."""
    uses = Counter(key for case in cases for key in _keys(case).values())
    reading: dict[_Key, Future[Gathered]] = {}
    pool = ThreadPoolExecutor(workers, thread_name_prefix="audit")
    submitted = 0
    try:
        for number, case in enumerate(cases):
            while submitted < min(number + _AHEAD * workers, len(cases)):
                for key in _keys(cases[submitted]).values():
                    if key not in reading:
                        reading[key] = pool.submit(gather, *key)
                submitted += 1
            found = {role: reading[key].result() for role, key in _keys(case).items()}
            # A target of another shape and kind is no second photograph of the input.
            pair = NO_PAIR if case.grid == "reference" else _pair(found)
            yield Seen(case, {role: one.facts for role, one in found.items()}, pair)
            for key in _keys(case).values():
                uses[key] -= 1
                if not uses[key]:
                    del reading[key]
    finally:
        # On Ctrl-C nobody waits for what has not begun.
        pool.shutdown(wait=False, cancel_futures=True)


def _pair(found: dict[str, Gathered]) -> PairFacts:
    views = {role: one.view for role, one in found.items()}
    cover = found["roi"].cover if "roi" in found else None
    return pair_facts(views.get("previous"), views.get("reference"), cover)
