"""What the live page is given while trainings go on."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from medebench.tuning.page import TrainingState, TuningState, write_progress
from medebench.tuning.page.loss_curve import loss_curve
from medebench.tuning.page.tuning_progress import progress_data
from tests.tuning.page.live import adapter, state, trainings
from tests.tuning.synthetic_outcome import Made, made_up


def _told(folder: Path) -> Any:
    text = (folder / "progress" / "state.js").read_text()
    name, _, value = text.partition(" = ")
    assert name == "window.MEDEBENCH_TUNING"
    return json.loads(value.strip().rstrip(";"))


def test_a_curve_is_means_of_stretches(tmp_path: Path):
    one = trainings()[0]
    folder = adapter(tmp_path, one, 100)
    found = loss_curve(folder, 10)
    assert len(found.steps) == len(found.losses) == 10
    assert found.last == 100 and found.seconds == 200.0
    assert found.losses[0] == pytest.approx(sum(1 / s for s in range(1, 11)) / 10, rel=1e-3)
    assert list(found.steps) == sorted(found.steps)
    assert len(loss_curve(folder, 1000).steps) == 100


def test_a_file_that_is_being_written_is_read_as_far_as_it_goes(tmp_path: Path):
    folder = adapter(tmp_path, trainings()[0], 20)
    with (folder / "loss.jsonl").open("a") as file:
        file.write('{"step": 20, "loss": 9.0, "seconds": 41}\n{"step": 21, "loss": NaN}\n{"ste')
    found = loss_curve(folder, 40)
    assert found.last == 20
    assert found.losses[-1] == 9.0
    assert found.seconds == 41.0
    assert loss_curve(tmp_path / "nothing", 40).steps == ()


def test_says_what_is_done_under_way_and_open(tmp_path: Path):
    now = state(tmp_path, {0: ("done", 200), 1: ("training", 50), 2: ("failed", 10)})
    page = write_progress(tmp_path, now)
    assert page == tmp_path / "index.html"
    told = _told(tmp_path)
    assert [one["stage"] for one in told["trainings"][:4]] == ["done", "training", "failed", "open"]
    assert told["trainings"][1]["step"] == 50 and told["trainings"][1]["steps"] == 200
    assert told["trainings"][2]["reason"] == "too little memory"
    assert "loss" not in told["trainings"][3]
    # 2 s a step; one at a time: 150 steps of the second, and five that are open.
    assert told["left"] == pytest.approx(2.0 * (150 + 400 + 2 * 200 + 2 * 400))
    assert told["finished"] is False and told["results"] == ""
    assert 'src="http' not in page.read_text() and '<link rel="stylesheet"' not in page.read_text()


def test_samples_are_found_from_the_page(tmp_path: Path):
    now = state(tmp_path, {0: ("training", 200), 1: ("done", 200)})
    told = progress_data(tmp_path, now)["trainings"]
    assert told[0]["drawn"] == {"a b": [0, 50, 100, 150, 200]}
    assert told[1]["drawn"] == {"a b": [0, 200]}
    for one in told[:2]:
        for case, steps in one["drawn"].items():
            for step in steps:
                assert (tmp_path / one["folder"] / f"{case}-{step}.png").is_file()


def test_is_not_written_more_often_than_every_few_seconds(tmp_path: Path):
    first = state(tmp_path, {})
    assert write_progress(tmp_path, first) is not None
    later = state(tmp_path, {0: ("done", 200)})
    assert write_progress(tmp_path, later, every=3600) is None
    assert _told(tmp_path)["trainings"][0]["stage"] == "open"
    long_ago = time.time() - 7200
    os.utime(tmp_path / "progress" / "state.js", (long_ago, long_ago))
    assert write_progress(tmp_path, later, every=3600) is not None
    assert _told(tmp_path)["trainings"][0]["stage"] == "done"
    # The end is never missed.
    results = tmp_path / "report" / "index.html"
    over = state(tmp_path, {}, finished=True, results=results)
    assert write_progress(tmp_path, over, every=3600) is not None
    assert _told(tmp_path)["results"] == "report/index.html"
    assert not list(tmp_path.rglob(".medebench-tmp-*"))


def test_stays_light(tmp_path: Path):
    """Three hundred trainings: the script that is loaded every few seconds."""
    every = [one.training for one in made_up(Made(5, 3, test=1)).trainings]
    assert len(every) > 300
    folder = adapter(tmp_path, every[0], 800, ("a", "b"))
    now = TuningState("many", [TrainingState(one, "done", folder) for one in every])
    assert len(json.dumps(progress_data(tmp_path, now))) < 500_000


def test_names_of_strangers_do_not_end_the_script(tmp_path: Path):
    now = TuningState("</script><script>alert(1)</script>", [TrainingState(trainings()[0])])
    page = write_progress(tmp_path, now)
    assert page is not None
    assert "</script><script>alert" not in (tmp_path / "progress" / "state.js").read_text()
    assert _told(tmp_path)["title"] == now.title
