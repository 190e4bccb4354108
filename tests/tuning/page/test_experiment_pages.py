"""How far an experiment is, and its pictures: as its folder says."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

import medebench as mb
from medebench.tuning.page import Made, pictures_of, state_of, write_progress
from medebench.tuning.tuning_arms import TuningSplit, plan_trainings
from medebench.tuning.tuning_design import Fold, TuningDesign
from medebench.tuning.tuning_folder import ADAPTER, RUN, TuningFolder


@pytest.fixture
def folder(tmp_path: Path) -> TuningFolder:
    design = TuningDesign(
        "diffusers:someone/model", (0, 2, 4), 2, 1, arms=("per-sample", "same-steps", "shuffled")
    )
    pairs = tuple("pqrs")
    fold = Fold("A task", 0, ("c1",), (pairs, pairs[::-1]), 4)
    split = TuningSplit((fold,), {"A task": ()})
    return TuningFolder(tmp_path / "tuning", design, split, {})


def test_stages_are_read_from_files(folder: TuningFolder):
    planned = plan_trainings(folder.design, folder.split)
    places = [folder.training(one) for one in planned]
    for place, name, text in (
        (places[0], "finished.json", "{}"),
        (places[1], "failed.json", '{"reason": "/home/ann/x: out of memory"}'),
        (places[2], f"{ADAPTER}/training.json", "{}"),
        (places[2], f"{ADAPTER}/loss.jsonl", ""),
        (places[3], f"{ADAPTER}/loss.jsonl", '{"step": 7, "loss": 0.5, "seconds": 3}\n'),
        (places[4], f"{ADAPTER}/loss.jsonl", '{"step": 9, "loss": 0.5, "seconds": 3}\n'),
    ):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    before = time.time() - 86400
    os.utime(places[4] / ADAPTER / "loss.jsonl", (before, before))
    found = state_of(folder, doing="judging")
    assert [one.stage for one in found.trainings] == [
        *("done", "failed", "testing", "training", "open"),
        *["open"] * (len(planned) - 5),
    ]
    assert found.trainings[4].reason
    assert [one.training for one in found.trainings] == [one.training for one in planned]
    page = write_progress(folder.path, lambda: found)
    assert page is not None
    text = (folder.path / "progress" / "state.js").read_text()
    told = json.loads(text.partition(" = ")[2].strip().rstrip(";"))
    assert told["trainings"][3]["step"] == 7
    assert told["trainings"][1]["reason"] == "x: out of memory"
    # Too early for another: it is not even looked.
    assert write_progress(folder.path, lambda: pytest.fail("asked"), every=3600) is None


def test_every_output_is_found_in_its_run(folder: TuningFolder):
    cases = mb.load_cases("phantoms:count=1")
    case = next(iter(cases)).id
    (both,) = (
        one
        for one in plan_trainings(folder.design, folder.split)
        if one.arms == ("per-sample", "same-steps") and one.training.draw == 1
    )
    mb.edit(cases, "identity", folder.untrained("untouched"))
    mb.edit(cases, "blur", folder.training(both) / RUN)
    found = pictures_of(folder, cases)
    before = found.before(case)
    untouched = found.output(case, Made("A task", "untouched", 0, -1, -1, 0))
    assert untouched is not None and (untouched == before).all()
    for arm in both.arms:
        trained = found.output(case, Made("A task", arm, 4, 1, 0, 0))
        assert trained is not None and (trained != before).any()
    assert found.output(case, Made("A task", "shuffled", 4, 0, 0, 0)) is None
    assert found.output(case, Made("A task", "in-context", 2, 0, -1, 0)) is None
