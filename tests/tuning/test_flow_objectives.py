"""FLUX Kontext, FLUX.2 and Qwen edit: loss and gradient by hand, and what inference would see."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("diffusers")
pytest.importorskip("peft")

import torch
from peft import LoraConfig

import medebench as mb
from medebench.systems import find_system
from medebench.systems.diffusion import diffusion_device, pipeline_loader
from medebench.systems.diffusion.diffusion_settings import DiffusionSettings
from medebench.systems.diffusion.pipeline_call import call_arguments
from medebench.systems.diffusion.pipeline_loader import Loaded
from medebench.tuning.objectives.objective import Draw
from medebench.tuning.objectives.objective_lookup import objective_for
from medebench.tuning.pairs import TrainPair
from medebench.tuning.train_adapter import train_adapter, training_problem
from medebench.tuning.train_settings import TrainSettings
from tests import tiny_pipelines as tiny
from tests.conftest import draw as drawn
from tests.tuning import flow_by_hand
from tests.tuning.tiny_training import request_for, tiny_cases, tiny_pairs

pytestmark = tiny.QUIET
FAMILIES = ("kontext", "flux2", "flux2_klein", "qwen", "qwen_first")
#: Those that work against a second text, and which.
BLANK = {"flux2_klein": "", "qwen": " ", "qwen_first": " "}
PROMPTS = ("Remove the scar.", "Whiten the stained teeth of the upper row.", "Erase it.", "Mend.")


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    base = tmp_path_factory.mktemp("flows")
    names = {"kontext": "flux_kontext", "qwen": "qwen_edit", "qwen_first": "qwen_edit"}

    def get(family: str) -> Path:
        name = names.get(family, family)
        if not (base / name).is_dir():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                getattr(tiny, f"tiny_{name}")(base / name)
        return base / name

    return get


def load(family: str, folder: Path) -> Any:
    from diffusers import DiffusionPipeline, QwenImageEditPipeline

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if family == "flux2":
            return tiny.load_flux2(folder)
        if not family.startswith("qwen"):
            return DiffusionPipeline.from_pretrained(folder)
        pipe = tiny.load_qwen_edit(folder)
        return pipe if family == "qwen" else QwenImageEditPipeline(**pipe.components)


@pytest.fixture
def pipe_of(
    folders: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Any]:
    from diffusers.pipelines.qwenimage import pipeline_qwenimage_edit as first
    from diffusers.pipelines.qwenimage import pipeline_qwenimage_edit_plus as plus

    monkeypatch.setattr(plus, "VAE_IMAGE_SIZE", 64 * 64)
    monkeypatch.setattr(plus, "CONDITION_IMAGE_SIZE", 32 * 32)
    monkeypatch.setattr(first, "calculate_dimensions", lambda area, ratio: (64, 64, None))

    def get(family: str) -> Any:
        pipe = load(family, folders(family))
        pipe.set_progress_bar_config(disable=True)
        for part in pipe.components.values():
            if isinstance(part, torch.nn.Module):
                part.requires_grad_(False)
        if family.startswith("qwen"):
            # The tiny one's are 0 and 1, which any mistake would agree with.
            pipe.vae.register_to_config(latents_mean=[0.1, -0.2, 0.3, 0.0])
            pipe.vae.register_to_config(latents_std=[0.9, 1.1, 1.3, 0.7])
        return pipe

    return get


def make_pairs(count: int, side: int = 64) -> list[TrainPair]:
    made = []
    for number in range(count):
        roi = np.zeros((side, side), bool)
        roi[8 : 30 + number, 12:41] = True
        before, after = (drawn(10 * number + place, side, side) for place in (1, 2))
        made.append(TrainPair(str(number), before, after, PROMPTS[number], roi))
    return made


def adapt(pipe: Any, objective: Any) -> list[torch.nn.Parameter]:
    targets = list(objective.lora_targets)
    torch.manual_seed(0)
    config = LoraConfig(r=2, target_modules=targets, init_lora_weights=False)
    pipe.transformer.add_adapter(config)
    return [one for one in pipe.transformer.parameters() if one.requires_grad]


def gradient(loss: torch.Tensor, weights: list[torch.nn.Parameter]) -> tuple[torch.Tensor, ...]:
    # The last block of Qwen's transformer has weights for a text that nothing looks at any more.
    return torch.autograd.grad(loss, weights, materialize_grads=True)


@pytest.mark.parametrize("family", FAMILIES)
def test_loss_and_gradient_are_those_of_plain_torch(family, pipe_of):
    pipe, pairs = pipe_of(family), make_pairs(2)
    objective = objective_for(pipe, TrainSettings(roi_weight=5))
    weights = adapt(pipe, objective)
    batch = objective.batch(pairs, torch.Generator())
    noise = torch.randn(batch.target.shape, generator=torch.Generator().manual_seed(1))
    withheld = torch.tensor([False, family in BLANK])
    draw = Draw(noise, torch.tensor([0.3, 0.85]), withheld, torch.zeros(2, dtype=torch.bool))
    ours = objective.loss(batch, draw)
    theirs = getattr(flow_by_hand, family)(pipe, pairs, draw, 5.0)
    assert ours.shape == () and ours.item() == pytest.approx(theirs.item(), rel=1e-5)
    assert weights
    for one, other in zip(gradient(ours, weights), gradient(theirs, weights), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def loaded(pipe: Any) -> Loaded:
    known = inspect.signature(pipe.__call__).parameters
    return Loaded(pipe, "cpu", "float32", 8, 64, {k: one.default for k, one in known.items()})


def called(pipe: Any, settings: DiffusionSettings, pair: TrainPair, seed: int) -> list[Any]:
    """What the transformer is given in an edit as a system makes it."""
    picture = Image.fromarray(pair.previous)
    arguments = call_arguments(loaded(pipe), settings, [picture], [pair.prompt], [seed])
    seen: list[Any] = []
    hook = pipe.transformer.register_forward_pre_hook(
        lambda module, args, given: seen.append(given), with_kwargs=True
    )
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipe(**arguments)
    hook.remove()
    return seen


@pytest.mark.parametrize("family", FAMILIES)
def test_the_transformer_is_given_what_the_pipelines_own_call_gives_it(family, pipe_of):
    pipe = pipe_of(family)
    (pair,) = make_pairs(1, 72 if "flux" in family or family == "kontext" else 64)
    guided = {"guidance": 1.0} if family in ("kontext", "flux2") else {}
    if family == "flux2_klein":
        guided = {"guidance": 4.0}
    if family.startswith("qwen"):
        guided = {"true_cfg": 4.0}
    settings = DiffusionSettings(model="x", steps=1, **guided)
    seen = called(pipe, settings, pair, seed=7)
    assert len(seen) == 1 + (family in BLANK)

    objective = objective_for(pipe, TrainSettings())
    batch = objective.batch([pair], torch.Generator())
    noise = torch.randn(batch.target.shape, generator=torch.Generator().manual_seed(7))
    for theirs, without in zip(seen, (False, True), strict=False):
        draw = Draw(noise, torch.ones(1), torch.tensor([without]), torch.tensor([False]))
        given: list[Any] = []
        hook = pipe.transformer.register_forward_pre_hook(
            lambda module, args, kwargs, given=given: given.append(kwargs), with_kwargs=True
        )
        with torch.no_grad():
            objective.loss(batch, draw)
        hook.remove()
        (ours,) = given
        named = {name for name, value in theirs.items() if value is not None}
        named -= {"return_dict", "attention_kwargs", "joint_attention_kwargs"}
        assert named == {name for name, value in ours.items() if value is not None} - {
            "return_dict"
        }
        for name in named:
            if isinstance(ours[name], torch.Tensor):
                assert ours[name].shape == theirs[name].shape, name
                torch.testing.assert_close(ours[name], theirs[name], atol=1e-6, rtol=0, msg=name)
            else:
                assert ours[name] == theirs[name], name


def states(pipe: Any) -> dict[str, torch.Tensor]:
    """All weights but a LoRA's, by the names that they have without one."""
    return {
        f"{part}.{name}".replace(".base_layer.", "."): value.clone()
        for part, module in pipe.components.items()
        if isinstance(module, torch.nn.Module)
        for name, value in module.state_dict().items()
        if ".lora_" not in name
    }


