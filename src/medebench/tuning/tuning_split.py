"""Which cases are tested and which are learned from: apart by source and by lookalikes.

All that is random comes from the experiment's seed and the names of task, fold and draw: a further
draw leaves the others as they were, and more samples go on where fewer ended.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from medebench.cases import Case
from medebench.errors import InputError
from medebench.tuning.tuning_design import Fold, TuningDesign

#: Orders that are tried before a task counts as too small for one test set beside one pool.
_ORDERS = 20

Groups = Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class TaskCases:
    """Cases of a task that can be learned from and tested, in groups that are not independent."""

    task: str
    groups: Groups
    organ: str = ""

    @property
    def cases(self) -> list[str]:
        return [case_id for group in self.groups for case_id in group]


def find_tasks(cases: Iterable[Case], groups: Mapping[str, int]) -> dict[str, TaskCases]:
    """By name, the tasks with pairs of images; `Organ/Task` where two organs have one of a name.

    `groups` has a number for each case: the same for those that share a picture or a source.
    """
    found: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in cases:
        if case.task and case.prompt and case.previous is not None and case.reference is not None:
            found[case.organ, case.task].append(case)
    names = [task for _, task in found]
    tasks = {}
    for (organ, task), own in found.items():
        name = f"{organ}/{task}" if names.count(task) > 1 else task
        by_group: dict[int, list[str]] = defaultdict(list)
        for case in own:
            by_group[groups[case.id]].append(case.id)
        members = sorted(tuple(sorted(ids)) for ids in by_group.values())
        tasks[name] = TaskCases(name, members, organ)
    return tasks


def choose_tasks(design: TuningDesign, tasks: Mapping[str, TaskCases]) -> list[TaskCases]:
    """Those that the design names; all that are large enough where it names none."""
    if not tasks:
        raise InputError("tasks: no case has a task, an instruction and a reference image")
    if design.tasks:
        named = [_named(name, tasks) for name in design.tasks]
        return list({one.task: one for one in named}.values())
    found = [one for one in tasks.values() if _problem(design, one) is None]
    if not found:
        largest = max(tasks.values(), key=lambda one: len(one.cases))
        raise InputError(f"tasks: none has cases enough; {_problem(design, largest)}")
    return found


def _named(name: str, tasks: Mapping[str, TaskCases]) -> TaskCases:
    """`Task`, or `Organ/Task` also where the task alone would do."""
    wanted = name.casefold()
    for one in tasks.values():
        if wanted in (one.task.casefold(), f"{one.organ}/{one.task}".casefold()):
            return one
    there = ", ".join(tasks)
    raise InputError(f"tasks: no task '{name}' with reference images; there are: {there}")


def split_task(design: TuningDesign, one: TaskCases) -> list[Fold]:
    """The folds of a task: one where test cases and pool fit beside each other."""
    if problem := _problem(design, one):
        raise InputError(f"tasks: {problem}")
    need = longest(design)
    parts = _beside(design, one, need) or _crossed(design, one, need)
    assert parts is not None
    crossed = len(parts) > 1
    return [
        _fold(design, one.task, number if crossed else 0, test, pool, need)
        for number, (test, pool) in enumerate(parts)
    ]


def longest(design: TuningDesign) -> int:
    """Pairs that a draw has: those of the most samples, or of the most demonstrations."""
    shown = max(design.demonstrations, default=0) if design.in_context else 0
    return max(*design.samples, shown)


def is_too_small(design: TuningDesign, one: TaskCases) -> bool:
    return _problem(design, one) is not None


def _problem(design: TuningDesign, one: TaskCases) -> str | None:
    """Why even training on all but one group at a time is not enough."""
    need, cases = longest(design), len(one.cases)
    biggest = max(map(len, one.groups))
    if cases - biggest >= need and len(one.groups) > 1:
        return None
    left = max(0, cases - biggest)
    groups = f"{len(one.groups)} independent group{'' if len(one.groups) == 1 else 's'}"
    remedy = f"ask for at most {left} samples" if left else "bring more cases"
    return (
        f"'{one.task}' has {cases} pairs in {groups}, which leaves {left} to learn from beside a "
        f"test case, and {need} are asked for; {remedy}, or leave the task out"
    )


def _beside(
    design: TuningDesign, one: TaskCases, need: int
) -> list[tuple[list[str], list[tuple[str, ...]]]] | None:
    """One test set and one pool of other groups, if there are cases enough."""
    if len(one.cases) < design.test + need:
        return None
    for attempt in range(_ORDERS + 1):
        order = _shuffled(f"{design.seed}/{one.task}/test/{attempt}", one.groups)
        if attempt == _ORDERS:
            # Large groups cost the pool least where they are cut by the size of the test set.
            order.sort(key=len)
        test: list[str] = []
        pool: list[tuple[str, ...]] = []
        for group in order:
            if len(test) < design.test:
                test += group[: design.test - len(test)]
            else:
                pool.append(group)
        if len(test) == design.test and sum(map(len, pool)) >= need:
            return [(test, pool)]
    return None


def _crossed(
    design: TuningDesign, one: TaskCases, need: int
) -> list[tuple[list[str], list[tuple[str, ...]]]] | None:
    """As few folds as leave enough to learn from; every case is tested once."""
    order = _shuffled(f"{design.seed}/{one.task}/folds", one.groups)
    # The largest first, each into the emptiest fold.
    order.sort(key=len, reverse=True)
    total = len(one.cases)
    for count in range(2, len(order) + 1):
        folds: list[list[tuple[str, ...]]] = [[] for _ in range(count)]
        for group in order:
            min(folds, key=lambda fold: sum(map(len, fold))).append(group)
        sizes = [sum(map(len, fold)) for fold in folds]
        if total - max(sizes) >= need:
            break
    else:
        return None
    parts = []
    for number, fold in enumerate(folds):
        rest = [group for other in folds[:number] + folds[number + 1 :] for group in other]
        parts.append(([case_id for group in fold for case_id in group], sorted(rest)))
    return parts


def _fold(
    design: TuningDesign, task: str, fold: int, test: Sequence[str], pool: Groups, need: int
) -> Fold:
    draws = tuple(
        tuple(order_of(f"{design.seed}/{task}/{fold}/{draw}", sorted(pool))[:need])
        for draw in range(design.draws)
    )
    return Fold(task, fold, tuple(sorted(test)), draws, len(pool))


def whole_order(design: TuningDesign, fold: Fold, one: TaskCases, draw: int) -> list[str]:
    """All of the pool in the order of a draw: its pairs, and behind them what it leaves unused."""
    tested = set(fold.test)
    pool = [group for group in one.groups if not tested & set(group)]
    return order_of(f"{design.seed}/{fold.task}/{fold.fold}/{draw}", sorted(pool))


def order_of(key: str, pool: Groups) -> list[str]:
    """One case of each group, all groups in random order, before a second of any."""
    chance = random.Random(key)
    groups = [chance.sample(group, len(group)) for group in pool]
    chance.shuffle(groups)
    rounds = max(map(len, groups), default=0)
    return [group[turn] for turn in range(rounds) for group in groups if turn < len(group)]


def _shuffled(key: str, groups: Groups) -> list[tuple[str, ...]]:
    order = list(groups)
    random.Random(key).shuffle(order)
    return order
