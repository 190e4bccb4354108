"""The edit score: picture and text go the same way, by plain code and by the geometry of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

import medebench as mb
from medebench.cases.case import Case
from medebench.encoders.biovil import BioVilEncoder
from medebench.encoders.encoder import TextFeatures
from medebench.errors import InputError, NotReadyError
from medebench.metrics import find_metrics, metric_info
from medebench.metrics.metric import BatchMetric, Measured, Subject, Undefined
from medebench.metrics.semantic import direction, make, semantic_metric
from tests.conftest import draw
from tests.encoders.plain import PlainEncoder
from tests.encoders.test_biovil import Made

vectors = arrays(np.float32, 7, elements=st.floats(-4, 4, width=32))


@pytest.fixture(autouse=True)
def own_features(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))


def subject(folder: Path, number: int = 1, **changes: Any) -> Subject:
    path = folder / f"{number}.png"
    Image.fromarray(draw(number)).save(path)
    case = Case(str(number), path, f"no effusion {number}", caption="large effusion")
    return Subject(mb.open_case(replace(case, **changes)), draw(number + 50))


def measure(metric: BatchMetric, *subjects: Subject) -> list[Measured | Undefined]:
    return metric.measure([metric.prepare(one) for one in subjects])


def plainly(output: Any, previous: Any, prompt: Any, caption: Any) -> float:
    """In torch, a line a step."""
    e, f, t, u = (
        torch.nn.functional.normalize(torch.as_tensor(one, dtype=torch.float64), dim=0)
        for one in (output, previous, prompt, caption)
    )
    return float(torch.nn.functional.cosine_similarity(e - f, t - u, dim=0, eps=0))


@settings(deadline=None)
@given(vectors, vectors, vectors, vectors, st.floats(0.1, 50))
def test_the_number_is_torchs_and_lengths_do_not_matter(output, previous, prompt, caption, far):
    assume(all(np.linalg.norm(one) > 0.1 for one in (output, previous, prompt, caption)))
    try:
        found = direction(output, previous, prompt, caption)
    except Undefined:
        pairs = ((output, previous), (prompt, caption))
        ways = [a / np.linalg.norm(a) - b / np.linalg.norm(b) for a, b in pairs]
        assert min(np.linalg.norm(way) for way in ways) < 2e-5
        return
    assert -1 <= found <= 1
    assert found == pytest.approx(plainly(output, previous, prompt, caption), abs=1e-5)
    # The other way round, either of them; both together change nothing.
    assert direction(previous, output, prompt, caption) == pytest.approx(-found, abs=1e-6)
    assert direction(previous, output, caption, prompt) == pytest.approx(found, abs=1e-6)
    longer = direction(output * np.float32(far), previous, prompt * np.float32(far), caption)
    assert longer == pytest.approx(found, abs=1e-2 if abs(found) < 1 else 1e-4)


def test_lengths_are_taken_out_before_the_difference():
    """Differences of the vectors as they are would go another way."""
    previous, output = np.float32([1, 0]), np.float32([0, 100])
    assert direction(output, previous, np.float32([0, 1]), np.float32([1, 0])) == 1
    raw = output - previous
    assert raw @ [-1, 1] / np.linalg.norm(raw) / np.sqrt(2) < 0.72


def test_biovil_by_plain_code(tmp_path_factory, tmp_path):
    """Pictures 448 of 512 pixels wide, 128 numbers: what its network gives, put together here."""
    made = Made(tmp_path_factory.mktemp("biovil"))
    encoder = BioVilEncoder(str(made.folder), "biovil-t", "cpu")
    one = subject(tmp_path)
    metric = semantic_metric("edit_score", encoder)
    assert metric.name == "edit_score_biovil-t" and metric.info.needs == ("prompt", "caption")
    (told,) = measure(metric, one)
    prepared = [encoder.prepare(picture, 255) for picture in (one.output, one.case.previous)]
    assert {picture.shape for picture in prepared} == {(448, 448)}
    words = encoder.read([one.case.case.prompt, one.case.case.caption])
    seen = encoder.encode(prepared)
    assert seen.shape == (2, 128)
    hand = plainly(*seen, *(word.features for word in words))
    assert isinstance(told, Measured) and told.value == pytest.approx(hand, abs=1e-4)
    assert 0.001 < abs(hand) < 0.999


class Deaf(PlainEncoder):
    """Takes all texts that begin alike for the same."""

    @staticmethod
    def one_read(text: str) -> TextFeatures:
        return PlainEncoder.one_read(text[:2])


def test_texts_that_say_the_same_have_no_direction(tmp_path):
    one = subject(tmp_path, caption="no effusion 1")
    with pytest.raises(Undefined, match="the prompt equals the caption"):
        semantic_metric("edit_score", PlainEncoder()).prepare(one)
    alike = subject(tmp_path, caption="normal heart")
    other = subject(tmp_path, 2)
    told = measure(semantic_metric("edit_score", Deaf()), alike, other)
    assert isinstance(told[0], Undefined)
    assert str(told[0]) == "the encoder reads no difference between prompt and caption"
    assert isinstance(told[1], Measured)


def test_an_edit_that_the_encoder_does_not_see(tmp_path):
    """Columns of one half in another order have the same mean."""
    one = subject(tmp_path)
    output = one.case.previous.copy()
    output[:, 0], output[:, 1] = one.case.previous[:, 1], one.case.previous[:, 0]
    (told,) = measure(semantic_metric("edit_score", PlainEncoder()), Subject(one.case, output))
    assert isinstance(told, Undefined) and "sees no difference" in str(told)


def test_a_caption_that_was_cut_is_said(tmp_path):
    long = "effusion " * 20
    told = measure(
        semantic_metric("edit_score", PlainEncoder()),
        subject(tmp_path, caption=long),
        subject(tmp_path, 2, prompt=long),
        subject(tmp_path, 3),
    )
    cut = {"encoder": "plain", "tokens": 20, "read": 8}
    assert [one.detail for one in told] == [cut, cut, {}]  # type: ignore[union-attr]


def test_it_is_found_by_name(tmp_path, monkeypatch):
    for text in ("edit_score:chest-phantoms", "edit_score_chest-phantoms"):
        (metric,) = find_metrics([text])
        assert metric.name == "edit_score_chest-phantoms"
    told = metric_info("edit_score:biovil-t")
    assert told is not None and (told.name, told.better) == ("edit_score_biovil-t", "higher")
    assert (told.low, told.high, told.needs) == (-1, 1, ("prompt", "caption"))
    with pytest.raises(InputError, match="has no text encoder") as error:
        make("edit_score", "rad-dino", "auto", None)
    assert not isinstance(error.value, NotReadyError)
