"""InstructPix2Pix, its SDXL variant and the shipped editor against plain torch and the pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from diffusers import DiffusionPipeline
from PIL import Image

from medebench.systems import find_system
from medebench.tuning.objectives.objective import Draw, Objective
from medebench.tuning.objectives.objective_lookup import objective_for
from medebench.tuning.train_settings import TrainSettings
from tests.tiny_pipelines import QUIET, tiny_instruct_pix2pix, tiny_sdxl_instruct_pix2pix
from tests.tuning.tiny_training import tiny_pairs

pytestmark = [QUIET]
KINDS = ("sd", "sdxl", "phantom")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("pipelines")
    return {
        "sd": tiny_instruct_pix2pix(base / "sd"),
        "sdxl": tiny_sdxl_instruct_pix2pix(base / "sdxl"),
    }


def open_pipe(folders: dict[str, Path], kind: str, prediction: str = "") -> Any:
    if kind == "phantom":
        pipe = find_system("phantom-editor").system._loaded.pipe
    else:
        pipe = DiffusionPipeline.from_pretrained(folders[kind])
    pipe.set_progress_bar_config(disable=True)
    if prediction:
        pipe.scheduler.register_to_config(prediction_type=prediction)
    return pipe


def some_draw(target: torch.Tensor, seed: int = 3) -> Draw:
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(target.shape, generator=generator)
    times = torch.tensor([17, 311, 640, 983])
    no_text, no_image = (torch.tensor(one) for one in ([0, 1, 0, 1], [0, 0, 1, 1]))
    return Draw(noise, times, no_text.bool(), no_image.bool())


def plain_pixels(pixels: np.ndarray[Any, Any]) -> torch.Tensor:
    return torch.tensor(np.moveaxis(pixels.astype(np.float32) / 255 * 2 - 1, 2, 0))[None]


def plain_mode(pipe: Any, kind: str, pixels: np.ndarray[Any, Any]) -> torch.Tensor:
    vae = pipe.vae
    if kind == "phantom":
        return vae.encoder(plain_pixels(pixels))
    moments = vae.quant_conv(vae.encoder(plain_pixels(pixels)))
    return moments.chunk(2, dim=1)[0]


def plain_text(pipe: Any, kind: str, text: str) -> tuple[torch.Tensor, torch.Tensor | None]:
    def ids(tokenizer: Any) -> torch.Tensor:
        size = tokenizer.model_max_length
        return tokenizer(
            text, padding="max_length", max_length=size, truncation=True, return_tensors="pt"
        ).input_ids

    if kind != "sdxl":
        return pipe.text_encoder(ids(pipe.tokenizer)).last_hidden_state, None
    if not text:
        width = pipe.unet.config.cross_attention_dim
        shape = 1, pipe.tokenizer.model_max_length, width
        return torch.zeros(shape), torch.zeros(1, pipe.text_encoder_2.config.projection_dim)
    first = pipe.text_encoder(ids(pipe.tokenizer), output_hidden_states=True)
    second = pipe.text_encoder_2(ids(pipe.tokenizer_2), output_hidden_states=True)
    hidden = torch.cat([first.hidden_states[-2], second.hidden_states[-2]], -1)
    return hidden, second.text_embeds


def plain_loss(pipe: Any, kind: str, draw: Draw, inside: float) -> torch.Tensor:
    """One pair after the other, from the pipeline's parts and the formulas alone."""
    config = pipe.scheduler.config
    if config.beta_schedule == "scaled_linear":
        ends = config.beta_start**0.5, config.beta_end**0.5
        betas = torch.linspace(*ends, config.num_train_timesteps) ** 2
    else:
        assert config.beta_schedule == "linear"
        betas = torch.linspace(config.beta_start, config.beta_end, config.num_train_timesteps)
    left = torch.cumprod(1 - betas, 0)
    total, weights = torch.zeros(()), torch.zeros(())
    for k, pair in enumerate(tiny_pairs()):
        with torch.no_grad():
            target = plain_mode(pipe, kind, pair.target) * pipe.vae.config.scaling_factor
            shown = plain_mode(pipe, kind, pair.previous)
            hidden, pooled = plain_text(pipe, kind, "" if draw.no_text[k] else pair.prompt)
        if draw.no_image[k]:
            shown = torch.zeros_like(shown)
        noise, a = draw.noise[k : k + 1], left[draw.times[k]]
        noisy = a.sqrt() * target + (1 - a).sqrt() * noise
        told: dict[str, Any] = {"encoder_hidden_states": hidden}
        if kind == "sdxl":
            sizes = torch.tensor([[64.0, 64, 0, 0, 64, 64]])
            told["added_cond_kwargs"] = {"text_embeds": pooled, "time_ids": sizes}
        guess = pipe.unet(torch.cat([noisy, shown], 1), draw.times[k], **told)[0]
        wanted = {
            "epsilon": noise,
            "sample": target,
            "v_prediction": a.sqrt() * noise - (1 - a).sqrt() * target,
        }[config.prediction_type]
        rows, columns = target.shape[-2:]
        assert pair.roi is not None
        cells = pair.roi.reshape(rows, 64 // rows, columns, 64 // columns).mean((1, 3))
        weight = torch.tensor(1 + (inside - 1) * cells, dtype=torch.float32)
        total = total + (((guess - wanted) ** 2).mean(1)[0] * weight).sum()
        weights = weights + weight.sum()
    return total / weights


@pytest.mark.parametrize("inside", [1.0, 5.0])
@pytest.mark.parametrize(
    ("kind", "prediction"),
    [
        *[("sd", one) for one in ("epsilon", "v_prediction", "sample")],
        ("sdxl", "epsilon"),
        ("sdxl", "v_prediction"),
        ("phantom", ""),
    ],
)
def test_loss_and_gradient_are_those_of_plain_torch(folders, kind, prediction, inside):
    pipe = open_pipe(folders, kind, prediction)
    settings = TrainSettings(method="full", roi_weight=inside)
    objective = objective_for(pipe, settings)
    batch = objective.batch(tiny_pairs(), torch.Generator().manual_seed(0))
    draw = some_draw(batch.target)
    unet = pipe.unet.requires_grad_(True)
    found = {}
    for name, loss in (
        ("ours", objective.loss(batch, draw)),
        ("plain", plain_loss(pipe, kind, draw, inside)),
    ):
        unet.zero_grad()
        loss.backward()
        gradient = {key: one.grad.clone() for key, one in unet.named_parameters()}
        found[name] = float(loss.detach()), gradient
    assert found["ours"][0] == pytest.approx(found["plain"][0], rel=1e-5)
    largest = max(float(one.abs().max()) for one in found["plain"][1].values())
    assert largest > 1e-4
    for key, one in found["ours"][1].items():
        assert torch.allclose(one, found["plain"][1][key], rtol=1e-5, atol=1e-5 * largest), key


class Watched:
    """What the U-Net is called with."""

    def __init__(self, unet: torch.nn.Module) -> None:
        self.calls: list[tuple[torch.Tensor, dict[str, Any]]] = []
        self._hook = unet.register_forward_pre_hook(self._note, with_kwargs=True)

    def _note(self, module: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        self.calls.append((given[0].detach().clone(), named))

    def close(self) -> None:
        self._hook.remove()


@pytest.mark.parametrize("negative", ["", "stained skin"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_branch_of_the_pipeline_is_what_was_learned(folders, kind, negative):
    """With text and image, with the image alone, with neither: as at inference."""
    pipe = open_pipe(folders, kind)
    pair = tiny_pairs()[1]
    watched = Watched(pipe.unet)
    given = {"negative_prompt": [negative]} if negative else {}
    given |= {"height": 64, "width": 64} if kind == "sdxl" else {}
    pipe(
        [pair.prompt],
        image=[Image.fromarray(pair.previous)],
        num_inference_steps=1,
        guidance_scale=5.0,
        image_guidance_scale=1.5,
        output_type="latent",
        **given,
    )
    seen, told = watched.calls.pop()
    objective = objective_for(pipe, TrainSettings(), negative)
    batch = objective.batch([pair] * 3, torch.Generator())
    no_text, no_image = torch.tensor([False, True, True]), torch.tensor([False, False, True])
    draw = Draw(torch.zeros_like(batch.target), torch.tensor([5, 5, 5]), no_text, no_image)
    with torch.no_grad():
        objective.loss(batch, draw)
    watched.close()
    ours, ours_told = watched.calls.pop()
    channels = batch.condition.shape[1]
    assert torch.allclose(ours[:, channels:], seen[:, channels:], atol=1e-5)
    assert not ours[2, channels:].any() and ours[1, channels:].any()
    name = "encoder_hidden_states"
    assert torch.allclose(ours_told[name], told[name], atol=1e-5)
    assert not torch.allclose(told[name][0], told[name][1], atol=1e-3)
    if kind == "sdxl":
        for key, value in told["added_cond_kwargs"].items():
            assert torch.allclose(ours_told["added_cond_kwargs"][key].float(), value, atol=1e-5)


def test_a_text_and_a_picture_are_encoded_once(folders):
    pipe = open_pipe(folders, "sd")
    calls = []
    for part in (pipe.text_encoder, pipe.vae.encoder):
        part.register_forward_hook(lambda *given: calls.append(given[0]))
    objective = objective_for(pipe, TrainSettings())
    for _ in range(3):
        objective.batch(tiny_pairs(), torch.Generator())
    # Four texts and none, four times two pictures.
    assert sum(one is pipe.text_encoder for one in calls) == 5
    assert sum(one is pipe.vae.encoder for one in calls) == 8


def test_latents_do_not_depend_on_the_rest_of_the_batch(folders):
    pipe, pairs = open_pipe(folders, "sd"), tiny_pairs()
    together = objective_for(pipe, TrainSettings()).batch(pairs, torch.Generator())
    alone = objective_for(pipe, TrainSettings()).batch(pairs[2:3], torch.Generator())
    assert torch.equal(together.target[2:3], alone.target)
    assert torch.equal(together.text["hidden"][2:3], alone.text["hidden"])


def objective_with(folders: dict[str, Path], **settings: float) -> Objective:
    return objective_for(open_pipe(folders, "sd"), TrainSettings.model_validate(settings))


def test_shares_of_what_is_withheld(folders):
    objective = objective_with(folders, no_text=0.1, no_image=0.2, no_both=0.05)
    batch = objective.batch(tiny_pairs()[:1] * 200, torch.Generator())
    drawn = [objective.draw(batch, torch.Generator().manual_seed(k)) for k in range(40)]
    text, image = (torch.cat([getattr(d, n) for d in drawn]) for n in ("no_text", "no_image"))
    count = len(text)
    for found, share in (
        (text & ~image, 0.1),
        (image & ~text, 0.2),
        (text & image, 0.05),
    ):
        deviation = (share * (1 - share) / count) ** 0.5
        assert abs(float(found.float().mean()) - share) < 4 * deviation
    times = torch.cat([d.times for d in drawn])
    assert times.min() >= 0 and times.max() <= 999
    assert abs(float(times.float().mean()) - 499.5) < 4 * 1000 / (12 * count) ** 0.5


def test_nothing_is_withheld_unless_wanted(folders):
    objective = objective_with(folders, no_text=0, no_image=0, no_both=0)
    batch = objective.batch(tiny_pairs() * 20, torch.Generator())
    drawn = objective.draw(batch, torch.Generator().manual_seed(1))
    assert not drawn.no_text.any() and not drawn.no_image.any()


def test_latents_with_a_mean_are_brought_to_the_denoisers_scale(folders):
    """As the SDXL pipeline undoes it before it decodes."""
    pipe = open_pipe(folders, "sdxl")
    plain = objective_for(pipe, TrainSettings()).batch(tiny_pairs(), torch.Generator()).target
    mean, deviation = [0.5, -1.0, 0.25, 0.0], [2.0, 1.0, 0.5, 4.0]
    pipe.vae.register_to_config(latents_mean=mean, latents_std=deviation)
    scaled = objective_for(pipe, TrainSettings()).batch(tiny_pairs(), torch.Generator()).target
    factor = pipe.vae.config.scaling_factor
    middle, spread = (torch.tensor(one).view(1, 4, 1, 1) for one in (mean, deviation))
    assert torch.allclose(scaled * spread / factor + middle, plain / factor, atol=1e-5)
