"""A program that predicts: a real process, well-behaved and otherwise."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medebench.errors import NotReadyError
from medebench.images.picture import encode_png
from medebench.stresstest.predictions import PredictionStore, predict_all
from medebench.stresstest.predictors import Predictor, PredictorError, PredictorSpec, find_predictor
from medebench.stresstest.predictors.checked_answers import ask
from tests.conftest import draw
from tests.patience import PATIENCE

pytestmark = pytest.mark.skipif(os.name != "posix", reason="this system has no POSIX signals")

WORKER = Path(__file__).parent / "worker.py"
PICTURES = [draw(1), draw(2), draw(3)]
IDS = ["a", "b", "c"]


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Predictor]]:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    made: list[Predictor] = []

    def make(*words: str, task: Any = "classification", **settings: Any) -> Predictor:
        command = (sys.executable, "-S", "-E", str(WORKER), *words)
        given = {"timeout": PATIENCE, "start_timeout": PATIENCE, **settings}
        spec = PredictorSpec(command=command, settings=given)
        made.append(find_predictor(spec, task, "pneumothorax"))
        return made[-1]

    yield make
    for one in made:
        one.close()
    assert list(scratch.iterdir()) == [], "no files are left behind"


def test_probabilities(worker):
    predictor = worker("plain")
    assert predictor.problem() is None and predictor.name == "worker"
    expected = [(len(encode_png(one)) % 97) / 97 for one in PICTURES]
    assert ask(predictor, IDS, PICTURES) == expected


def test_a_program_that_answers_otherwise_than_before_is_asked_anew(worker, tmp_path):
    shown = [(name, lambda one=one: one) for name, one in zip(IDS, PICTURES, strict=True)]
    weights = tmp_path / "weights.txt"
    for weight in (0.25, 0.75):
        weights.write_text(str(weight))
        with PredictionStore(tmp_path / "p.sqlite") as store:
            found = predict_all(worker("weighs", options={"weights": str(weights)}), shown, store)
            assert dict(found) == dict.fromkeys(IDS, weight)


def test_what_a_worker_is_told(worker):
    said = json.dumps(["classification", "pneumothorax", 65535, {"size": 3}])
    predictor = worker("tells", said, options={"size": 3})
    assert ask(predictor, ["a"], [PICTURES[0].astype(np.uint16) * 16], [12]) == [0.25]


def test_masks(worker, tmp_path):
    mask = draw(9)[..., 0] > 120
    (tmp_path / "mask.png").write_bytes(encode_png(np.uint8(255) * mask))
    predictor = worker("mask", str(tmp_path / "mask.png"), task="segmentation")
    (found,) = ask(predictor, ["a"], PICTURES[:1])
    assert (found == mask).all() and 0 < mask.mean() < 1
    with pytest.raises(PredictorError, match="picture b: returned a mask of 48 x 64 for a picture"):
        ask(predictor, ["b"], [draw(1, 50, 64)])


WRONG = [
    ("error", "picture a: raised RuntimeError: not a chest X-ray"),
    ("dies", "picture b: raised RuntimeError: the worker failed: it ended with exit code 3: Key"),
    ("hangs", "picture a: raised RuntimeError: the worker failed: no answer in 1 s"),
    ("garbage", "picture a: raised RuntimeError: the worker failed: no answer in 1 s"),
    ("nan", "picture a: raised ValueError: the worker's probability is null or NaN; "),
    ("text", "picture a: returned 'high'; return a list with one probability"),
    ("nothing", "picture a: raised ValueError: the worker's answer has no field 'probability'"),
]


@pytest.mark.parametrize(("mode", "words"), WRONG)
def test_a_worker_that_misbehaves(worker, mode, words):
    predictor = worker(mode, timeout=1 if mode in ("hangs", "garbage") else PATIENCE)
    with pytest.raises(PredictorError) as caught:
        for name, picture in zip(IDS, PICTURES, strict=True):
            ask(predictor, [name], [picture])
    assert str(caught.value).startswith(f"predictor worker: {words}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("mode", "words"),
    [("no-mask", "the worker wrote no mask"), ("outside", "lies outside the folder")],
)
def test_masks_that_are_none(worker, mode, words):
    predictor = worker(mode, str(WORKER), task="segmentation")
    with pytest.raises(PredictorError, match=words):
        ask(predictor, ["a"], PICTURES[:1])


def test_one_that_does_not_start(worker):
    with pytest.raises(
        NotReadyError, match=r"the worker did not start: it ended with exit code 7:"
    ):
        ask(worker("dies-at-start"), ["a"], PICTURES[:1])
    spec = PredictorSpec(command=("python", "no.py"))
    assert find_predictor(spec, "classification").problem() == (
        "predictor no: no.py: no such file; check the path"
    )
    spec = PredictorSpec.model_validate({"command": "no-such-program x"})
    said = find_predictor(spec, "classification").problem() or ""
    assert "no-such-program: not found" in said
