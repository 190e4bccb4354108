"""Cosines of medical image encoders: within what the encoder knows, or as published, everywhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.cases.case import Case
from medebench.errors import InputError, NotReadyError
from medebench.metrics import find_metric
from medebench.metrics.image_cosine import make
from medebench.metrics.metric import Measured, Subject, Undefined
from tests.conftest import draw


@pytest.fixture(autouse=True)
def own_features(tmp_path, monkeypatch) -> None:
    """No test finds what another has extracted."""
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def dinov2(tmp_path_factory) -> Path:
    tiny = pytest.importorskip("tests.encoders.tiny_models", exc_type=ImportError)
    return tiny.tiny_dinov2(tmp_path_factory.mktemp("models") / "tiny-dinov2")


@pytest.fixture
def subject(tmp_path) -> Subject:
    """A wide X-ray, its reference, and an output that came half as large and upright."""
    for seed, name in enumerate(("previous", "reference")):
        Image.fromarray(draw(seed, 48, 96)).save(tmp_path / f"{name}.png")
    paths = tmp_path / "previous.png", tmp_path / "reference.png"
    case = mb.open_case(Case("1", paths[0], "?", reference=paths[1], modality="X-ray"))
    output = draw(5, 48, 24)
    whole = mb.Output(case.fit(output), original=output)
    return Subject(case, whole.image, whole=whole)


def with_case(subject: Subject, **changes) -> Subject:
    case = mb.open_case(replace(subject.case.case, **changes))
    return Subject(case, subject.output, whole=subject.whole)


def value(metric, subject: Subject) -> float:
    (measured,) = metric.measure([metric.prepare(subject)])
    assert isinstance(measured, Measured)
    return measured.value


def by_hand(folder: Path, *images: Image.Image) -> float:
    """The processor and the model of transformers, as the published code calls them."""
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder).eval()
    vectors = []
    for image in images:
        short = 32 / min(image.size)
        width, height = (max(32, int(side * short)) for side in image.size)
        small = np.asarray(image.resize((width, height), Image.Resampling.BICUBIC))
        top, left = (height - 32) // 2, (width - 32) // 2
        cut = small[top : top + 32, left : left + 32].astype(np.float32) / 255
        pixels = torch.from_numpy(((cut - 0.5307) / 0.2583).transpose(2, 0, 1))[None]
        with torch.inference_mode():
            pooled = model(pixel_values=pixels).pooler_output
        vectors.append(torch.nn.functional.normalize(pooled, dim=-1)[0])
    return float(vectors[0] @ vectors[1])


def test_the_published_one_sees_what_the_model_cuts_out_of_the_image_as_it_came(dinov2, subject):
    metric = make("raddino_medgen", str(dinov2), "cpu")
    assert metric.problem() is None and metric.variant
    images = Image.fromarray(subject.whole.came), Image.fromarray(subject.case.reference)
    assert value(metric, subject) == pytest.approx(by_hand(dinov2, *images), abs=1e-5)
    # It has an answer for every modality, as published.
    other = with_case(subject, modality="Pathology")
    assert value(metric, other) == value(metric, subject)
    # What lies outside of the middle is not seen: a finding there costs nothing.
    spoilt = subject.case.reference.copy()
    spoilt[:, 80:] = 0
    edge = Subject(subject.case, spoilt, whole=mb.Output(spoilt))
    assert value(metric, edge) == pytest.approx(1.0, abs=1e-6)
    assert value(make("raddino_cosine", str(dinov2), "cpu"), edge) < 0.999
    with pytest.raises(Undefined, match="has no image"):
        metric.prepare(Subject(subject.case, subject.output, whole=mb.Output(text="x")))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"modality": "Pathology"}, "Rad-DINO was not trained on Pathology"),
        ({"modality": ""}, "the case names no modality"),
        ({"modality": "X-ray", "organ": "Foot"}, "was not trained on X-ray of Foot"),
    ],
)
def test_the_honest_one_stays_with_what_the_encoder_knows(dinov2, subject, changes, words):
    metric = make("raddino_cosine", str(dinov2), "cpu")
    assert 0 < value(metric, subject) < 0.9999
    assert value(metric, with_case(subject, organ="Lung")) == value(metric, subject)
    with pytest.raises(Undefined, match=words) as caught:
        metric.prepare(with_case(subject, **changes))
    assert caught.value.args[0].kind == "not-applicable"


def test_the_reference_itself_gets_one(dinov2, subject):
    same = Subject(subject.case, subject.case.reference, whole=mb.Output(subject.case.reference))
    names = ("raddino_cosine", "raddino_medgen", "mii_medgen", "medimageinsight_cosine")
    assert [value(make(name, str(dinov2), "cpu"), same) for name in names] == [1.0] * 4
    insight = make("medimageinsight_cosine", str(dinov2), "cpu")
    insight.prepare(with_case(subject, modality="Clinical Photography"))
    with pytest.raises(Undefined, match="MedImageInsight was not trained on Other"):
        insight.prepare(with_case(subject, modality="Other"))
    insight.close()


def test_what_is_not_here_is_said():
    with pytest.raises(NotReadyError, match="metric 'mii_medgen': MedImageInsight is not here"):
        find_metric("mii_medgen")
    with pytest.raises(InputError, match="no encoder 'rad_dino'; did you mean 'rad-dino'"):
        find_metric("raddino_cosine:rad_dino")