@pytest.fixture
def system_of(
    folders: Callable[[str], Path], pipe_of: Any, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], str]:
    """How a user names each; processors that want torchvision have others in their place."""

    def get(family: str) -> str:
        if family in ("flux2", "qwen"):
            monkeypatch.setattr(diffusion_device, "is_installed", lambda name: True)
            monkeypatch.setattr(
                pipeline_loader, "open_pipeline", lambda weights, *_: load(family, weights.path)
            )
        return f"diffusers:{folders(family)},steps=2,size=64"

    return get


@pytest.mark.parametrize("family", ["kontext", "flux2", "flux2_klein", "qwen"])
def test_a_lora_learns_changes_nothing_else_and_is_loaded_by_diffusers(
    family, system_of, folders, tmp_path
):
    system, cases = system_of(family), tiny_cases(tmp_path / "cases")
    request = request_for(system, cases, 12, batch=4, rate=0.04, rank=4, roi_weight=2)
    before = {path: path.read_bytes() for path in folders(family).rglob("*") if path.is_file()}
    trained = train_adapter(request, tmp_path / "adapter")
    assert {path: path.read_bytes() for path in before} == before

    plain, tuned = load(family, folders(family)), load(family, folders(family))
    tuned.load_lora_weights(trained.folder)
    assert tuned.get_active_adapters() == ["default_0"]
    theirs = states(tuned)
    assert all(torch.equal(value, theirs[name]) for name, value in states(plain).items())
    losses = []
    for pipe in (plain, tuned):
        objective = objective_for(pipe, TrainSettings(roi_weight=2))
        batch = objective.batch(tiny_pairs(), torch.Generator())
        fixed = objective.draw(batch, torch.Generator().manual_seed(0))
        with torch.no_grad():
            losses.append(objective.loss(batch, fixed).item())
    assert losses[1] < 0.8 * losses[0]

    asked = mb.Request(mb.open_case(cases[0]), 0, 5)
    ours = find_system(str(trained.folder)).system.edit(asked).image
    assert not np.array_equal(ours, find_system(system).system.edit(asked).image)
    settings = DiffusionSettings(model="x", steps=2)
    picture = Image.fromarray(asked.case.previous.copy())
    arguments = call_arguments(loaded(tuned), settings, [picture], [asked.instruction], [5])
    tuned.set_progress_bar_config(disable=True)
    made = tuned(**arguments).images[0]
    assert np.array_equal(ours, np.round(made * 255).astype(np.uint8))


