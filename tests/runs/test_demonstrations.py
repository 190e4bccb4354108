"""Demonstrations: same task, never the case itself nor its kin, by seed."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.audit.related_cases import kin
from medebench.runs.demonstrations import Demonstrations
from medebench.systems import Refused

EDITOR = """
import medebench as mb
class S(mb.Settings):
    demonstrations: int = 2
class Shown:
    summary = ''
    Settings = S
    sees = ()
    control = False
    def __init__(self, settings):
        self.demonstrations = settings.demonstrations
    def edit(self, request):
        shown = [one.case.id for one in request.demonstrations]
        assert all(one.reference is not None for one in request.demonstrations)
        return mb.Edit(request.case.previous, {"demonstrations": shown})
"""


@pytest.fixture
def cases(make_set):
    """Twelve cases of two tasks: odd and even numbers."""
    return make_set(12)


@pytest.fixture
def shown(tmp_path):
    """What each case of a run was shown."""
    (tmp_path / "mine.py").write_text(EDITOR)

    def run(cases, name="run", count=2, **options):
        call = f"{tmp_path / 'mine.py'}:Shown:demonstrations={count}"
        made = mb.edit(cases, call, tmp_path / name, **options)
        with made.ledger() as ledger:
            return {
                key: row.detail.get("demonstrations", row.reason)
                for key, row in ledger.outputs().items()
            }

    return run


def test_same_task_never_itself_and_seeded(cases, shown):
    first = shown(cases)
    tasks = {case.id: case.task for case in mb.load_cases(cases)}
    for (case_id, _), ids in first.items():
        assert len(set(ids)) == 2 and case_id not in ids
        assert {tasks[one] for one in ids} == {tasks[case_id]}
    assert shown(cases, "again") == first
    assert shown(cases, "other", seed=1) != first
    assert len({tuple(ids) for ids in first.values()}) > 3


def test_a_run_of_few_cases_learns_from_all_of_its_set(cases, shown):
    few = mb.load_cases(cases).select(limit=1)
    assert shown(few, "few") == {key: ids for key, ids in shown(cases).items() if key[0] == "1"}


def test_copies_and_lookalikes_are_never_shown(cases, shown):
    """3 is a copy of 1, 5 the same picture recompressed and smaller, 7 has its reference."""
    folder = cases / "editing"
    shutil.copy(folder / "previous/1.png", folder / "previous/3.png")
    Image.open(folder / "previous/1.png").save(folder / "previous/5.jpg", quality=80)
    shutil.copy(folder / "changed/1.png", folder / "changed/7.png")
    records = json.loads((folder / "editing_metadata.json").read_text())
    records["samples"][4]["previous_image"] = "editing/previous/5.jpg"
    (folder / "editing_metadata.json").write_text(json.dumps(records))
    groups = kin(mb.load_cases(cases))
    assert len({groups[one] for one in ("1", "3", "5", "7")}) == 1
    found = shown(cases)
    for one in ("1", "3", "5", "7"):
        assert set(found[one, 0]) == {"9", "11"}
    for one in ("9", "11"):
        # Of four kin at most one is shown.
        assert len(set(found[one, 0]) & {"1", "3", "5", "7"}) == 1


def test_too_few_is_a_reason_not_fewer(cases, shown):
    found = shown(cases, count=6)
    assert set(found.values()) == {
        "task 'Remove moles' has 5 other cases to show, 6 demonstrations are asked for",
        "task 'Whiten teeth' has 5 other cases to show, 6 demonstrations are asked for",
    }


def test_cases_without_task_or_reference_show_nothing(make_set):
    some = mb.load_cases(make_set(4, Task=""))
    with pytest.raises(Refused, match="a case without a task has 0 other cases"):
        Demonstrations(some, some, 1).draw(some["1"], 0)


def test_another_pool_is_another_run(cases, shown):
    """What a model is shown decides what comes out: the pool belongs to the run's identity."""
    one = mb.load_cases(cases).select(ids=["1"])
    shown(one, "run")
    path = cases / "editing/previous/9.png"
    Image.fromarray(255 - np.asarray(Image.open(path))).save(path)
    again = mb.load_cases(cases).select(ids=["1"])
    assert again.fingerprint == one.fingerprint
    with pytest.raises(mb.InputError, match=r"origin is .*demonstrations of"):
        shown(again, "run")


def test_given_ones_are_shown_in_their_order(cases, shown):
    some = mb.load_cases(cases).select(ids=["1", "2", "3"])
    found = shown(some, shown=["9", "5"])
    assert found == {("1", 0): ["9", "5"], ("2", 0): ["9", "5"], ("3", 0): ["9", "5"]}
    with pytest.raises(mb.InputError, match=r"origin is .*demonstrations of"):
        shown(some, shown=["5", "9"])
    with pytest.raises(mb.InputError, match="1 different cases are named, and the system is shown"):
        shown(some, "twice", shown=["5", "5"])
    with pytest.raises(mb.InputError, match="blur is not asked to show any; leave it out"):
        mb.generate(some, "blur", cases / "blur", shown=["5", "9"])


def test_given_ones_that_show_the_case_are_refused(cases, shown):
    folder = cases / "editing"
    shutil.copy(folder / "previous/1.png", folder / "previous/3.png")
    some = mb.load_cases(cases).select(ids=["1", "9", "11"])
    found = shown(some, shown=["3", "11"])
    assert found["9", 0] == ["3", "11"]
    assert found["1", 0].startswith("demonstration '3' is the case itself or has one")
    assert found["11", 0].startswith("demonstration '11' is the case itself")
