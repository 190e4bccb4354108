"""Cases that show a model how it is done: same task, never the case itself or its kin."""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

from medebench.audit.related_cases import kin
from medebench.cases import Case, CaseSet, OpenCase, open_case
from medebench.errors import InputError
from medebench.systems import Refused


class Shown(Protocol):
    """How a run comes to what it shows with each case."""

    @property
    def fingerprint(self) -> str:
        """Tells this choice from another: what a model is shown decides what comes out."""

    def prepare(self) -> None:
        """Look at all pictures that are needed, once."""

    def draw(self, case: Case, seed: int) -> tuple[OpenCase, ...]:
        """The opened cases, or a refusal."""


class Demonstrations:
    """Draws `count` cases of `pool` for one of `cases`, by seed; `least` will do.

    No two of them are kin either: a demonstration shown twice shows nothing new.
    """

    def __init__(
        self,
        pool: CaseSet,
        cases: CaseSet,
        count: int,
        workers: int | None = None,
        least: int | None = None,
    ) -> None:
        self.count, self.least = count, count if least is None else least
        self._workers = workers
        self._pool, self._cases = pool, cases

    @property
    def fingerprint(self) -> str:
        return self._pool.fingerprint

    @cached_property
    def _kin(self) -> dict[str, int]:
        every = {case.id: case for case in (*self._pool, *self._cases)}
        return kin(every.values(), self._workers)

    @cached_property
    def _by_task(self) -> dict[tuple[str, str], list[Case]]:
        found: dict[tuple[str, str], list[Case]] = defaultdict(list)
        for case in self._pool:
            if case.task and (case.reference is not None or case.answer):
                found[_task(case)].append(case)
        return found

    def prepare(self) -> None:
        _ = self._kin, self._by_task

    def draw(self, case: Case, seed: int) -> tuple[OpenCase, ...]:
        """`count` opened cases, or a refusal where the task has too few."""
        taken = {self._kin[case.id]}
        others = [one for one in self._by_task.get(_task(case), []) if one.id != case.id]
        random.Random(seed).shuffle(others)
        chosen: list[Case] = []
        for one in others:
            if len(chosen) < self.count and self._kin[one.id] not in taken:
                taken.add(self._kin[one.id])
                chosen.append(one)
        if len(chosen) < self.least:
            what = f"task '{case.task}'" if case.task else "a case without a task"
            raise Refused(
                f"{what} has {len(chosen)} other cases to show, {self.least} demonstrations "
                "are asked for"
            )
        return tuple(open_case(one) for one in chosen)


class FixedDemonstrations:
    """The same cases in the same order with every case; one that is their kin is refused."""

    def __init__(
        self,
        pool: CaseSet,
        cases: CaseSet,
        shown: Sequence[str],
        count: int,
        workers: int | None = None,
    ) -> None:
        if len(shown) != count or len(set(shown)) != count:
            raise InputError(
                f"shown: {len(set(shown))} different cases are named, and the system is shown "
                f"{count}; name as many as its demonstrations"
            )
        self._shown = [pool[case_id] for case_id in shown]
        for one in self._shown:
            if one.reference is None and not one.answer:
                raise InputError(f"shown: case '{one.id}' has no reference; name another")
        self._pool, self._cases, self._workers = pool, cases, workers

    @property
    def fingerprint(self) -> str:
        digests = (self._pool.digests[one.id] for one in self._shown)
        return hashlib.sha256("\n".join(digests).encode()).hexdigest()

    @cached_property
    def _kin(self) -> dict[str, int]:
        every = {case.id: case for case in (*self._shown, *self._cases)}
        return kin(every.values(), self._workers)

    def prepare(self) -> None:
        _ = self._kin

    def draw(self, case: Case, seed: int) -> tuple[OpenCase, ...]:
        for one in self._shown:
            if self._kin[one.id] == self._kin[case.id]:
                raise Refused(
                    f"demonstration '{one.id}' is the case itself or has one of its pictures"
                )
        return tuple(open_case(one) for one in self._shown)


def _task(case: Case) -> tuple[str, str]:
    return case.organ.casefold(), case.task.casefold()