@pytest.mark.parametrize(
    ("family", "change", "words"),
    [
        ("kontext", {}, "method=full: FluxKontextPipeline is trained as lora only"),
        ("flux2", {}, "method=full: Flux2Pipeline is trained as lora only"),
        ("qwen", {}, "method=full: QwenImageEditPlusPipeline is trained as lora only"),
        ("flux2_klein", {"is_distilled": True}, "distilled to few steps, .* use its base model"),
        ("kontext", {"scheduler": ["diffusers", "DDIMScheduler"]}, "its scheduler is a DDIM"),
        ("flux2", {"_class_name": "Flux2KleinKVPipeline"}, "KVPipeline is not trained here"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_any_work(
    family, change, words, system_of, folders, tmp_path
):
    system_of(family)
    folder = tmp_path / "copy"
    shutil.copytree(folders(family), folder)
    index = folder / "model_index.json"
    index.write_text(json.dumps(json.loads(index.read_text()) | change))
    settings = TrainSettings(method="lora" if change else "full")
    problem = training_problem(f"diffusers:{folder}", settings)
    assert problem is not None and re.search(words, problem)
    request = request_for(f"diffusers:{folder}", tiny_cases(tmp_path / "cases"), 2)
    with pytest.raises(mb.MedebenchError, match=words):
        train_adapter(replace(request, settings=settings), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_quantised_weights_are_refused_before_any_work(folders, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(folders("kontext"), folder)
    config = folder / "transformer" / "config.json"
    told = {"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True}}
    config.write_text(json.dumps(json.loads(config.read_text()) | told))
    problem = training_problem(f"diffusers:{folder}", TrainSettings())
    assert problem is not None and "transformer is quantised (bitsandbytes)" in problem
    assert training_problem(f"diffusers:{folders('kontext')}", TrainSettings()) is None


def test_times_are_the_logistic_of_normal_numbers_moved_as_the_pipeline_moves_its_own(pipe_of):
    pipe = pipe_of("kontext")
    objective = objective_for(pipe, TrainSettings())
    (pair,) = make_pairs(1)
    batch = objective.batch([pair] * 2000, torch.Generator())

    def times() -> torch.Tensor:
        return objective.draw(batch, torch.Generator().manual_seed(0)).times

    plain = torch.logit(times())
    assert abs(plain.mean()) < 0.1 and abs(plain.std() - 1) < 0.1
    pipe.scheduler.register_to_config(shift=3.0)
    torch.testing.assert_close(torch.logit(times()), plain + np.log(3), atol=1e-3, rtol=0)
    # 256 of FLUX's tokens are moved by 0.5, 4096 by 1.15; here there are 64.
    pipe.scheduler.register_to_config(use_dynamic_shifting=True)
    moved = 0.5 - 0.65 * (256 - 64) / (4096 - 256)
    torch.testing.assert_close(torch.logit(times()), plain + moved, atol=1e-3, rtol=0)


@pytest.mark.parametrize("family", ["kontext", "flux2", "flux2_klein", "qwen"])
def test_text_is_withheld_only_where_guidance_works_against_a_second_one(family, pipe_of):
    objective = objective_for(pipe_of(family), TrainSettings(no_text=0.25))
    (pair,) = make_pairs(1)
    batch = objective.batch([pair] * 400, torch.Generator())
    draw = objective.draw(batch, torch.Generator().manual_seed(0))
    share = draw.no_text.float().mean().item()
    assert not draw.no_image.any()
    assert share == pytest.approx(0.25, abs=0.06) if family in BLANK else share == 0
    never = objective_for(objective.pipe, TrainSettings(no_text=0))
    assert "blank" not in never.batch([pair], torch.Generator()).text


@pytest.mark.parametrize("family", ["kontext", "flux2", "qwen"])
def test_texts_and_pictures_are_encoded_once(family, pipe_of):
    pipe = pipe_of(family)
    objective = objective_for(pipe, TrainSettings())
    calls: list[str] = []
    for name in ("text_encoder", "vae"):
        part = getattr(pipe, name)
        whole = part.forward if name == "text_encoder" else part.encode

        def watch(*args: Any, whole: Any = whole, name: str = name, **given: Any) -> Any:
            calls.append(name)
            return whole(*args, **given)

        setattr(part, "forward" if name == "text_encoder" else "encode", watch)
    pairs = make_pairs(2)
    first = objective.batch(pairs, torch.Generator())
    assert sorted(calls) == ["text_encoder"] * (4 if family in BLANK else 2) + ["vae"] * 4
    again = objective.batch(pairs[::-1], torch.Generator())
    assert len(calls) == (8 if family in BLANK else 6)
    assert torch.equal(first.target.flip(0), again.target)


def test_flux2_shows_a_large_input_as_its_pipeline_does_and_refuses_a_small_one(pipe_of):
    objective = objective_for(pipe_of("flux2_klein"), TrainSettings())
    objective.pipe._encode_vae_image = lambda values, generator: values
    # 1100 x 953 has a megapixel; sides are cut to multiples of 8.
    assert objective.shown(np.zeros((1040, 1200, 3), np.uint8)).shape[-2:] == (952, 1096)
    with pytest.raises(mb.InputError, match="at least 64px; choose a larger size"):
        objective.shown(np.zeros((56, 64, 3), np.uint8))
