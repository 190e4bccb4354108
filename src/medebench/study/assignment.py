"""Who ranks which case, when, and in which order the outputs lie before him.

Everything random is drawn from the seed, so that the same study can be made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from random import Random

from medebench.errors import InputError
from medebench.study.design import RUINED, Kind, Task

#: Share of an annotator's own cases that is shown again, and that controls are added.
SHARE = 0.05
#: From fewer repeats nothing can be said about consistency.
FEWEST_CONTROLS, FEWEST_REPEATS = 2, 4
#: No repeat is among the first tasks after the trial.
FIRST = 5
_ATTEMPTS = 200


@dataclass(frozen=True)
class Pool:
    """Cases by number: `sample` counts, `spare` serves for trial and controls."""

    sample: tuple[int, ...]
    spare: tuple[int, ...]


@dataclass(frozen=True)
class Assigned:
    """The tasks of every annotator, and how many of them are controls and repeats."""

    tasks: list[list[Task]]
    controls: int
    repeats: int


def share_out(cases: Sequence[int], annotators: int, overlap: int, seed: int) -> list[list[int]]:
    """The cases of every annotator: each case goes to `overlap` of them.

    Numbers of cases differ by one at most. Of those with the fewest cases, one is taken who is not
    yet compared with the others of this case, not even by way of third ones; then one who met
    them least. Cases that follow each other (of one organ) are spread in the same way.
    """
    if not 1 <= overlap <= annotators:
        raise InputError(f"overlap: expected 1 to {annotators} (annotators), found {overlap}")
    random = Random(f"{seed}/share")
    own: list[list[int]] = [[] for _ in range(annotators)]
    met = [[0] * annotators for _ in range(annotators)]
    group = list(range(annotators))
    for case in cases:
        chosen: list[int] = []
        groups: set[int] = set()
        meetings = [0] * annotators
        for _ in range(overlap):
            costs = [
                (len(own[one]), group[one] in groups, meetings[one], random.random(), one)
                for one in range(annotators)
                if one not in chosen
            ]
            new = min(costs)[-1]
            chosen.append(new)
            groups.add(group[new])
            meetings = [count + more for count, more in zip(meetings, met[new], strict=True)]
        for one in chosen:
            own[one].append(case)
            for other in chosen:
                met[one][other] += one != other
        group = [group[chosen[0]] if name in groups else name for name in group]
    return own


def strangers(own: Sequence[Sequence[int]]) -> tuple[int, bool]:
    """How many pairs of annotators have no case in common, and whether all are connected."""
    sets = [set(cases) for cases in own]
    apart = 0
    group = list(range(len(own)))
    for a, b in combinations(range(len(own)), 2):
        if sets[a] & sets[b]:
            group = [group[a] if name == group[b] else name for name in group]
        else:
            apart += 1
    return apart, len(set(group)) <= 1


def assign(
    own: Sequence[Sequence[int]],
    pool: Pool,
    runs: Sequence[str],
    seed: int,
    controls: int | None = None,
    repeats: int | None = None,
) -> Assigned:
    """The tasks of every annotator, who ranks the cases `own[annotator]`.

    First the trial, the same case for all; then the own cases, mixed with controls (an output is
    ruined) and repeats. Every task has its own order of outputs.
    """
    most, least = max(map(len, own)), min(map(len, own))
    usual = round(SHARE * most)
    if not least:
        raise InputError(
            f"{len(own)} annotators are too many for {len(pool.sample)} cases: "
            f"some would have nothing to do; name fewer, or raise the overlap"
        )
    for name, wished in (("controls", controls), ("repeats", repeats)):
        if wished is not None and wished < 0:
            raise InputError(f"{name}: expected 0 or more, found {wished}")
    trial = (pool.spare or pool.sample)[0]
    available = len({*pool.spare[1:], *pool.sample} - {trial})
    n_controls = min(max(FEWEST_CONTROLS, usual) if controls is None else controls, available)
    n_repeats = min(max(FEWEST_REPEATS, usual) if repeats is None else repeats, least)
    if least + n_controls < 2:
        # With one task only, its repeat would come directly after it.
        n_repeats = 0
    tasks = []
    for number, cases in enumerate(own):
        random = Random(f"{seed}/annotator {number}")
        ruined = _control_cases(cases, pool, trial, n_controls, random)
        plan = _lay_out(list(cases), ruined, n_repeats, trial, random)
        tasks.append(_with_orders([("trial", trial), *plan], sorted(runs), random))
    return Assigned(tasks, n_controls, n_repeats)


def _control_cases(
    own: Sequence[int], pool: Pool, trial: int, count: int, random: Random
) -> list[int]:
    """Cases nobody ranks; if there are too few, those others rank; then own ones."""
    taken = {*own, trial}
    other = [case for case in pool.sample if case not in taken]
    mine = [case for case in own if case != trial]
    random.shuffle(other)
    random.shuffle(mine)
    return [*pool.spare[1:], *other, *mine][:count]


def _lay_out(
    cases: list[int], controls: list[int], repeats: int, trial: int, random: Random
) -> list[tuple[Kind, int]]:
    """All tasks after the trial. A repeat comes a third of the list after its first showing."""
    total = len(cases) + len(controls) + repeats
    gap = max(2, -(-total // 3))
    early = min(max(FIRST, gap), total - repeats)
    for _ in range(_ATTEMPTS):
        random.shuffle(cases)
        random.shuffle(controls)
        late = sorted(random.sample(range(early, total), repeats))
        ruined = random.sample(sorted(set(range(total)) - set(late)), len(controls))
        plan = _fill(cases, dict(zip(ruined, controls, strict=True)), late, gap, random)
        if plan and all(a != b for (_, a), (_, b) in pairwise([("trial", trial), *plan])):
            return plan
    # All repeats at the end, in the order of the first showing: as far apart as can be.
    first: list[tuple[Kind, int]] = [("case", case) for case in cases]
    mixed: list[tuple[Kind, int]] = [("control", case) for case in controls]
    return [*first, *mixed, *(("repeat", case) for case in cases[:repeats])]


def _fill(
    cases: Sequence[int], ruined: dict[int, int], late: Sequence[int], gap: int, random: Random
) -> list[tuple[Kind, int]] | None:
    """The list with repeats at the places `late`, or None if the gap cannot be kept there."""
    waiting, again = iter(cases), set(late)
    plan: list[tuple[Kind, int]] = []
    open_to_repeat: list[int] = []
    for place in range(len(cases) + len(ruined) + len(late)):
        if place >= gap and plan[place - gap][0] == "case":
            open_to_repeat.append(plan[place - gap][1])
        if place in again:
            if not open_to_repeat:
                return None
            plan.append(("repeat", open_to_repeat.pop(random.randrange(len(open_to_repeat)))))
        elif place in ruined:
            plan.append(("control", ruined[place]))
        else:
            plan.append(("case", next(waiting)))
    return plan


def _with_orders(
    plan: Sequence[tuple[Kind, int]], runs: Sequence[str], random: Random
) -> list[Task]:
    tasks: list[Task] = []
    shown: dict[int, list[str]] = {}
    for kind, case in plan:
        keys = list(runs)
        if kind == "control":
            keys[random.randrange(len(keys))] = RUINED
        random.shuffle(keys)
        while kind == "repeat" and keys == shown[case]:
            random.shuffle(keys)
        if kind == "case":
            shown[case] = list(keys)
        tasks.append(Task(kind=kind, case=case, order=keys))
    return tasks
