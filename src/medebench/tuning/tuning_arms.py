"""Every training of an experiment: what is learned from what, and in which arms it counts."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from medebench.errors import InputError
from medebench.tuning.tuning_design import Arm, Fold, Training, TuningDesign
from medebench.tuning.tuning_split import TaskCases, order_of

#: Arms whose pairs are those of the draw, as they are.
REAL: tuple[Arm, ...] = ("per-sample", "same-steps")
CONTROLS: tuple[Arm, ...] = ("shuffled", "other-task")


@dataclass(frozen=True)
class Donor:
    """Another task's pairs, for one draw of a fold."""

    task: str
    fold: int
    draw: int
    #: Whose they are.
    of: str
    cases: tuple[str, ...]


@dataclass(frozen=True)
class TuningSplit:
    """Which cases are tested, learned from, and looked at for forgetting."""

    folds: tuple[Fold, ...]
    #: By task, cases of others that nothing of the task is learned from.
    elsewhere: Mapping[str, tuple[str, ...]]
    donors: tuple[Donor, ...] = ()

    @property
    def tested(self) -> list[str]:
        return list(dict.fromkeys(case for fold in self.folds for case in fold.test))

    def donor(self, fold: Fold, draw: int) -> Donor:
        place = fold.task, fold.fold, draw
        return next(one for one in self.donors if (one.task, one.fold, one.draw) == place)


@dataclass(frozen=True)
class Planned:
    """A training, done once however many arms it counts in."""

    training: Training
    arms: tuple[Arm, ...]
    #: Of each pair the case whose input and the case whose target it has.
    pairs: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """Unique in the experiment."""
        return f"{self.training.task}/{self.training.name}"


def split_others(
    design: TuningDesign,
    folds: Sequence[Fold],
    tasks: Mapping[str, TaskCases],
    groups: Mapping[str, int],
) -> TuningSplit:
    """Cases of other tasks: some to see what is forgotten, some to learn in the place of own ones.

    Neither depends on how many draws there are, so that more of them change nothing.
    """
    elsewhere, donors = {}, []
    for task in dict.fromkeys(fold.task for fold in folds):
        elsewhere[task] = _elsewhere(design, task, tasks, groups)
    for fold in folds if "other-task" in design.arms else ():
        taken = {groups[one] for one in (*fold.test, *elsewhere[fold.task])}
        others = _donor_tasks(design, fold, tasks, groups, taken)
        for draw in range(design.draws):
            of, pool = others[draw % len(others)]
            key = f"{design.seed}/{fold.task}/{fold.fold}/{draw}/of {of}"
            donors.append(
                Donor(fold.task, fold.fold, draw, of, tuple(order_of(key, pool)[: most(design)]))
            )
    return TuningSplit(tuple(folds), elsewhere, tuple(donors))


def most(design: TuningDesign) -> int:
    """Pairs that a control learns from, at most."""
    return max(control_samples(design), default=0)


def control_samples(design: TuningDesign) -> tuple[int, ...]:
    return design.controls_at or (max(design.samples),)


def _elsewhere(
    design: TuningDesign, task: str, tasks: Mapping[str, TaskCases], groups: Mapping[str, int]
) -> tuple[str, ...]:
    """In turn one of each other task, none of them kin to anything of this task or each other."""
    taken = {groups[case] for case in tasks[task].cases}
    others = [name for name in tasks if name != task]
    orders = {
        name: order_of(f"{design.seed}/{name}/elsewhere", tasks[name].groups) for name in others
    }
    found: list[str] = []
    # A larger share would leave too few of a small task to learn from in its place.
    limits = {name: max(1, len(tasks[name].cases) // 4) for name in others}
    for turn in range(max(limits.values(), default=0)):
        for name in others:
            if turn >= limits[name] or len(found) >= design.elsewhere:
                continue
            free = (one for one in orders[name] if groups[one] not in taken)
            if (one := next(free, None)) is not None:
                taken.add(groups[one])
                found.append(one)
    return tuple(found)


def _donor_tasks(
    design: TuningDesign,
    fold: Fold,
    tasks: Mapping[str, TaskCases],
    groups: Mapping[str, int],
    taken: set[int],
) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Other tasks with pairs enough that no test case is kin to, in random order."""
    found = []
    for name, one in tasks.items():
        free = [tuple(c for c in group if groups[c] not in taken) for group in one.groups]
        free = [group for group in free if group]
        if name != fold.task and sum(map(len, free)) >= most(design):
            found.append((name, free))
    if not found:
        raise InputError(
            f"arms: other-task: no other task has {most(design)} pairs to learn from in place of "
            f"those of '{fold.task}'; leave the arm out"
        )
    random.Random(f"{design.seed}/{fold.task}/others").shuffle(found)
    return found


def plan_trainings(design: TuningDesign, split: TuningSplit) -> list[Planned]:
    """All trainings, those of one draw together, so that a half done experiment is balanced."""
    found: list[Planned] = []
    for draw in range(design.draws):
        for seed in range(design.seeds):
            for fold in split.folds:
                found += _of_fold(design, split, fold, draw, seed)
    return found


def _of_fold(
    design: TuningDesign, split: TuningSplit, fold: Fold, draw: int, seed: int
) -> Iterator[Planned]:
    own = fold.draws[draw]
    real: dict[tuple[int, int], list[Arm]] = {}
    for arm in REAL:
        if arm in design.arms:
            for samples in filter(None, design.samples):
                real.setdefault((samples, design.steps_of(arm, samples)), []).append(arm)
    for (samples, steps), arms in real.items():
        cases = own[:samples]
        training = Training(fold.task, arms[0], samples, draw, seed, fold.fold, steps, cases)
        yield Planned(training, tuple(arms), tuple((case, case) for case in cases))
    for arm in CONTROLS:
        for samples in control_samples(design) if arm in design.arms else ():
            cases = split.donor(fold, draw).cases if arm == "other-task" else own
            cases = cases[:samples]
            targets = cases
            if arm == "shuffled":
                targets = exchanged(f"{design.seed}/{fold.task}/{fold.fold}/{draw}/{seed}", cases)
            steps = design.steps_of(arm, samples)
            training = Training(fold.task, arm, samples, draw, seed, fold.fold, steps, cases)
            yield Planned(training, (arm,), tuple(zip(cases, targets, strict=True)))


def exchanged(key: str, cases: Sequence[str]) -> tuple[str, ...]:
    """Each has another's target: one cycle through all, in random order."""
    order = list(range(len(cases)))
    random.Random(f"{key}/exchanged").shuffle(order)
    target = dict(zip(order, order[1:] + order[:1], strict=True))
    return tuple(cases[target[place]] for place in range(len(cases)))


def shown_counts(design: TuningDesign) -> tuple[int, ...]:
    """Pairs shown in context; none where no system is shown any."""
    return tuple(sorted(set(design.demonstrations))) if design.in_context else ()


def require_arms(design: TuningDesign) -> None:
    """What cannot be trained is said before any case is looked at."""
    samples = max(design.samples)
    if "shuffled" in design.arms and min(control_samples(design)) < 2:
        raise InputError(
            "arms: shuffled: one pair cannot be shuffled; name more in controls_at, or leave it out"
        )
    if wrong := [one for one in control_samples(design) if not 0 < one <= samples]:
        raise InputError(f"controls_at: {wrong[0]} is not among 1 to {samples} samples")
