"""Splits: nothing leaks, smaller samples are the beginning of larger ones, everything is tested."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medebench import Case, InputError
from medebench.tuning.tuning_design import TuningDesign
from medebench.tuning.tuning_split import (
    TaskCases,
    choose_tasks,
    find_tasks,
    longest,
    split_task,
    whole_order,
)


def task_of(sizes: list[int], name: str = "Remove moles") -> TaskCases:
    names = iter(range(sum(sizes)))
    return TaskCases(name, [tuple(f"{next(names):03}" for _ in range(size)) for size in sizes])


def design_of(**given: object) -> TuningDesign:
    return TuningDesign("phantom-editor", **given)  # type: ignore[arg-type]


SIZES = st.lists(st.integers(1, 5), min_size=2, max_size=40)


@given(SIZES, st.integers(1, 30), st.integers(1, 16), st.integers(0, 3), st.integers(0, 9))
def test_nothing_leaks_and_everything_is_tested_once(sizes, test, most, draws, seed):
    one = task_of(sizes)
    design = design_of(samples=(0, most), test=test, draws=draws + 1, seed=seed)
    total = sum(sizes)
    if total - max(sizes) < most:
        with pytest.raises(InputError, match=r"'Remove moles' has \d+ pairs in \d+ independent"):
            split_task(design, one)
        return
    folds = split_task(design, one)
    group_of = {case: number for number, group in enumerate(one.groups) for case in group}
    tested = [case for fold in folds for case in fold.test]
    assert len(set(tested)) == len(tested)
    if len(folds) == 1:
        assert len(tested) == test
    else:
        assert sorted(tested) == sorted(one.cases)
    for fold in folds:
        held = {group_of[case] for case in fold.test}
        assert len(fold.draws) == draws + 1
        for number, draw in enumerate(fold.draws):
            groups = [group_of[case] for case in draw]
            assert not held & set(groups)
            assert len(set(draw)) == len(draw) == most
            assert len(set(groups)) == min(most, fold.pool)
            assert tuple(whole_order(design, fold, one, number)[:most]) == draw
    assert split_task(design, one) == folds


@given(SIZES, st.integers(1, 8), st.integers(0, 9))
def test_what_is_added_leaves_the_rest_as_it_was(sizes, most, seed):
    one = task_of(sizes)
    if sum(sizes) - max(sizes) < 2 * most:
        return
    few = design_of(samples=(0, most), test=3, draws=2, seed=seed)
    more = replace(few, samples=(0, most, 2 * most), draws=4)
    before, after = split_task(few, one), split_task(more, one)
    if [fold.test for fold in before] != [fold.test for fold in after]:
        # A pool that has become too small is one of the experiment's errors.
        assert len(after) > 1 or sum(sizes) < 3 + 2 * most + 5 * 5
        return
    for left, right in zip(before, after, strict=True):
        assert [draw[:most] for draw in right.draws[:2]] == list(left.draws)


def test_the_small_tasks_of_the_release_are_crossed_with_few_folds():
    """31 cases, 30 to test and 16 to learn from: three folds, each beside 20 or 21 others."""
    folds = split_task(design_of(), task_of([1] * 31))
    assert [len(fold.test) for fold in folds] == [11, 10, 10]
    assert {len(draw) for fold in folds for draw in fold.draws} == {16}
    assert len(split_task(design_of(), task_of([1] * 36))) == 2
    assert len(split_task(design_of(), task_of([1] * 46))) == 1


def test_too_small_is_said_with_counts_and_remedy():
    with pytest.raises(InputError) as error:
        split_task(design_of(), task_of([5, 4, 4]))
    assert str(error.value) == (
        "tasks: 'Remove moles' has 13 pairs in 3 independent groups, which leaves 8 to learn from "
        "beside a test case, and 16 are asked for; ask for at most 8 samples, or leave the task out"
    )


def test_demonstrations_may_need_more_than_samples():
    design = design_of(samples=(0, 1), in_context="gemini:x", demonstrations=(0, 3))
    assert longest(design) == 3 and longest(replace(design, in_context="")) == 1


def _cases(*told: tuple[str, str]) -> list[Case]:
    path = Path("/nowhere.png")
    return [
        Case(str(number), path, "Remove it", organ, task, path)
        for number, (organ, task) in enumerate(told)
    ]


def test_tasks_by_name():
    cases = _cases(*[("Skin", "Remove moles")] * 3, ("Ear", "Rebuild"), ("Nose", "Rebuild"))
    cases.append(Case("x", None, "Paint", "Skin", "Remove moles"))
    tasks = find_tasks(cases, {case.id: int(case.id == "1") for case in cases})
    assert list(tasks) == ["Remove moles", "Ear/Rebuild", "Nose/Rebuild"]
    assert tasks["Remove moles"].groups == [("0", "2"), ("1",)]
    named = choose_tasks(design_of(tasks=("skin/remove MOLES", "Ear/rebuild")), tasks)
    assert [one.task for one in named] == ["Remove moles", "Ear/Rebuild"]
    with pytest.raises(InputError, match="no task 'Remove mole' with reference images; there are"):
        choose_tasks(design_of(tasks=("Remove mole",)), tasks)
    with pytest.raises(InputError, match="none has cases enough; 'Remove moles' has 3 pairs"):
        choose_tasks(design_of(), tasks)
    few = choose_tasks(design_of(samples=(0, 1), test=1), tasks)
    assert [one.task for one in few] == ["Remove moles"]
