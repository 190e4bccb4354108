"""Two parts of a set that share no picture: one to choose on, one to report."""

from __future__ import annotations

import random
from collections import defaultdict

from medebench.audit.related_cases import kin
from medebench.cases.caseset import CaseSet
from medebench.errors import InputError


def split(
    cases: CaseSet, share: float, seed: int = 0, workers: int | None = None
) -> tuple[CaseSet, CaseSet]:
    """About `share` of the cases, and the rest; both hold every task in proportion.

    Cases whose pictures are equal or look alike stay together. The same seed gives the same parts.
    """
    if not 0 < share < 1:
        raise InputError(f"share: expected more than 0 and less than 1, found {share:g}")
    group_of = kin(cases, workers)
    groups: dict[int, list[str]] = defaultdict(list)
    for case in cases:
        groups[group_of[case.id]].append(case.id)
    strata: dict[tuple[str, str], list[list[str]]] = defaultdict(list)
    for members in groups.values():
        first = cases[members[0]]
        strata[first.organ, first.task].append(members)
    taken: set[str] = set()
    seen = 0
    for _, found in sorted(strata.items()):
        random.Random(f"{seed}/{found[0][0]}").shuffle(found)
        for members in found:
            seen += len(members)
            # What one task gets too much or too little, the next makes up for.
            if len(taken) + len(members) / 2 <= share * seen:
                taken.update(members)
    if not taken or len(taken) == len(cases):
        raise InputError(
            f"{cases.name}: cannot be split in two at {share:g} ({len(cases)} cases in "
            f"{len(groups)} independent groups); use more cases or another share"
        )
    ids = [case.id for case in cases]
    return (
        cases.select(ids=[one for one in ids if one in taken]),
        cases.select(ids=[one for one in ids if one not in taken]),
    )
