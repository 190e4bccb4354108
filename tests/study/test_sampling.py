"""Which cases are drawn: of every organ as many, from as many pictures as there are."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import medebench as mb
from medebench.errors import InputError
from medebench.runs.ledger import OutputRow
from medebench.study.study_sample import Candidate, check_runs, sample, shared_cases
from tests.conftest import write_set


def _candidate(number: int, organ: str, source: str) -> Candidate:
    return Candidate(f"case {number}", organ, f"digest {number}", source, {})


@st.composite
def candidates(draw):
    kinds = st.tuples(st.sampled_from(["Eye", "Skin", "Teeth", ""]), st.integers(0, 5))
    found = draw(st.lists(kinds, min_size=1, max_size=40))
    return [_candidate(n, organ, f"{organ}{source}") for n, (organ, source) in enumerate(found)]


@settings(deadline=None)
@given(candidates(), st.integers(1, 12), st.integers(0, 5), st.randoms(use_true_random=False))
def test_every_organ_gives_its_number_whatever_the_order(cases, per_organ, seed, random):
    drawn = sample(cases, per_organ, seed)
    there = Counter(case.group for case in cases)
    taken = Counter(case.group for case in drawn.taken)
    assert taken == {organ: min(per_organ, count) for organ, count in there.items()}
    ids = [case.id for case in (*drawn.taken, *drawn.spare)]
    assert sorted(ids) == sorted(case.id for case in cases)
    assert {name: n for name, (_, n) in drawn.groups.items()} == {
        organ or "no organ named": count for organ, count in there.items()
    }
    few = sorted(organ or "no organ named" for organ, count in there.items() if count < per_organ)
    assert len(drawn.warnings) == bool(few)
    assert all(f"{organ} " in drawn.warnings[0] for organ in few)
    shuffled = list(cases)
    random.shuffle(shuffled)
    assert sample(shuffled, per_organ, seed) == drawn


@settings(deadline=None)
@given(candidates(), st.integers(1, 12), st.integers(0, 5))
def test_no_source_is_drawn_twice_while_another_waits(cases, per_organ, seed):
    drawn = sample(cases, per_organ, seed)
    for organ in {case.group for case in cases}:
        left = Counter(case.source for case in drawn.spare if case.group == organ)
        used = Counter(case.source for case in drawn.taken if case.group == organ)
        assert max(used.values()) <= 1 + min([used[source] for source in left] or [len(cases)])


@settings(deadline=None)
@given(candidates(), st.integers(1, 12), st.integers(0, 5))
def test_spare_cases_of_pictures_that_nobody_sees_come_first(cases, per_organ, seed):
    drawn = sample(cases, per_organ, seed)
    seen = {case.source for case in drawn.taken}
    order = [case.source in seen for case in drawn.spare]
    assert order == sorted(order)


def test_a_case_that_goes_changes_one_place():
    cases = [_candidate(n, "Eye", f"s{n}") for n in range(40)]
    drawn = {case.id for case in sample(cases, 10, 0).taken}
    gone = next(case for case in cases if case.id in drawn)
    again = {case.id for case in sample([c for c in cases if c != gone], 10, 0).taken}
    assert drawn - again == {gone.id} and len(again) == 10


def test_seeds_draw_differently_and_evenly():
    cases = [_candidate(n, "Eye", f"s{n}") for n in range(20)]
    times = Counter(case.id for seed in range(400) for case in sample(cases, 5, seed).taken)
    # Binomial(400, 1/4): five standard deviations are 43.
    assert len(times) == 20 and all(abs(count - 100) < 43 for count in times.values())


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    cases = mb.load_cases(write_set(folder / "set", 8))
    return [mb.edit(cases, name, out=folder / name) for name in ("identity", "blur", "noise")]


def test_shared_cases_are_those_of_all_runs(runs):
    shared, lacks = shared_cases(runs)
    assert [case.id for case in shared] == [str(n) for n in range(1, 9)] and lacks == []
    with runs[1].ledger() as ledger:
        hashes = {id: row.sha256 for (id, _), row in ledger.outputs().items()}
    assert {case.id: case.outputs["blur"] for case in shared} == hashes
    two, _ = shared_cases(runs[1::-1])
    assert sample(two, 2, 0).groups == {"Skin": (2, 4), "Teeth": (2, 4)}
    chosen = [case.id for case in sample(two, 2, 0).taken]
    assert chosen == [case.id for case in sample(shared, 2, 0).taken]


def test_what_a_run_lacks_is_said_with_numbers(runs, tmp_path):
    cases = mb.load_cases(write_set(tmp_path / "set", 8))
    failing = mb.edit(cases, "blur", out=tmp_path / "failing")
    with failing.ledger() as ledger:
        for case in "123":
            ledger.write(OutputRow(case, 0, None, "it would not"))
    others = mb.load_cases(write_set(tmp_path / "others", 2, prompt="Something else."))
    other = mb.edit(others, "blur", out=tmp_path / "other")
    shared, lacks = shared_cases([*runs, failing])
    assert [case.id for case in shared] == list("45678")
    assert lacks == ["run 'failing' lacks 3 of 8 cases: 3 have no output"]
    with pytest.raises(InputError) as error:
        shared_cases([*runs, other])
    assert str(error.value) == (
        "no case has output 0 in all 4 runs: run 'other' lacks 8 of 8 cases: "
        "6 are not in it, 2 are different cases under the same id"
    )
    with pytest.raises(InputError, match="lacks 8 of 8 cases: 8 have no output 1"):
        shared_cases(runs, k=1)


def test_wrong_calls(runs, tmp_path):
    with pytest.raises(InputError, match="compares 2 to 26 runs, 1 given; add a run"):
        check_runs(runs[:1])
    with pytest.raises(InputError, match="compares 2 to 26 runs, 27 given; leave some out"):
        check_runs(runs * 9)
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "blur").symlink_to(runs[1].path)
    with pytest.raises(InputError, match="two runs are called 'blur'"):
        check_runs([*runs, mb.open_run(tmp_path / "again" / "blur")])
    with pytest.raises(InputError, match="blur: given twice"):
        check_runs([runs[1], runs[1]])
    (tmp_path / "(ruined)").symlink_to(runs[1].path)
    with pytest.raises(InputError, match="reserved for controls"):
        check_runs([runs[0], mb.open_run(tmp_path / "(ruined)")])
    with pytest.raises(InputError, match="k: expected 0 or more"):
        shared_cases(runs, k=-1)
    with pytest.raises(InputError, match="per_organ: expected 1 or more, found 0"):
        sample([], 0, 0)
