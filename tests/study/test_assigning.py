"""Who ranks what, and when: balanced, mixed, replayable."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medebench.errors import InputError
from medebench.study.assignment import Pool, assign, share_out, strangers
from medebench.study.design import RUINED

RUNS = ["blur", "identity", "noise", "reference"]


@st.composite
def shares(draw):
    annotators = draw(st.integers(1, 9))
    overlap = draw(st.integers(1, annotators))
    return annotators, overlap, draw(st.integers(1, 60)), draw(st.integers(0, 5))


@settings(deadline=None)
@given(shares())
def test_every_case_is_ranked_as_often_as_wished_and_loads_are_even(given):
    annotators, overlap, count, seed = given
    own = share_out(range(count), annotators, overlap, seed)
    assert Counter(case for cases in own for case in cases) == dict.fromkeys(range(count), overlap)
    assert all(len(set(cases)) == len(cases) for cases in own)
    loads = [len(cases) for cases in own]
    assert max(loads) - min(loads) <= 1
    assert own == share_out(range(count), annotators, overlap, seed)


@settings(deadline=None)
@given(shares())
def test_annotators_are_connected_if_the_cases_can_do_that(given):
    annotators, overlap, count, seed = given
    own = share_out(range(count), annotators, overlap, seed)
    groups = [{one} for one in range(annotators)]
    for case in range(count):
        met = {one for one in range(annotators) if case in own[one]}
        joined = set().union(*(group for group in groups if group & met))
        groups = [group for group in groups if not group & met] + [joined]
    apart, connected = strangers(own)
    assert connected == (len(groups) == 1)
    pairs = combinations([set(cases) for cases in own], 2)
    assert apart == sum(not a & b for a, b in pairs)
    # A case joins at most as many groups as it has annotators.
    assert connected == (count * (overlap - 1) >= annotators - 1)


@pytest.mark.parametrize(("annotators", "overlap"), [(3, 2), (4, 2), (5, 2), (6, 3), (8, 4)])
def test_pairs_meet_about_equally_often(annotators, overlap):
    for seed in range(10):
        own = [set(cases) for cases in share_out(range(120), annotators, overlap, seed)]
        meetings = [len(a & b) for a, b in combinations(own, 2)]
        mean = sum(meetings) / len(meetings)
        assert min(meetings) > 0.75 * mean and max(meetings) < 1.25 * mean


def test_neighbouring_cases_are_spread():
    """Cases come organ by organ: nobody gets all eyes."""
    own = share_out(range(130), 5, 2, 0)
    for first in range(0, 130, 10):
        counts = [sum(first <= case < first + 10 for case in cases) for cases in own]
        assert max(counts) - min(counts) <= 2


@st.composite
def studies(draw):
    sample, spare = draw(st.integers(1, 30)), draw(st.integers(0, 6))
    annotators = draw(st.integers(1, 4))
    least = -(-annotators // sample)
    overlap = draw(st.integers(least, annotators))
    pool = Pool(tuple(range(sample)), tuple(range(sample, sample + spare)))
    seed = draw(st.integers(0, 9))
    runs = RUNS[: draw(st.integers(2, 4))]
    wished = st.none() | st.integers(0, 8)
    own = share_out(pool.sample, annotators, overlap, seed)
    return own, pool, runs, seed, draw(wished), draw(wished)


@settings(max_examples=300, deadline=None)
@given(studies())
def test_the_tasks_of_an_annotator(given):
    own, pool, runs, seed, controls, repeats = given
    assigned = assign(*given)
    assert assigned == assign(own, pool, runs[::-1], seed, controls, repeats)
    assert len({tasks[0].case for tasks in assigned.tasks}) == 1
    for mine, tasks in zip(own, assigned.tasks, strict=True):
        kinds = Counter(task.kind for task in tasks)
        assert tasks[0].kind == "trial" and kinds["trial"] == 1
        assert kinds["control"] == assigned.controls and kinds["repeat"] == assigned.repeats
        assert sorted(task.case for task in tasks if task.kind == "case") == sorted(mine)
        first = {task.case: place for place, task in enumerate(tasks) if task.kind == "case"}
        again = {task.case: place for place, task in enumerate(tasks) if task.kind == "repeat"}
        assert len(again) == assigned.repeats and again.keys() <= first.keys()
        for case, place in again.items():
            assert place - first[case] >= max(2, (len(tasks) - 1) / 3)
            assert place > min(5, len(mine) + assigned.controls)
            assert tasks[place].order != tasks[first[case]].order
        for task in tasks:
            if task.kind == "control":
                assert task.order.count(RUINED) == 1
                assert len(set(task.order)) == len(runs)
                assert set(task.order) - {RUINED} < set(runs)
            else:
                assert sorted(task.order) == sorted(runs)
        outside = [task.case in pool.spare for task in tasks if task.kind == "control"]
        assert sum(outside) == min(assigned.controls, max(0, len(pool.spare) - 1))
        assert (tasks[0].case in pool.spare) == bool(pool.spare)
        ruined = [task.case for task in tasks if task.kind == "control"]
        assert len(set(ruined)) == len(ruined) and tasks[0].case not in ruined


@settings(deadline=None)
@given(studies())
def test_as_many_controls_and_repeats_as_wished_or_possible(given):
    own, pool, _, _, controls, repeats = given
    assigned = assign(*given)
    least, most = min(map(len, own)), max(map(len, own))
    usual = round(0.05 * most)
    possible = len(pool.sample) + len(pool.spare) - 1
    assert assigned.controls == min(max(2, usual) if controls is None else controls, possible)
    if least + assigned.controls >= 2:
        assert assigned.repeats == min(max(4, usual) if repeats is None else repeats, least)
    else:
        assert assigned.repeats == 0


def test_the_same_case_is_never_shown_twice_in_a_row():
    for seed in range(50):
        for count, spare in ((4, 0), (6, 1), (20, 3)):
            pool = Pool(tuple(range(count)), tuple(range(count, count + spare)))
            own = share_out(pool.sample, 2, 2, seed)
            for tasks in assign(own, pool, RUNS, seed).tasks:
                assert all(a.case != b.case for a, b in pairwise(tasks))


def test_places_orders_and_ruined_models_are_spread_evenly():
    """Over 100 seeds each model stands at each place, and is ruined, about as often."""
    pool = Pool(tuple(range(40)), tuple(range(40, 50)))
    places: Counter[tuple[str, int]] = Counter()
    replaced: Counter[str] = Counter()
    control_at: list[float] = []
    for seed in range(100):
        for tasks in assign(share_out(pool.sample, 2, 2, seed), pool, RUNS, seed).tasks:
            for number, task in enumerate(tasks[1:]):
                if task.kind == "control":
                    replaced.update(set(RUNS) - set(task.order))
                    control_at.append(number / (len(tasks) - 2))
                elif task.kind == "case":
                    places.update((name, place) for place, name in enumerate(task.order))
    # 8000 tasks, 2000 expected, standard deviation 39; 400 controls, 100 expected, 8.7.
    assert len(places) == 16 and all(abs(count - 2000) < 5 * 39 for count in places.values())
    assert len(replaced) == 4 and all(abs(count - 100) < 5 * 8.7 for count in replaced.values())
    assert 0.45 < sum(control_at) / len(control_at) < 0.55
    assert min(control_at) < 0.05 and max(control_at) > 0.95


def test_annotators_and_tasks_have_orders_of_their_own():
    pool = Pool(tuple(range(40)), (40, 41, 42))
    first, second = assign(share_out(pool.sample, 2, 2, 0), pool, RUNS, 0).tasks
    assert [task.case for task in first] != [task.case for task in second]
    orders = [{t.case: t.order for t in tasks if t.kind == "case"} for tasks in (first, second)]
    assert sum(orders[0][case] == orders[1][case] for case in range(40)) < 10
    assert len({tuple(order) for order in orders[0].values()}) > 10


def test_wrong_wishes():
    with pytest.raises(InputError, match=r"overlap: expected 1 to 2 \(annotators\), found 3"):
        share_out(range(4), 2, 3, 0)
    pool = Pool((0, 1), ())
    with pytest.raises(InputError, match="5 annotators are too many for 2 cases"):
        assign(share_out(pool.sample, 5, 2, 0), pool, RUNS, 0)
    with pytest.raises(InputError, match="controls: expected 0 or more, found -1"):
        assign([[0, 1]], pool, RUNS, 0, controls=-1)
    with pytest.raises(InputError, match="repeats: expected 0 or more, found -2"):
        assign([[0, 1]], pool, RUNS, 0, repeats=-2)
