"""The encoder that ships: whole, small, read like any other, and the edit score rests on it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors import safe_open
from transformers import AutoTokenizer, VisionTextDualEncoderModel

from medebench.encoders.dual import DualEncoder
from medebench.encoders.encoder_lookup import encoder_name, find_encoder, reads_texts
from medebench.phantoms import shipped
from medebench.phantoms.chest import render
from medebench.phantoms.chest.patients import EVERYBODY, draw_patient
from medebench.phantoms.training.chest_encoder.encoder_evaluation import (
    ScoredAttempt,
    attempts,
    figures,
    score,
)
from medebench.phantoms.training.model_recipes import ENCODER_EVALUATION_SEED

FOLDER = shipped.CHEST_ENCODER


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def encoder():
    return find_encoder("chest-phantoms", device="cpu")


def test_it_comes_with_the_package(encoder, no_network):
    assert isinstance(encoder, DualEncoder) and encoder.problem() is None
    assert encoder.name == encoder_name("chest-phantoms") == "chest-phantoms"
    assert encoder.texts is reads_texts("chest-phantoms") is True
    assert encoder.read(["clear lungs"])[0].features.shape == (64,)
    assert no_network == []


def test_it_is_small_and_in_half_precision():
    files = list(FOLDER.iterdir())
    assert {one.name for one in files} >= {
        "config.json",
        "model.safetensors",
        "preprocessor_config.json",
        "tokenizer.json",
    }
    assert sum(one.stat().st_size for one in files) < 5_000_000
    with safe_open(FOLDER / "model.safetensors", "pt") as tensors:
        kinds = {tensors.get_slice(name).get_dtype() for name in tensors.keys()}  # noqa: SIM118
    assert kinds == {"F16"}


def test_its_vectors_are_those_of_plain_transformers(encoder):
    """Pictures of its own size are only scaled: nothing of a phantom is resampled."""
    network = VisionTextDualEncoderModel.from_pretrained(FOLDER, dtype=torch.float32).eval()
    words = AutoTokenizer.from_pretrained(FOLDER)
    pictures = [
        render(draw_patient(ENCODER_EVALUATION_SEED, k, EVERYBODY)).picture for k in range(2)
    ]
    colour = [np.repeat(one[..., None], 3, axis=-1) for one in pictures]
    pixels = torch.tensor(np.stack(colour)).permute(0, 3, 1, 2) / 127.5 - 1
    texts = ["right pneumothorax, chest drain", "clear lungs"]
    with torch.no_grad():
        seen = network.vision_model(pixels).pooler_output @ network.visual_projection.weight.T
        given = words(texts, padding=True, return_tensors="pt")
        read = network.text_model(**given).pooler_output @ network.text_projection.weight.T
    mine = encoder.encode([encoder.prepare(one, 255) for one in colour])
    np.testing.assert_allclose(mine, seen, atol=1e-4)
    np.testing.assert_allclose([one.features for one in encoder.read(texts)], read, atol=1e-4)


def test_the_edit_score_tells_edits_done_from_failed_ones(encoder):
    """Forty patients nobody has seen, eight of each finding."""
    things = ("pneumothorax", "opacities", "nodule", "oedema", "consolidation")
    scored = [
        one
        for thing in things
        for index in range(8)
        for one in score(
            encoder,
            [
                attempt
                for attempt in attempts(thing, ENCODER_EVALUATION_SEED, index)
                if attempt.outcome in ("done", "nothing happened", "another finding")
            ],
        )
    ]
    found = {one.failure: one for one in figures(scored) if one.thing == "all"}
    whole = found["all"]
    assert whole.auroc.value is not None and whole.auroc.value > 0.9
    assert whole.kept.value is not None and whole.kept.value > 0.9
    assert whole.unscored == 0 and whole.done is not None and whole.failed is not None
    assert whole.done > 0.5 > 0.2 > whole.failed


def test_edits_without_a_score_are_counted_and_are_no_numbers():
    tried = attempts("nodule", ENCODER_EVALUATION_SEED, 0)
    some = [ScoredAttempt(one, 0.9 if one.outcome == "done" else None) for one in tried]
    (idle, *_, whole) = figures(some)
    assert idle.unscored == 1 and whole.unscored == len(tried) - 1
    assert idle.done == 0.9 and idle.failed is None
    assert idle.auroc.value is None and "good" in idle.auroc.reason
    assert idle.kept.value == 1 and idle.thrown.value is None
