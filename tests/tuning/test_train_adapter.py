"""Whole trainings of tiny pipelines: what is learned, what is left alone, and what is continued."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from diffusers import DiffusionPipeline
from PIL import Image
from safetensors.torch import load_file, save_file

import medebench as mb
from medebench.cases import open_case
from medebench.systems import Request, find_system
from medebench.tuning import train_adapter as module
from medebench.tuning.objectives.objective_lookup import objective_for
from medebench.tuning.train_adapter import train_adapter, training_problem
from medebench.tuning.train_settings import TrainSettings
from medebench.tuning.training_memory import training_memory
from tests.conftest import REPOSITORY
from tests.tiny_pipelines import (
    QUIET,
    tiny_instruct_pix2pix,
    tiny_lora,
    tiny_sdxl_instruct_pix2pix,
    tiny_stable_diffusion,
)
from tests.tuning.killed_training import STEPS, killed_request
from tests.tuning.tiny_training import request_for, tiny_cases, tiny_pairs

pytestmark = [QUIET]
SHORT = "size=64,steps=2"
LORA = "pytorch_lora_weights.safetensors"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Any:
    base = tmp_path_factory.mktemp("training")
    tiny_instruct_pix2pix(base / "sd")
    tiny_sdxl_instruct_pix2pix(base / "sdxl")
    return base


@pytest.fixture(scope="module")
def cases(places: Path) -> list[mb.Case]:
    return tiny_cases(places / "cases")


def unet_of(out: Path) -> dict[str, torch.Tensor]:
    return load_file(out / "pipeline" / "unet" / "diffusion_pytorch_model.safetensors")


def same(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[k], right[k]) for k in left)


def edited(call: str, case: mb.Case) -> np.ndarray[Any, Any]:
    chosen = find_system(call)
    return np.asarray(chosen.system.edit(Request(open_case(case), 0, 5)).image)


def fixed_loss(pipe: Any) -> float:
    """The loss of all pairs on draws that no training sees."""
    objective = objective_for(pipe, TrainSettings(no_text=0, no_image=0, no_both=0))
    generator = torch.Generator().manual_seed(11)
    batch = objective.batch(tiny_pairs() * 4, generator)
    with torch.no_grad():
        return float(objective.loss(batch, objective.draw(batch, generator)))


LEARNING = {"no_text": 0, "no_image": 0, "no_both": 0, "batch": 4, "decay": 0, "every": 1000}


@pytest.mark.parametrize(("kind", "steps"), [("sd", 150), ("sdxl", 250)])
def test_full_training_learns_four_pairs(kind, steps, places, cases, tmp_path):
    before = fixed_loss(DiffusionPipeline.from_pretrained(places / kind))
    more = {"method": "full", "rate": 1e-2, "schedule": "cosine", "warm_up": 20}
    request = request_for(f"diffusers:{places / kind},{SHORT}", cases, steps, **more, **LEARNING)
    trained = train_adapter(request, tmp_path / "out")
    after = fixed_loss(DiffusionPipeline.from_pretrained(tmp_path / "out" / "pipeline"))
    assert after < 0.1 * before
    assert trained.last_loss < 0.3 * trained.first_loss
    base, pipeline = places / kind, tmp_path / "out" / "pipeline"
    others = [p.relative_to(base) for p in base.rglob("*") if p.is_file()]
    others = [one for one in others if one.parts[0] != "unet" and one.name != "model_index.json"]
    assert len(others) > 5
    for one in others:
        assert (base / one).read_bytes() == (pipeline / one).read_bytes()


@pytest.mark.parametrize("kind", ["sd", "sdxl"])
def test_a_lora_learns_and_changes_nothing_else(kind, places, cases, tmp_path):
    base = places / kind
    files = {p: p.read_bytes() for p in base.rglob("*") if p.is_file()}
    more = {"rate": 1e-2, "rank": 8, "alpha": 16}
    request = request_for(f"diffusers:{base},{SHORT}", cases, 60, **more, **LEARNING)
    train_adapter(request, tmp_path / "out")
    assert {p: p.read_bytes() for p in base.rglob("*") if p.is_file()} == files
    pipe = DiffusionPipeline.from_pretrained(base)
    plain = {key: one.clone() for key, one in pipe.unet.state_dict().items()}
    before = fixed_loss(pipe)
    pipe.load_lora_weights(tmp_path / "out")
    assert fixed_loss(pipe) < 0.9 * before
    assert pipe.unet.peft_config["default_0"].lora_alpha == 16
    pipe.unload_lora_weights()
    assert same(pipe.unet.state_dict(), plain)
    assert sorted(one.name for one in (tmp_path / "out").glob("*.safetensors")) == [LORA]


def plainly(pipe: Any, case: mb.Case) -> np.ndarray[Any, Any]:
    """A call of the pipeline as its documentation shows it."""
    pipe.set_progress_bar_config(disable=True)
    sizes = {"height": 64, "width": 64} if "XL" in type(pipe).__name__ else {}
    made = pipe(
        case.prompt,
        image=Image.open(case.previous),
        num_inference_steps=2,
        generator=torch.Generator().manual_seed(5),
        output_type="np",
        **sizes,
    ).images[0]
    return np.round(np.clip(made, 0, 1) * 255).astype(np.uint8)


@pytest.mark.parametrize("method", ["lora", "full"])
@pytest.mark.parametrize("kind", ["sd", "sdxl"])
def test_the_folder_is_the_system_that_plain_diffusers_loads(kind, method, places, cases, tmp_path):
    base = f"diffusers:{places / kind},{SHORT}"
    request = request_for(base, cases, 4, method=method, rate=1e-2, alpha=None, every=100)
    trained = train_adapter(request, tmp_path / "out")
    if method == "full":
        pipe = DiffusionPipeline.from_pretrained(trained.folder / "pipeline")
    else:
        pipe = DiffusionPipeline.from_pretrained(places / kind)
        pipe.load_lora_weights(trained.folder)
    made = edited(str(trained.folder), cases[0])
    assert np.array_equal(made, plainly(pipe, cases[0]))
    assert not np.array_equal(made, edited(base, cases[0]))


def test_the_shipped_editor_is_trained_and_loaded_plainly(cases, tmp_path):
    import medebench.phantoms.patch_autoencoder  # noqa: F401

    request = request_for("phantom-editor:size=64,steps=2", cases[:1], 2, method="full", rate=1e-3)
    trained = train_adapter(request, tmp_path / "out")
    # As the card says: its text encoder is stored in half precision.
    pipeline = trained.folder / "pipeline"
    pipe = DiffusionPipeline.from_pretrained(pipeline).to(torch.float32)
    pipe.set_progress_bar_config(disable=True)
    made = pipe(
        cases[0].prompt,
        image=Image.open(cases[0].previous),
        num_inference_steps=2,
        guidance_scale=1.0,
        image_guidance_scale=1.0,
        generator=torch.Generator().manual_seed(5),
        output_type="np",
    ).images[0]
    pixels = np.round(np.clip(made, 0, 1) * 255).astype(np.uint8)
    assert np.array_equal(edited(str(trained.folder), cases[0]), pixels)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_killed_ten_times_and_continued_it_is_the_same_training(places, tmp_path):
    arguments = [places / "sd", tmp_path / "cases", tmp_path / "out", 10, 1]
    command = [sys.executable, "-W", "ignore", "-m", "tests.tuning.killed_training"]
    source = str(Path(mb.__file__).parents[1])
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([source, str(REPOSITORY)])
    done = subprocess.run(
        [*command, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=REPOSITORY,
    )
    said = done.stdout.splitlines()
    assert said[-1:] == ["ended 0"], done.stderr
    assert [one.split()[0] for one in said[:-1]] == ["killed"] * 10
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        train_adapter(killed_request(places / "sd", tmp_path / "cases"), tmp_path / "whole")
    finally:
        torch.set_num_threads(threads)
    assert same(unet_of(tmp_path / "out"), unet_of(tmp_path / "whole"))
    logs = [(tmp_path / one / "loss.jsonl").read_text().splitlines() for one in ("out", "whole")]
    left, right = ([json.loads(line) for line in log] for log in logs)
    assert [one["step"] for one in left] == list(range(1, STEPS + 1))
    assert [(one["loss"], one["rate"]) for one in left] == [
        (one["loss"], one["rate"]) for one in right
    ]
    assert not (tmp_path / "out" / "checkpoint").exists()


class Stop(Exception):
    pass


def stopped(request: Any, out: Path, at: int) -> None:
    def watch(done: int, total: int) -> None:
        if done == at:
            raise Stop

    with pytest.raises(Stop):
        train_adapter(request, out, watch)


@pytest.fixture
def short(places: Path, cases: list[mb.Case]) -> Any:
    more = {"rate": 1e-2, "rank": 2, "every": 2}
    return request_for(f"diffusers:{places / 'sd'},{SHORT}", cases, 5, **more)


def test_samples_do_not_change_what_is_learned(short, cases, tmp_path):
    watched = replace(short, validation=tuple(cases[:2]))
    train_adapter(watched, tmp_path / "watched")
    train_adapter(short, tmp_path / "alone")
    left, right = (load_file(tmp_path / one / LORA) for one in ("watched", "alone"))
    assert same(left, right)
    found = sorted(one.name for one in (tmp_path / "watched" / "samples").iterdir())
    assert found == sorted(f"{case.id}-{step}.png" for case in cases[:2] for step in (0, 2, 4, 5))
    first, last = (
        np.asarray(Image.open(tmp_path / "watched" / "samples" / f"0-{step}.png"))
        for step in (0, 5)
    )
    assert first.shape == (64, 64, 3) and not np.array_equal(first, last)


def test_the_callers_chance_is_not_touched(short, tmp_path):
    torch.manual_seed(3)
    wanted = torch.rand(2)
    torch.manual_seed(3)
    train_adapter(short, tmp_path / "out")
    assert torch.equal(torch.rand(2), wanted)


def test_a_seed_is_another_training(short, tmp_path):
    for name, request in (("a", short), ("b", replace(short, seed=1))):
        train_adapter(request, tmp_path / name)
    assert not same(load_file(tmp_path / "a" / LORA), load_file(tmp_path / "b" / LORA))


def test_what_is_finished_is_not_done_again(short, tmp_path):
    first = train_adapter(short, tmp_path / "out")
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "out").rglob("*")}
    assert train_adapter(short, tmp_path / "out") == first
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "out").rglob("*")} == before


def test_another_training_is_refused(short, tmp_path):
    stopped(short, tmp_path / "out", 3)
    changed = replace(short, seed=2, steps=6)
    with pytest.raises(mb.InputError, match=r"out: has another training, with other steps, seed"):
        train_adapter(changed, tmp_path / "out")
    other = replace(short.pairs[0][0], prompt="do something else")
    with pytest.raises(mb.InputError, match="with other content"):
        train_adapter(replace(short, pairs=((other, other), *short.pairs[1:])), tmp_path / "out")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(mb.InputError, match="is not empty, and no training"):
        train_adapter(short, tmp_path / "full")
    # How the device is used is not another training.
    settings = short.settings.model_copy(update={"every": 3, "checkpointing": True})
    train_adapter(replace(short, settings=settings), tmp_path / "out")


def test_a_damaged_checkpoint_is_refused_in_one_line(short, tmp_path):
    stopped(short, tmp_path / "out", 3)
    (file,) = (tmp_path / "out" / "checkpoint").iterdir()
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(mb.InputError, match=r"is damaged; delete .*checkpoint to begin"):
        train_adapter(short, tmp_path / "out")
    file.unlink()
    train_adapter(short, tmp_path / "out")
    train_adapter(short, tmp_path / "whole")
    assert same(load_file(tmp_path / "out" / LORA), load_file(tmp_path / "whole" / LORA))


def test_gradient_checkpointing_gives_the_same_weights(short, tmp_path):
    settings = short.settings.model_copy(update={"checkpointing": True})
    train_adapter(replace(short, settings=settings), tmp_path / "less")
    train_adapter(short, tmp_path / "more")
    left, right = (load_file(tmp_path / one / LORA) for one in ("less", "more"))
    assert all(torch.allclose(left[key], right[key], atol=1e-5) for key in left)


def test_accumulated_batches_are_one_larger_batch(places, cases, tmp_path):
    """The same eight pairs in two steps, with noise of their own: means of the same size."""
    base = f"diffusers:{places / 'sd'},{SHORT}"
    for name, batch, accumulate in (("one", 4, 1), ("two", 1, 4)):
        sizes = {"batch": batch, "accumulate": accumulate, "every": 100}
        request = request_for(base, cases, 2, method="full", rate=1e-3, **sizes)
        train_adapter(request, tmp_path / name)
    logs = [(tmp_path / one / "loss.jsonl").read_text().splitlines() for one in ("one", "two")]
    left, right = ([json.loads(line)["loss"] for line in log] for log in logs)
    assert len(left) == len(right) == 2
    assert left == pytest.approx(right, rel=0.2)


def test_pairs_of_several_sizes_learn_together(places, cases, tmp_path):
    wide = tmp_path / "wide.png"
    Image.open(cases[0].previous).resize((96, 48)).save(wide)
    other = replace(cases[0], id="wide", previous=wide)
    base = f"diffusers:{places / 'sd'},{SHORT}"
    request = request_for(base, [cases[1], other], 3, batch=2, every=100)
    assert np.isfinite(train_adapter(request, tmp_path / "out").last_loss)


def test_averaged_weights_lag_behind(places, cases, tmp_path):
    base = f"diffusers:{places / 'sd'},{SHORT}"
    for name, ema in (("plain", 0.0), ("averaged", 0.9)):
        request = request_for(base, cases, 6, method="full", rate=1e-3, ema=ema, every=100)
        train_adapter(request, tmp_path / name)
    start = load_file(places / "sd" / "unet" / "diffusion_pytorch_model.safetensors")
    plain, slow = unet_of(tmp_path / "plain"), unet_of(tmp_path / "averaged")

    def moved(weights: dict[str, torch.Tensor]) -> float:
        return sum(float((weights[key] - start[key]).norm()) for key in start)

    assert 0.05 * moved(plain) < moved(slow) < 0.95 * moved(plain)


def test_mixed_precision_is_near_to_the_plain_one(short, tmp_path):
    for name in ("no", "bf16"):
        settings = short.settings.model_copy(update={"precision": name})
        train_adapter(replace(short, settings=settings), tmp_path / name)
    left, right = (load_file(tmp_path / one / LORA) for one in ("no", "bf16"))
    assert all(one.dtype == torch.float32 for one in right.values())
    assert not same(left, right)
    facts = [json.loads((tmp_path / n / "training.json").read_text()) for n in ("no", "bf16")]
    assert [one["precision"] for one in facts] == ["no", "bf16"]
    assert facts[0]["last_loss"] == pytest.approx(facts[1]["last_loss"], rel=0.05)


def test_the_card_says_what_was_done(short, tmp_path):
    card = {"task": "Teeth/Whiten", "arm": "per-sample", "draw": 2, "seed of the draw": 4}
    trained = train_adapter(replace(short, card=card), tmp_path / "out")
    text = (trained.folder / "README.md").read_text()
    _, front, body = text.split("---\n", 2)
    head = yaml.safe_load(front)
    assert head["license"] == "other" and "lora" in head["tags"]
    assert "base_model" not in head and head["library_name"] == "diffusers"
    assert "| base model's licence | unknown: check |" in body
    assert "Not for clinical use" in body
    facts = json.loads((trained.folder / "training.json").read_text())
    assert facts["content"] in body and "| draw | 2 |" in body and "| steps | 5 |" in body
    assert all(f"`{case.id}`" in body for case, _ in short.pairs)
    assert "rank=2" in body and "diffusers=" in body and f"{trained.last_loss:.4g}" in body


def test_what_cannot_be_trained_is_refused_before_any_work(places, cases, tmp_path):
    plain = tiny_stable_diffusion(tmp_path / "plain")
    (places / "sd" / "lora").mkdir(exist_ok=True)
    lora = tiny_lora(places / "sd", tmp_path / "lora")
    quantised = tiny_instruct_pix2pix(tmp_path / "quantised")
    config = quantised / "unet" / "config.json"
    told = {"quant_method": "bitsandbytes", "load_in_4bit": True}
    config.write_text(json.dumps(json.loads(config.read_text()) | {"quantization_config": told}))
    flow = tiny_instruct_pix2pix(tmp_path / "flow")
    config = flow / "scheduler" / "scheduler_config.json"
    predicts = {"prediction_type": "flow_prediction"}
    config.write_text(json.dumps(json.loads(config.read_text()) | predicts))
    refused = {
        "blur": "is no diffusion model",
        f"diffusers:{plain}": "StableDiffusionPipeline is not trained here",
        f"diffusers:{places / 'sd'},lora={lora}": "a model with a LoRA is not trained on",
        f"diffusers:{quantised}": r"its unet is quantised \(bitsandbytes\)",
        f"diffusers:{flow}": "its scheduler predicts flow_prediction",
        "instruct-pix2pix": "its weights are not on this machine",
        "no-such-system": "no system 'no-such-system'",
    }
    for system, why in refused.items():
        problem = training_problem(system, TrainSettings())
        assert problem is not None and "\n" not in problem
        with pytest.raises(mb.MedebenchError, match=why):
            train_adapter(request_for(system, cases, 3), tmp_path / "out")
    assert training_problem(f"diffusers:{places / 'sd'}", TrainSettings(method="full")) is None
    shares = TrainSettings(no_text=0.5, no_image=0.5, no_both=0.5)
    assert "more than 1 together" in str(training_problem("phantom-editor", shares))
    with pytest.raises(mb.InputError, match="device: expected auto"):
        train_adapter(replace(request_for("phantom-editor", cases, 3), device="tpu"), tmp_path)
    assert not (tmp_path / "out").exists()


def test_a_loss_that_is_no_number_ends_the_training(cases, tmp_path):
    folder = tiny_instruct_pix2pix(tmp_path / "broken")
    file = folder / "unet" / "diffusion_pytorch_model.safetensors"
    weights = load_file(file)
    weights["conv_out.bias"][0] = torch.nan
    save_file(weights, file)
    request = request_for(f"diffusers:{folder},{SHORT}", cases, 3)
    with pytest.raises(mb.MedebenchError, match=r"the loss of step 1 is nan; lower rate"):
        train_adapter(request, tmp_path / "out")
    assert not (tmp_path / "out" / "training.json").exists()


def test_memory_counts_what_learns(places):
    call = f"diffusers:{places / 'sd'}"
    pipe = DiffusionPipeline.from_pretrained(places / "sd")
    numbers = sum(one.numel() for one in pipe.unet.parameters())
    frozen = sum(one.numel() for part in (pipe.vae, pipe.text_encoder) for one in part.parameters())
    full = training_memory(call, TrainSettings(method="full"))
    assert full == pytest.approx(16 * numbers + 4 * numbers + 4 * frozen, rel=0.02)
    loras = [training_memory(call, TrainSettings(rank=rank)) for rank in (4, 8)]
    request = TrainSettings(rank=4)
    objective = objective_for(pipe, request)
    module.open_weights(objective, request, 0)
    learned = sum(one.numel() for one in pipe.unet.parameters() if one.requires_grad)
    assert loras[1] - loras[0] == 16 * learned
    assert training_memory("blur", TrainSettings()) is None
