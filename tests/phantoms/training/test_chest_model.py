"""Making the chest model: a short training is real, can be stopped, and ends in a pipeline."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from medebench.cli import app
from medebench.phantoms.chest import render
from medebench.phantoms.chest.patients import EVERYBODY, draw_patient
from medebench.phantoms.training import loop
from medebench.phantoms.training.chest_model import train_chest_model as own
from medebench.phantoms.training.chest_model.train_chest_model import in_colour, train_chest_model
from medebench.phantoms.training.latents import fit, make_autoencoder
from medebench.phantoms.training.loop import cosine_rate
from medebench.phantoms.training.model_recipes import CHEST
from medebench.progress import Progress, silent

SMALL = replace(
    CHEST, patients=24, fitted=24, size=64, steps=4, batch=2, warm_up=1, widths=(32, 32, 32)
)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Stop(Exception):
    pass


def bar(until: int | None = None):
    """Progress that nobody sees, and that ends the training after so many steps."""

    def opened(title: str) -> AbstractContextManager[Progress]:
        def progress(done: int, total: int) -> None:
            if title.startswith("learning") and done == until:
                raise Stop

        return nullcontext(progress if until else silent)

    return opened


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Folders of a training in one go, and of one that was stopped and continued."""
    folder = tmp_path_factory.mktemp("chests")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own, "CHUNK", 12)
        patch.setattr(loop, "KEEP_EVERY", 1)
        patch.setattr(loop, "LOG_EVERY", 1)
        train_chest_model(folder / "work", folder / "whole", SMALL, bar())
        (folder / "work" / "checkpoint.pt").unlink()
        with pytest.raises(Stop):
            train_chest_model(folder / "work", folder / "parts", SMALL, bar(until=2))
        assert not (folder / "parts").exists()
        train_chest_model(folder / "work", folder / "parts", SMALL, bar())
    return folder


def test_a_stopped_training_continues_to_the_same_weights(trained):
    for part in ("unet/diffusion_pytorch_model", "text_encoder/model"):
        file = Path(f"{part}.safetensors")
        assert (trained / "whole" / file).read_bytes() == (trained / "parts" / file).read_bytes()
    assert (trained / "work" / "loss.png").stat().st_size > 1000


def test_it_learns_from_the_patients_of_the_recipe(trained):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own, "CHUNK", 12)
        (first, second) = own.chunks(trained / "work" / "chests", 24)
    drawn = [render(draw_patient(SMALL.seed, index, EVERYBODY), 64) for index in (0, 13)]
    for one, chunk, at in ((drawn[0], first, 0), (drawn[1], second, 1)):
        assert np.array_equal(chunk["pictures"][at], one.picture)
        cores = np.zeros((64, 64), bool)
        for core in one.cores.values():
            cores |= core
        assert np.array_equal(chunk["things"][at], cores)


def test_the_folder_is_a_pipeline_that_draws(trained):
    from diffusers import StableDiffusionPipeline

    pipe = StableDiffusionPipeline.from_pretrained(trained / "parts").to(torch.float32)
    pipe.set_progress_bar_config(disable=True)
    made = pipe("left nodule", num_inference_steps=2, output_type="np", height=64, width=64)
    assert made.images.shape == (1, 64, 64, 3)
    assert np.isfinite(made.images).all() and made.images.std() > 0.01
    assert pipe.vae_scale_factor == CHEST.cell
    assert pipe.scheduler.config.prediction_type == "v_prediction"


def test_latents_of_the_recipe_give_chests_back():
    pictures = in_colour(
        np.stack([render(draw_patient(5, k, EVERYBODY)).picture for k in range(12)])
    )
    projection = fit(pictures, CHEST)
    vae = make_autoencoder(projection, pictures, CHEST)
    given = torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 127.5 - 1
    with torch.no_grad():
        latents = vae.encode(given).latents
        back = vae.decode(latents).sample
    assert latents.shape == (12, CHEST.channels, 32, 32)
    error = float((back - given).square().mean())
    assert 10 * np.log10(4 / error) > 34
    assert float((latents * vae.config.scaling_factor).square().mean()) == pytest.approx(1, abs=0.1)


def test_the_rate_rises_and_falls_to_nothing():
    rates = [cosine_rate(step, 100, 10) for step in range(100)]
    assert rates[:10] == pytest.approx([k / 10 for k in range(1, 11)])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[55] == pytest.approx(0.5) and 0 < rates[-1] < 0.001


def test_the_command_refuses_a_folder_that_exists(tmp_path):
    done = CliRunner().invoke(app, ["train", "chest-model", "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "exists already" in done.output
