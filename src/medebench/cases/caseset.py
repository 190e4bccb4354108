"""Cases from one source."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from medebench.cases.case import Case
from medebench.errors import InputError
from medebench.files import read_bytes


@dataclass(frozen=True)
class Problem:
    """A record of the source that cannot become a case."""

    code: str
    case_id: str
    field: str
    message: str
    #: File and line, where a set has several files.
    where: str = ""


@dataclass(frozen=True)
class CaseSet:
    """An ordered set of cases; pictures are opened when they are needed, not before."""

    name: str
    root: Path
    cases: tuple[Case, ...]
    #: What to give `load_cases` to get this set again.
    source: str = ""
    #: Filled by `load_cases(..., strict=False)`: what had to be left out, and why.
    problems: tuple[Problem, ...] = ()
    #: What is to be done with the cases: a name that `medebench.tasks.find_task` knows.
    task: str = "editing"

    def __repr__(self) -> str:
        return f"CaseSet({self.name!r}, {len(self)} cases of {self.task}, {self.source!r})"

    def __len__(self) -> int:
        return len(self.cases)

    def __iter__(self) -> Iterator[Case]:
        return iter(self.cases)

    def __getitem__(self, case_id: str) -> Case:
        try:
            return self._by_id[str(case_id)]
        except KeyError:
            raise InputError(
                f"{self.name}: no case '{case_id}'; the ids run from "
                f"'{self.cases[0].id}' to '{self.cases[-1].id}' ({len(self)} cases)"
                if self.cases
                else f"{self.name}: no case '{case_id}'; the set is empty"
            ) from None

    def __contains__(self, case_id: object) -> bool:
        return str(case_id) in self._by_id

    @cached_property
    def _by_id(self) -> dict[str, Case]:
        return {case.id: case for case in self.cases}

    @cached_property
    def hashes(self) -> dict[str, CaseHash]:
        """By case id, what tells the case from one with other texts or files."""
        return {case.id: hash_case(case) for case in self.cases}

    @cached_property
    def digests(self) -> dict[str, str]:
        """By case id, a hash of all that an editor or a metric can see: texts and file bytes."""
        return {case_id: one.digest for case_id, one in self.hashes.items()}

    @cached_property
    def fingerprint(self) -> str:
        """One hash for the whole set; it does not depend on folder names or on the order."""
        pairs = sorted(self.digests.items())
        return hashlib.sha256(json.dumps(pairs, ensure_ascii=False).encode()).hexdigest()

    def select(
        self,
        ids: Sequence[str] | None = None,
        organs: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> CaseSet:
        """The part of the set with these ids or organs, cut after `limit` cases."""
        cases = self.cases if ids is None else tuple(self[case_id] for case_id in ids)
        if organs is not None:
            known = {case.organ.casefold() for case in self.cases}
            wanted = {organ.casefold() for organ in organs}
            if unknown := sorted(wanted - known):
                there = ", ".join(sorted({case.organ for case in self.cases if case.organ}))
                told = f"there are: {there}" if there else "its cases name no organ"
                raise InputError(f"{self.name}: no case of organ {', '.join(unknown)}; {told}")
            cases = tuple(case for case in cases if case.organ.casefold() in wanted)
        return replace(self, cases=cases[:limit])


@dataclass(frozen=True)
class CaseHash:
    """What tells a case from one with other texts or files."""

    #: SHA-256 over the texts and the bytes of every file.
    digest: str
    #: By field, a hash of it alone: tells what is different.
    parts: dict[str, str]

    def differs(self, other: CaseHash) -> set[str]:
        """The fields of `Case` that are not the same."""
        names = self.parts.keys() | other.parts.keys()
        return {name for name in names if self.parts.get(name) != other.parts.get(name)}


def hash_case(case: Case) -> CaseHash:
    facts = {"id": case.id, "organ": case.organ, "task": case.task, "bits": case.bits}
    # Groups that few sets have do not change the digests of the others.
    told = facts | case.texts() | ({"groups": dict(case.groups)} if case.groups else {})
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
    parts = {name: _short(json.dumps(value).encode()) for name, value in told.items()}
    for role, path in sorted(case.files().items()):
        try:
            content = hashlib.sha256(read_bytes(path)).digest()
        except OSError as error:
            content = f"unreadable: {error.strerror}".encode()
        digest.update(role.encode() + content)
        parts[role] = _short(content)
    return CaseHash(digest.hexdigest(), parts)


def _short(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
