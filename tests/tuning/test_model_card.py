"""What the front matter says of the base model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import ModelCard

from medebench.tuning.model_card import UNKNOWN, card_text, licence_of

FACTS: dict[str, Any] = {
    "train": {"method": "lora"},
    "pairs": [["1", "2"], ["3", "3"]],
    "system": "instruct-pix2pix",
    "system_settings": {},
    "weights": "x@1",
    "content": "abc",
    "steps": 4,
    "seed": 0,
    "trained": 10,
    "first_loss": 1.0,
    "last_loss": 0.5,
    "device": "cpu",
    "precision": "no",
    "seconds": 3.0,
    "finished": "today",
    "versions": {"torch": "2"},
    "card": {"task": "a|b"},
}
KIND = "StableDiffusionInstructPix2PixPipeline"


def test_a_model_of_the_hub_is_the_base():
    text = card_text(FACTS, "timbrooks/instruct-pix2pix", KIND, "mit", [])
    card = ModelCard(text)
    assert card.data.license == "mit" and card.data.base_model == "timbrooks/instruct-pix2pix"
    assert card.data.to_dict()["base_model_relation"] == "adapter"
    assert 'pipe.load_lora_weights("THIS_FOLDER")' in text
    assert "`1` with `2`, `3`" in text and "| task | a\\|b |" in text


def test_the_folders_of_whoever_trained_it_are_left_out():
    card = {"case set": "/home/ann/hospital/cases.csv", "draw": 1, "seed": 2}
    settings = {"model": "/home/ann/models/mine", "size": 64}
    facts = {**FACTS, "card": card, "system_settings": settings, "seed": 77, "pairs": [["1", "1"]]}
    text = card_text(facts, "mine", KIND, UNKNOWN, [])
    assert "ann" not in text and "| case set | cases.csv |" in text and "model=mine" in text
    # Which of the repetitions it is, and what its random numbers come from.
    assert "| seed | 2 |" in text and "| random seed | 77 |" in text
    assert "# mine, trained further on 1 pair\n" in text


def test_modules_are_imported_before_the_pipeline():
    full = {**FACTS, "train": {"method": "full"}}
    text = card_text(full, "builtin:phantom-editor", KIND, UNKNOWN, ["some.module"])
    assert "import some.module" in text and 'from_pretrained("THIS_FOLDER/pipeline").to(' in text
    head = yaml.safe_load(text.split("---\n")[1])
    assert "base_model" not in head and head["license_name"] == "unknown"


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        ("---\nlicense: creativeml-openrail-m\ntags: [a]\n---\n# Model", "creativeml-openrail-m"),
        ("---\ntags: [a]\n---\n", UNKNOWN),
        ("---\n: [\n---\n", UNKNOWN),
        ("# No front matter", UNKNOWN),
    ],
)
def test_the_licence_of_the_base_is_read_from_its_card(text, licence, tmp_path: Path):
    (tmp_path / "README.md").write_text(text)
    assert licence_of(tmp_path) == licence
    assert licence_of(tmp_path / "nothing") == UNKNOWN
