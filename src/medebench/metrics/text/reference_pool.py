"""The references among which one stands: those of its set that answer the same kind of question."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from medebench.cases.case import Case
from medebench.tasks.medgen_tasks import answer_kind, medgen_task


@dataclass(frozen=True)
class ReferencePool:
    """By kind of question, the texts of the references."""

    kinds: dict[str, tuple[str, ...]]
    #: Tells it from a pool of other references.
    digest: str


def kind_of_question(case: Case) -> str:
    """The task, where it is one of MedGEN-Bench, else how the answer is read."""
    known = medgen_task(case)
    return known.name if known else answer_kind(case)


def pool_references(cases: Iterable[Case]) -> ReferencePool:
    """Sorted, so that the order of the set changes nothing."""
    kinds: dict[str, list[str]] = {}
    for case in cases:
        if case.answer.strip():
            kinds.setdefault(kind_of_question(case), []).append(case.answer)
    pooled = {kind: tuple(sorted(texts)) for kind, texts in sorted(kinds.items())}
    digest = hashlib.sha256(repr(pooled).encode("utf-8", "replace")).hexdigest()[:16]
    return ReferencePool(pooled, digest)
