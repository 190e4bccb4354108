"""microsoft/radedit, put together from three repositories; tiny ones in a folder of weights."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from medebench.systems import find_system
from medebench.systems.radedit import radedit_weights
from tests.systems.radedit.conftest import QUICK

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")

from medebench.quiet import quiet  # noqa: E402
from tests.tiny_pipelines import QUIET  # noqa: E402

pytestmark = QUIET
CALL = f"radedit:microsoft/radedit,{QUICK}"


@pytest.fixture
def weights(made, monkeypatch, cache, tmp_path):
    folder = made("published")
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(folder))
    return folder


def test_it_edits(weights, request_for):
    from transformers import BertForMaskedLM

    chosen = find_system(CALL)
    chosen.require_ready()
    chosen.system.prepare()
    assert chosen.settings["model"] == "microsoft/radedit"
    assert chosen.system.identity() == find_system(CALL).system.identity() != ""
    one = chosen.system
    made = one.edit(request_for(prompt="no pneumothorax"))
    assert made.image.shape == (64, 64, 3) and made.detail["radedit"]["guidance"] == 15
    pipe = one._loaded.pipe
    assert type(pipe).__name__ == "StableDiffusionPipeline"
    assert pipe.vae.config.scaling_factor == 0.13025
    # The noise of the paper, by its formula.
    kept = np.cumprod(1 - np.linspace(1e-4, 0.02, 1000))
    steps = one._network.path(1000, 32, 32).steps
    assert [step.a**2 for step in steps[::-1]] == pytest.approx(kept, rel=1e-4)
    # Texts: 128 tokens of BERT's last layer, read without a mask as the paper's pipeline does.
    with quiet("diffusers", "transformers"), torch.inference_mode():
        states = one._network.read(["No pneumothorax"]).states
        bert = BertForMaskedLM.from_pretrained(weights / "biovil-t").eval().bert
        ids = torch.tensor([[2, 5, 6, 3] + [0] * 124])
        assert torch.allclose(states, bert(ids).last_hidden_state, atol=1e-6)


def test_nothing_is_copied_and_no_code_is_named(weights):
    found = radedit_weights.weights()
    assert found is not None and found.path == radedit_weights.weights().path
    assert (found.path / "unet").is_symlink() and (found.path / "vae").is_symlink()
    assert (found.path / "text_encoder" / "model.safetensors").is_symlink()
    for file in ("text_encoder/config.json", "tokenizer/tokenizer_config.json"):
        assert "auto_map" not in json.loads((found.path / file).read_text())


def test_what_is_missing_is_told(made, monkeypatch, cache, tmp_path, no_network):
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(tmp_path))
    (line,) = find_system(CALL).system.problems()
    assert line.startswith("microsoft/radedit: its weights are not all on this machine; get them")
    assert line.endswith(f" get {' '.join(radedit_weights.PARTS.values())}'")
    shutil.copytree(made("published"), tmp_path, dirs_exist_ok=True)
    shutil.rmtree(tmp_path / "stabilityai--sdxl-vae")
    (line,) = find_system(CALL).system.problems()
    assert line.startswith("stabilityai/sdxl-vae: the weights are not on this machine")
    assert find_system(f"{CALL},download=true").system.problems() == []
    assert no_network == []


def test_a_whole_pipeline_of_that_name_is_taken_as_it_is(made, monkeypatch, tmp_path):
    (tmp_path / "microsoft--radedit").symlink_to(made("stable_diffusion"))
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(tmp_path))
    assert not radedit_weights.is_published("microsoft/radedit")
    assert find_system(CALL).system.problems() == []
