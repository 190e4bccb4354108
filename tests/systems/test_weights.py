"""Weights on disk: what is missing or damaged is seen without reading them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from medebench.systems.diffusion.pipeline_lookup import find_configuration, find_lora, find_weights
from medebench.systems.diffusion.pipeline_weights import INDEX, Weights
from medebench.weights import Absent
from tests.systems.conftest import COMMIT, into_cache

PARTS: dict[str, Any] = {
    "_class_name": "SomePipeline",
    "_diffusers_version": "0.36.0",
    "unet": ["diffusers", "UNet2DConditionModel"],
    "scheduler": ["diffusers", "DDIMScheduler"],
    "tokenizer": ["transformers", "CLIPTokenizer"],
    "image_encoder": [None, None],
    "requires_safety_checker": True,
    "sizes": [64, 64],
}


def store(path: Path, count: int, dtype: str = "F32", each: int = 4) -> Path:
    """A file of `count` zeros in the safetensors format."""
    entry = {"dtype": dtype, "shape": [count], "data_offsets": [0, count * each]}
    header = json.dumps({"__metadata__": {"format": "pt"}, "x": entry}).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(count * each))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    store(folder / "unet" / "diffusion_pytorch_model.safetensors", 1000)
    for part in ("scheduler", "tokenizer"):
        (folder / part).mkdir()
        (folder / part / f"{part}_config.json").write_text("{}")
    (folder / INDEX).write_text(json.dumps(PARTS))
    return folder


def problem(model: str | Path, leave_out: tuple[str, ...] = ()) -> str:
    found = find_weights(str(model), leave_out)
    assert isinstance(found, Absent), found
    assert "\n" not in found.problem
    return found.problem


def found(model: str | Path, leave_out: tuple[str, ...] = ()) -> Weights:
    weights = find_weights(str(model), leave_out)
    assert isinstance(weights, Weights), weights
    return weights


def test_parts_are_what_has_a_folder(folder):
    assert list(found(folder).parts) == ["unet", "scheduler", "tokenizer"]
    assert found(folder).bytes_by_part(4) == {"unet": 4000}
    assert found(folder).bytes_by_part(2) == {"unet": 2000}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (INDEX, "", f"{INDEX} is damaged"),
        (INDEX, "[1, 2]", f"{INDEX} is damaged"),
        (INDEX, '{"unet": 3}', f"{INDEX} is damaged"),
        (INDEX, "{", f"{INDEX} is damaged"),
        (INDEX, None, f"has no {INDEX}; name the folder that save_pretrained"),
        ("scheduler/scheduler_config.json", None, "the part scheduler is missing"),
        ("unet/diffusion_pytorch_model.safetensors", None, "the part unet is missing"),
        ("unet/diffusion_pytorch_model.safetensors", "", "is empty; copy the model again"),
        ("unet/diffusion_pytorch_model.safetensors", "no weights", "is damaged"),
        ("unet/diffusion_pytorch_model.safetensors", 700, "is cut off; copy the model again"),
        ("unet/diffusion_pytorch_model.safetensors", 60, "is damaged"),
    ],
)
def test_what_is_wrong_is_said(folder, name, content, words):
    path = folder / name
    if content is None:
        path.unlink()
    elif isinstance(content, int):
        path.write_bytes(path.read_bytes()[:content])
    else:
        path.write_text(content)
    assert words in problem(folder) and str(folder) in problem(folder)


def test_a_part_without_weights_is_missing(folder):
    (folder / "unet" / "config.json").write_text("{}")
    (folder / "unet" / "diffusion_pytorch_model.safetensors").unlink()
    assert "the part unet has no weights" in problem(folder)


def test_the_safety_checker_may_be_missing_unless_it_is_wanted(folder):
    checker = ["stable_diffusion", "StableDiffusionSafetyChecker"]
    (folder / INDEX).write_text(json.dumps(PARTS | {"safety_checker": checker}))
    assert "the part safety_checker is missing" in problem(folder)
    assert "safety_checker" not in found(folder, ("safety_checker",)).parts


def test_weights_in_pieces_are_added_up_and_none_may_be_missing(folder):
    unet = folder / "unet"
    (unet / "diffusion_pytorch_model.safetensors").unlink()
    names = [f"diffusion_pytorch_model-0000{n}-of-00002.safetensors" for n in (1, 2)]
    for name in names:
        store(unet / name, 500)
    pieces = {"weight_map": {"a": names[0], "b": names[1], "c": names[0]}}
    index = unet / "diffusion_pytorch_model.safetensors.index.json"
    index.write_text(json.dumps(pieces))
    assert found(folder).bytes_by_part(4) == {"unet": 4000}
    (unet / names[1]).unlink()
    assert f"{names[1]} is missing" in problem(folder)
    index.write_text("{}")
    assert "the part unet has a damaged index" in problem(folder)


def test_what_is_there_twice_counts_once(folder):
    for other in ("fp16.safetensors", "non_ema.safetensors"):
        store(folder / "unet" / f"diffusion_pytorch_model.{other}", 1000, "F16", 2)
    (folder / "unet" / "diffusion_pytorch_model.bin").write_bytes(bytes(9999))
    assert found(folder).bytes_by_part(4) == {"unet": 4000}
    assert found(folder).variant is None


def test_half_precision_alone_is_found(folder):
    (folder / "unet" / "diffusion_pytorch_model.safetensors").unlink()
    store(folder / "unet" / "diffusion_pytorch_model.fp16.safetensors", 1000, "F16", 2)
    weights = found(folder)
    assert weights.variant == "fp16"
    assert weights.bytes_by_part(4) == {"unet": 4000} and weights.bytes_by_part(2)["unet"] == 2000


def test_identity_is_the_content_and_nothing_else(folder, tmp_path):
    before = found(folder).identity()
    (folder / "README.md").write_text("hello")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "lock").write_text("x")
    assert found(folder).identity() == before
    path = folder / "unet" / "diffusion_pytorch_model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\1")
    assert found(folder).identity() != before


def test_large_weights_are_told_apart_by_their_headers(folder, monkeypatch):
    monkeypatch.setattr("medebench.weights.identity_hash.HASHED_WHOLE", 10)
    before = found(folder).identity()
    assert before.startswith("sha256 of names and headers ")
    store(folder / "unet" / "diffusion_pytorch_model.safetensors", 1000, "I32")
    assert found(folder).identity() != before


def test_a_hub_id_is_its_commit(folder, cache, no_network):
    into_cache(folder, cache, "owner/name")
    weights = found("owner/name")
    assert weights.identity() == f"owner/name@{COMMIT[:12]}"
    assert no_network == []


def test_a_hub_id_that_is_not_here(cache, no_network):
    said = problem("owner/name")
    assert "not on this machine; get them with 'medebench weights get owner/name'" in said
    assert "download=true" in said and no_network == [] and list(cache.iterdir()) == []


def test_a_download_that_was_cut_off(folder, cache, no_network):
    snapshot = into_cache(folder, cache, "owner/name")
    (snapshot / "unet" / "diffusion_pytorch_model.safetensors").unlink()
    (snapshot / "unet" / "diffusion_pytorch_model.safetensors").symlink_to("nowhere")
    said = problem("owner/name")
    assert "diffusion_pytorch_model.safetensors is missing in the hub's cache" in said
    assert "finish the download with 'medebench weights get owner/name'" in said
    assert no_network == []


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("no/such/folder", "no such folder or file, and not a hub id"),
        ("name", "no such folder or file"),
        ("a b/c", "no such folder or file"),
    ],
)
def test_names_that_mean_nothing(model, words, cache):
    assert words in problem(model)


def test_single_files(tmp_path):
    whole = store(tmp_path / "model.safetensors", 1000)
    weights = found(whole)
    assert weights.single and weights.parts == {} and weights.bytes_by_part(2) == {"weights": 2000}
    assert weights.identity().startswith("sha256 ")
    whole.write_bytes(whole.read_bytes()[:500])
    assert "is cut off" in problem(whole)
    (tmp_path / "notes.txt").write_text("x")
    assert "not a file of weights" in problem(tmp_path / "notes.txt")


def test_a_configuration_needs_no_weights(folder, cache, no_network):
    (folder / "unet" / "diffusion_pytorch_model.safetensors").unlink()
    assert find_configuration(str(folder)) == folder
    snapshot = into_cache(folder, cache, "owner/name")
    assert find_configuration("owner/name") == snapshot
    absent = find_configuration("owner/other")
    assert isinstance(absent, Absent) and "hf download owner/other --include" in absent.problem
    assert isinstance(find_configuration(str(folder / "unet")), Absent) and no_network == []


def test_a_lora_is_a_file_a_folder_or_a_hub_id(folder, cache):
    path = folder / "unet" / "diffusion_pytorch_model.safetensors"
    assert find_lora(str(path)) == path and find_lora(str(path.parent)) == path.parent
    snapshot = into_cache(folder, cache, "owner/lora")
    assert find_lora("owner/lora") == snapshot
    for name in ("owner/other", "nothing"):
        absent = find_lora(name)
        assert isinstance(absent, Absent) and absent.problem.startswith(f"lora={name}: ")


def test_a_folder_of_weights_comes_before_the_hubs_cache(folder, cache, tmp_path, monkeypatch):
    snapshot = into_cache(folder, cache, "owner/name")
    assert found("owner/name").path == snapshot and find_lora("owner/name") == snapshot
    carried = tmp_path / "carried"
    shutil.copytree(folder, carried / "owner--name")
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(carried))
    assert found("owner/name").path == carried / "owner--name"
    assert find_lora("owner/name") == find_configuration("owner/name") == carried / "owner--name"
    assert found("owner/name").identity() == found(folder).identity()
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(tmp_path / "typo"))
    assert "$MEDEBENCH_WEIGHTS names" in problem("owner/name")
    lora = find_lora("owner/name")
    assert isinstance(lora, Absent) and "lora=owner/name: $MEDEBENCH_WEIGHTS" in lora.problem
