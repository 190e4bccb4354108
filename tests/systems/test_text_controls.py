"""Controls of texts: what they know, what they do not, and that each runs on a mixed set."""

from __future__ import annotations

from collections import Counter

import pytest

import medebench as mb
from medebench.cases import Case, CaseSet, OpenCase
from medebench.errors import InputError
from medebench.reason import Reason
from medebench.systems import Request, find_system
from medebench.systems.text_controls import most_frequent

CHOICES = ("A. liver", "B. spleen", "C. heart")


def asked(number, answer="", choices=CHOICES, task="multiple-choice"):
    return Case(str(number), None, "Which organ?", task=task, choices=choices, answer=answer)


def answer(name, case, seed=0, shown=()):
    opened = tuple(map(OpenCase, shown))
    request = Request(OpenCase(case), 0, seed, demonstrations=opened, gives=("text",))
    return find_system(name).system.generate(request)


def test_texts_that_know_nothing():
    assert answer("empty-text", asked(1)) == ""
    assert answer("repeat-question", asked(1)) == "Which organ?"


def test_random_choices_follow_the_seed_and_are_even():
    drawn = [answer("random-choice", asked(1), seed) for seed in range(600)]
    assert drawn == [answer("random-choice", asked(1), seed) for seed in range(600)]
    counts = Counter(drawn)
    assert set(counts) == {*CHOICES}
    # A fair draw is outside of this once in a million.
    assert all(140 < count < 260 for count in counts.values())


def test_the_most_frequent_answer_is_that_of_others():
    others = [asked(2, "B. heart"), asked(3, "A. heart"), asked(4, "A. liver")]
    case = asked(1, "B. spleen")
    assert answer("most-frequent", case, shown=others) == "C. heart"
    # No option was ever right under its words: the letter decides, then the order.
    strangers = [asked(2, "B. bone"), asked(3, "B. skin"), asked(4, "A. eye")]
    assert most_frequent(case, strangers) == "B. spleen"
    free = asked(1, choices=(), task="blank-filling")
    words = [asked(n, text, (), "blank-filling") for n, text in enumerate(("a", "b", "b"), 2)]
    assert most_frequent(free, words) == "b"


@pytest.fixture(scope="module")
def cases():
    return mb.load_cases("medgen-phantoms:count=32")


NAMES = ("empty-text", "repeat-question", "most-frequent", "other-answer", "reference")


@pytest.mark.parametrize("name", [*NAMES, "identity", "blank", "random-choice"])
def test_every_control_runs_on_a_mixed_set(name, cases, tmp_path):
    run = mb.generate(cases, name, tmp_path / name)
    gives = set(find_system(name).system.gives)
    for case in run.cases:
        parts = {*cases_gives(case)} & gives
        assert {path.suffix for path in run.output_files(case.id, 0).paths if path.exists()} == {
            {"image": ".png", "text": ".txt"}[part] for part in parts
        }
    wanted = [case for case in cases if {*cases_gives(case)} & gives]
    if name == "random-choice":
        wanted = [case for case in wanted if case.choices]
    assert {case.id for case in run.cases} == {case.id for case in wanted}
    with run.ledger() as ledger:
        assert all(row.reason is None for row in ledger.outputs().values())


def cases_gives(case):
    from medebench.tasks.medgen import MEDGEN

    return MEDGEN.of(case).gives


def test_no_control_but_the_reference_sees_the_answer_to_its_own_case(cases, tmp_path):
    """With another answer to a case, what they say of it stays the same."""
    few = [case for case in cases if case.task == "question-answering"]
    changed = [
        Case(**{**fields(one), "answer": "Quite another sentence.", "key": "another"})
        if one.id == few[0].id
        else one
        for one in few
    ]
    for name in ("most-frequent", "other-answer", "repeat-question"):
        texts = []
        for kind, some in (("a", few), ("b", changed)):
            chosen = CaseSet("few", cases.root, tuple(some), "", task="medgen")
            run = mb.generate(chosen, name, tmp_path / f"{name}-{kind}")
            texts.append(run.output_files(few[0].id, 0).path("text").read_text())
        assert texts[0] == texts[1] != few[0].answer


def fields(case):
    return {name: getattr(case, name) for name in Case.__slots__}


def test_other_answers_are_of_the_same_task(cases, tmp_path):
    run = mb.generate(cases, "other-answer", tmp_path / "other")
    by_task: dict[str, set[str]] = {}
    for case in cases:
        by_task.setdefault(case.task, set()).add(case.answer)
    for case in run.cases:
        said = run.output_files(case.id, 0).path("text").read_text()
        assert said in by_task[case.task]


def test_a_single_case_has_no_others(cases, tmp_path):
    alone = cases.select([cases.cases[0].id])
    one = CaseSet("one", alone.root, alone.cases, "", task="medgen")
    run = mb.generate(one, "most-frequent", tmp_path / "alone")
    with run.ledger() as ledger:
        [row] = ledger.outputs().values()
    assert isinstance(row.reason, Reason) and "0 other cases" in row.reason


def test_a_set_without_choices_is_said(cases, tmp_path):
    some = cases.select([case.id for case in cases if not case.choices])
    with pytest.raises(InputError, match="system 'random-choice': no case has choices"):
        mb.generate(some, "random-choice", tmp_path / "none")
