"""Making the built-in editor: each part does what the recipe says, a short training is real."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from medebench.cases import load_cases, open_case
from medebench.outputs import Output
from medebench.phantoms.drawings import render, sample
from medebench.phantoms.training.latents import fit, make_autoencoder
from medebench.phantoms.training.model_recipes import EDITOR, EDITOR_EVALUATION_SEED
from medebench.phantoms.training.phantom_editor.editor_fit import Gaze, concept_places
from medebench.phantoms.training.phantom_editor.train_phantom_editor import (
    make_unet,
    train_phantom_editor,
    wordings,
)
from medebench.phantoms.training.pipeline_folder import make_tokenizer
from medebench.progress import Progress, silent
from medebench.systems import find_system
from medebench.systems.request import Request

SMALL = replace(
    EDITOR,
    phantoms=26,
    fitted=26,
    steps=4,
    batch=2,
    warm_up=1,
    gaze_from=2,
    widths=(128, 160),
)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def pictures():
    return np.stack([render(sample(index, 5)).previous for index in range(13)])


def test_the_evaluation_shares_no_seed_with_the_training_the_demo_or_the_default():
    assert EDITOR_EVALUATION_SEED not in (EDITOR.seed, 0)


def test_the_projection_is_the_one_of_scikit_learns_kind(pictures):
    # Independent: singular vectors of the cells, taken one by one in a loop.
    recipe = replace(EDITOR, channels=8)
    found = fit(pictures, recipe)
    cells = [
        (picture[y : y + 16, x : x + 16].astype(np.float64) / 255 - 0.5).ravel()
        for picture in pictures
        for y in range(0, 256, 16)
        for x in range(0, 256, 16)
    ]
    _, _, axes = np.linalg.svd(np.array(cells), full_matrices=False)
    directions = found.matrix / np.linalg.norm(found.matrix, axis=0)
    cosines = np.abs((axes[:8] * directions.T).sum(1))
    assert cosines == pytest.approx(np.ones(8), abs=1e-3)


def test_the_network_encodes_as_the_projection_and_gives_the_picture_back(pictures):
    projection = fit(pictures, EDITOR)
    vae = make_autoencoder(projection, pictures, EDITOR)
    given = torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 127.5 - 1
    with torch.no_grad():
        latents = vae.encode(given).latents
        back = vae.decode(latents).sample
    assert latents.numpy() == pytest.approx(projection.encode(pictures), abs=1e-4)
    # Of a range of 2: below four grey levels.
    assert float((back - given).abs().mean()) < 0.03
    assert float((latents * vae.config.scaling_factor).square().mean()) == pytest.approx(1, abs=0.1)


def test_the_untrained_network_returns_its_input(pictures):
    projection = fit(pictures, EDITOR)
    latents = torch.from_numpy(projection.encode(pictures))
    unet = make_unet(EDITOR)
    with torch.no_grad():
        made = unet(
            torch.cat([torch.randn_like(latents), latents], 1),
            torch.full((len(latents),), 500),
            torch.randn(len(latents), EDITOR.tokens, EDITOR.text_width),
        ).sample
    wanted = latents * projection.scaling
    assert float((made - wanted).square().mean()) < 0.01 * float(wanted.square().mean())


def test_every_word_of_the_phantoms_survives_the_tokenizer():
    words = wordings(70, EDITOR.seed)
    tokenizer = make_tokenizer([text for one in words for text in one.texts], EDITOR)
    for one in words:
        for text in one.texts:
            ids = tokenizer(text).input_ids
            assert len(ids) <= EDITOR.tokens
            assert (
                tokenizer.decode(ids[1:-1]).split()
                == tokenizer.decode(tokenizer(text.lower()).input_ids[1:-1]).split()
            )
    strange = tokenizer("Entferne den größten Zahn 牙").input_ids
    assert tokenizer.unk_token_id not in strange[1:-1] or strange.count(tokenizer.eos_token_id) == 1


def test_the_loss_on_attention_grows_when_the_gaze_is_elsewhere():
    words = wordings(13, EDITOR.seed)
    tokenizer = make_tokenizer([text for one in words for text in one.texts], EDITOR)
    places = concept_places(words, tokenizer)
    assert min(places.values()) >= 1
    torch.manual_seed(0)
    unet = make_unet(EDITOR)
    with Gaze(unet) as gaze, torch.no_grad():
        unet(torch.randn(2, 128, 16, 16), torch.tensor([5, 5]), torch.randn(2, 32, 128))
    everywhere = gaze.loss(torch.tensor([3, 4]), torch.ones(2, 16, 16))
    corner = torch.zeros(2, 16, 16)
    corner[:, :4, :4] = 1
    assert float(everywhere) == pytest.approx(0, abs=2e-3)
    assert float(gaze.loss(torch.tensor([3, 4]), corner)) == pytest.approx(np.log(16), abs=0.5)
    assert float(gaze.loss(torch.tensor([-1, -1]), corner)) == 0
    assert not any(module._forward_hooks for module in unet.modules())


def _no_bar(title: str) -> AbstractContextManager[Progress]:
    return nullcontext(silent)


def test_a_stopped_training_continues_to_the_same_weights(tmp_path, monkeypatch):
    from medebench.phantoms.training import loop
    from medebench.phantoms.training.phantom_editor import train_phantom_editor as own

    monkeypatch.setattr(own, "CHUNK", 26)
    monkeypatch.setattr(loop, "KEEP_EVERY", 1)
    monkeypatch.setattr(loop, "LOG_EVERY", 1)
    train_phantom_editor(tmp_path / "work", tmp_path / "whole", SMALL, _no_bar)
    (tmp_path / "work" / "checkpoint.pt").unlink()

    class Stop(Exception):
        pass

    def stopping(title: str) -> AbstractContextManager[Progress]:
        def progress(done: int, total: int) -> None:
            if title.startswith("learning") and done == 2:
                raise Stop

        return nullcontext(progress)

    with pytest.raises(Stop):
        train_phantom_editor(tmp_path / "work", tmp_path / "parts", SMALL, stopping)
    assert not (tmp_path / "parts").exists()
    train_phantom_editor(tmp_path / "work", tmp_path / "parts", SMALL, _no_bar)
    file = Path("unet") / "diffusion_pytorch_model.safetensors"
    assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "parts" / file).read_bytes()
    assert (tmp_path / "work" / "loss.png").stat().st_size > 1000

    chosen = find_system(f"phantom-editor:{tmp_path / 'parts'},steps=2")
    assert chosen.system.problems() == []
    case = load_cases("phantoms:count=13").select(limit=1)
    opened = open_case(next(iter(case)))
    edit = chosen.system.edit(Request(opened, 0, 1))
    assert isinstance(edit, Output)
    # Hardly trained, it still returns the picture.
    assert np.abs(edit.image.astype(int) - opened.previous).mean() < 10


def test_a_folder_holds_the_training_of_one_recipe(tmp_path):
    from medebench.errors import InputError
    from medebench.phantoms.training.loop import same_recipe

    same_recipe(tmp_path / "recipe.json", SMALL)
    same_recipe(tmp_path / "recipe.json", SMALL)
    with pytest.raises(InputError, match="another recipe"):
        same_recipe(tmp_path / "recipe.json", replace(SMALL, steps=5))
