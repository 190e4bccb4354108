"""FLUX Kontext, FLUX.2 and Qwen edit: loss and gradient by hand, and what inference would see."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("diffusers")
pytest.importorskip("peft")

import torch
from peft import LoraConfig

from medebench.systems.diffusion.diffusion_settings import DiffusionSettings
from medebench.systems.diffusion.pipeline_call import call_arguments
from medebench.systems.diffusion.pipeline_loader import Loaded
from medebench.tuning.objectives.objective import Draw
from medebench.tuning.objectives.objective_lookup import objective_for
from medebench.tuning.pairs import TrainPair
from medebench.tuning.train_settings import TrainSettings
from tests import tiny_pipelines as tiny
from tests.conftest import draw as drawn
from tests.tuning import flow_by_hand

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


def adapt(pipe: Any, objective: Any, random: bool = True) -> list[torch.nn.Parameter]:
    targets = list(objective.lora_targets)
    torch.manual_seed(0)
    config = LoraConfig(r=2, target_modules=targets, init_lora_weights=not random)
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


def called(pipe: Any, settings: DiffusionSettings, pair: TrainPair, seed: int) -> list[Any]:
    """What the transformer is given in an edit as a system makes it."""
    known = inspect.signature(pipe.__call__).parameters
    loaded = Loaded(pipe, "cpu", "float32", 8, 64, {k: one.default for k, one in known.items()})
    picture = Image.fromarray(pair.previous)
    arguments = call_arguments(loaded, settings, [picture], [pair.prompt], [seed])
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


@pytest.mark.parametrize("family", FAMILIES)
def test_a_lora_learns_and_nothing_else_changes(family, pipe_of):
    pipe, pairs = pipe_of(family), make_pairs(4)
    objective = objective_for(pipe, TrainSettings())
    weights = adapt(pipe, objective, random=False)
    adapter = {
        f"transformer.{n}" for n, p in pipe.transformer.named_parameters() if p.requires_grad
    }
    before = states(pipe)
    batch = objective.batch(pairs, torch.Generator())
    fixed = objective.draw(batch, torch.Generator().manual_seed(0))
    begin = objective.loss(batch, fixed).item()
    optimizer = torch.optim.AdamW(weights, lr=4e-2)
    for _ in range(16):
        optimizer.zero_grad()
        objective.loss(batch, fixed).backward()
        optimizer.step()
    end = objective.loss(batch, fixed).item()
    assert end < 0.8 * begin
    changed = {name for name, value in states(pipe).items() if not torch.equal(value, before[name])}
    assert changed and changed <= adapter


def states(pipe: Any) -> dict[str, torch.Tensor]:
    return {
        f"{part}.{name}": value.clone()
        for part, module in pipe.components.items()
        if isinstance(module, torch.nn.Module)
        for name, value in module.state_dict().items()
    }
