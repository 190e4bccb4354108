"""Before any work: one line for each thing that is missing, and nothing written."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.systems import find_system
from medebench.systems.diffusion import diffusion_device
from tests.systems.conftest import QUICK, editor, into_cache

pytest.importorskip("diffusers")


@pytest.fixture
def refused(small_set, tmp_path):
    """The line that a command ends with, having written nothing."""

    def run(call: str) -> list[str]:
        words = ["edit", str(small_set), "--editor", call, "--out", str(tmp_path / "run")]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2, done.output
        assert done.stdout == "" and not (tmp_path / "run").exists()
        return done.stderr.splitlines()

    return run


def test_missing_weights_are_one_line_and_no_network_is_asked(refused, cache, no_network):
    for name, hub in (
        ("instruct-pix2pix", "timbrooks/instruct-pix2pix"),
        ("paint-by-inpaint", "paint-by-inpaint/general-base"),
        ("diffusers:owner/name", "owner/name"),
    ):
        (line,) = refused(name)
        editor_name = name.partition(":")[0]
        assert line == (
            f"medebench: editor '{editor_name}': {hub}: its weights are not on this machine; "
            f"get them with 'medebench weights get {hub}', or add download=true"
        )
    assert no_network == [] and list(cache.iterdir()) == []


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda folder: (folder / "model_index.json").unlink(), "has no model_index.json"),
        (lambda folder: (folder / "model_index.json").write_text("{"), "model_index.json is dam"),
        (lambda folder: shutil.rmtree(folder / "vae"), "the part vae is missing"),
        (
            lambda folder: os.truncate(folder / "unet/diffusion_pytorch_model.safetensors", 50_000),
            "diffusion_pytorch_model.safetensors is cut off; copy the model again",
        ),
        (lambda folder: (folder / "unet/config.json").write_text("{"), "does not load"),
    ],
)
def test_damaged_folders_are_one_line(damage, words, refused, pix2pix, own_copy):
    folder = own_copy(pix2pix)
    damage(folder)
    (line,) = refused(f"instruct-pix2pix:{folder}")
    assert words in line


@pytest.mark.parametrize("setting", ["true_cfg=2", "image_guidance=0.5", "lora=nowhere.bin"])
def test_settings_that_do_not_fit_are_one_line(setting, refused, pix2pix):
    (line,) = refused(f"instruct-pix2pix:{pix2pix},{setting}")
    assert setting.partition("=")[0] in line


def test_all_that_is_missing_is_said_at_once(refused, cache, no_network):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    lines = refused("instruct-pix2pix:owner/name,device=cuda,lora=owner/lora")
    assert len(lines) == 3 and all(line.startswith("medebench: editor '") for line in lines)
    assert "there is no CUDA device here; leave it at auto" in lines[0]
    assert "owner/name: its weights are not on this machine" in lines[1]
    assert "lora=owner/lora: is not on this machine" in lines[2] and no_network == []


def test_offloading_is_for_a_gpu(refused, pix2pix):
    (line,) = refused(f"instruct-pix2pix:{pix2pix},device=cpu,offload=model")
    assert "offload=model: is for a GPU" in line


def test_too_little_memory(refused, pix2pix, monkeypatch):
    monkeypatch.setattr(diffusion_device, "SMALL", 0)
    assert find_system(f"instruct-pix2pix:{pix2pix}").system.problems() == []
    monkeypatch.setattr(diffusion_device, "free_memory", lambda place: 100)
    (line,) = refused(f"instruct-pix2pix:{pix2pix},device=cpu")
    assert "needs about 0.0 GB of main memory in float32, 0.0 GB are free" in line


@pytest.mark.parametrize(
    ("settings", "free", "words"),
    [
        ("", {"cuda": 20, "cpu": 99}, "needs about 28.8 GB of memory of the cuda device in bfl"),
        ("", {"cuda": 20, "cpu": 99}, "20.0 GB are free; try offload=model"),
        ("", {"cuda": 30, "cpu": 1}, None),
        ("dtype=float32", {"cuda": 30, "cpu": 99}, "needs about 57.6 GB of memory of the cuda"),
        ("offload=model", {"cuda": 20, "cpu": 30}, None),
        ("offload=model", {"cuda": 20, "cpu": 10}, "needs about 24.0 GB of main memory"),
        ("offload=model", {"cuda": 10, "cpu": 30}, "needs about 19.2 GB .*; try offload=seq"),
        ("offload=sequential", {"cuda": 1, "cpu": 30}, None),
        ("", {"cuda": None, "cpu": None}, None),
    ],
)
def test_memory_of_a_large_model_on_a_gpu(settings, free, words, monkeypatch):
    """Weights of 16 and 8 GB in half precision; nothing of that size is made."""
    from medebench.systems.diffusion.pipeline_weights import Weights

    sizes = {"transformer": 8 * 2**30, "text_encoder": 4 * 2**30}
    monkeypatch.setattr(
        Weights, "bytes_by_part", lambda self, each: {k: v * each for k, v in sizes.items()}
    )
    monkeypatch.setattr(Weights, "parts", {"transformer": "FluxTransformer2DModel"})
    monkeypatch.setattr(diffusion_device, "choose_device", lambda wanted: "cuda")
    monkeypatch.setattr(
        diffusion_device,
        "free_memory",
        lambda place: None if free[place] is None else free[place] * 2**30,
    )
    chosen = find_system(f"diffusers:big{',' if settings else ''}{settings}")
    said = diffusion_device.memory_problem(Weights(Path("big"), "big"), chosen.system.settings)
    if words is None:
        assert said is None
    else:
        assert said is not None and re.search(words, said), said


def test_a_device_and_a_precision_are_chosen(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert (
        diffusion_device.choose_device("auto") == "mps"
        and diffusion_device.choose_device("cpu") == "cpu"
    )
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert diffusion_device.choose_device("auto") == "cuda"
    assert diffusion_device.choose_dtype("auto", "cuda", transformer=True) == "bfloat16"
    assert diffusion_device.choose_dtype("auto", "mps", transformer=False) == "float16"
    assert diffusion_device.choose_dtype("auto", "cpu", transformer=True) == "float32"
    assert diffusion_device.choose_dtype("float32", "cuda", transformer=True) == "float32"
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (7, 9))
    assert (
        diffusion_device.free_memory("cuda") == 7 and (diffusion_device.free_memory("cpu") or 1) > 0
    )


def test_missing_packages_are_named(monkeypatch, refused, pix2pix):
    monkeypatch.setattr("medebench.device.find_spec", lambda name: None)
    (line,) = refused(f"instruct-pix2pix:{pix2pix}")
    assert "needs torch 2.4 or later, diffusers" in line and "pip install 'medebench" in line


def test_qwen_without_torchvision_is_one_line(monkeypatch, refused, pipelines):
    monkeypatch.setattr(diffusion_device, "is_installed", lambda name: False)
    (line,) = refused(f"diffusers:{pipelines('qwen_edit')}")
    assert "its processor needs torchvision; pip install torchvision" in line


def test_download_fetches_what_is_missing(pix2pix, cache, ask, monkeypatch):
    import diffusers

    asked: list[tuple[str, object]] = []

    def download(name: str, **options: object) -> None:
        asked.append((name, options))
        into_cache(pix2pix, cache, name)

    monkeypatch.setattr(diffusers.DiffusionPipeline, "download", download)
    one = editor(f"instruct-pix2pix:owner/name,download=true,{QUICK}")
    assert asked == [("owner/name", {"safety_checker": None})]
    assert one.edit(ask()).image.shape == (64, 64, 3)
    editor(f"instruct-pix2pix:owner/name,download=true,{QUICK}")
    assert len(asked) == 1


def test_a_download_that_was_cut_off_is_finished(pix2pix, cache, monkeypatch):
    import diffusers

    snapshot = into_cache(pix2pix, cache, "owner/name")
    shutil.rmtree(snapshot / "vae")
    assert find_system("diffusers:owner/name").system.problems()
    monkeypatch.setattr(
        diffusers.DiffusionPipeline,
        "download",
        lambda name, **_: shutil.copytree(pix2pix / "vae", snapshot / "vae"),
    )
    editor("diffusers:owner/name,download=true")


def test_a_download_that_fails_is_one_line(refused, cache, no_network):
    (line,) = refused("instruct-pix2pix:owner/name,download=true")
    assert "owner/name: could not be downloaded (" in line and "hf download owner/name" in line
    assert no_network


def test_a_lora_and_a_configuration_are_fetched_too(pix2pix, cache, monkeypatch, tmp_path):
    import huggingface_hub

    from tests.ldm_layout import write_single_file

    single = write_single_file(pix2pix, tmp_path / "tiny.safetensors")
    whole = huggingface_hub.snapshot_download

    def fetch(name: str, local_files_only: bool = False, **options: object) -> str:
        if local_files_only:
            return str(whole(name, local_files_only=True))
        assert options == {"allow_patterns": ["*.json", "*.txt", "*.model"]}
        return str(into_cache(pix2pix, cache, name))

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    editor(f"instruct-diffusion:{single},config=owner/config,download=true")
    with pytest.raises(mb.InputError, match="lora"):
        editor(f"instruct-pix2pix:{pix2pix},lora=owner/config,download=true")


def test_a_hub_id_from_the_command_line(pix2pix, tmp_path, small_set):
    """The user's own environment: HF_HUB_CACHE, in a process of its own."""
    into_cache(pix2pix, tmp_path / "hub", "owner/name")
    out = tmp_path / "run"
    words = ["edit", small_set, "--editor", f"instruct-pix2pix:owner/name,{QUICK}", "--out", out]
    words += ["--limit", "1", "--json"]
    environment = os.environ | {"HF_HUB_CACHE": str(tmp_path / "hub"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "medebench", *map(str, words)],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert json.loads(done.stdout)["outputs"] == 1
    assert json.loads((out / "run.json").read_text())["origin"].startswith("owner/name@0123456789a")
