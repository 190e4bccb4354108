"""Runs with a diffusion model: what is stored, what goes on, what one bad case spoils."""

from __future__ import annotations

import functools
import json

import numpy as np
import polars as pl
import pytest
from PIL import Image

import medebench as mb
from medebench.grounding.attention_files import read_map
from medebench.images.picture import encode_png
from medebench.systems import find_system
from tests.conftest import draw
from tests.systems.conftest import QUICK

pytest.importorskip("diffusers")


def rows(run):
    with run.ledger() as ledger:
        return {case_id: row for (case_id, _), row in ledger.outputs().items()}


@pytest.fixture
def calls(monkeypatch):
    """How many prompts each call of a pipeline had."""
    import diffusers

    kind, sizes = diffusers.StableDiffusionInstructPix2PixPipeline, []
    whole = kind.__call__

    @functools.wraps(whole)
    def watch(self, **given):
        sizes.append(len(given["prompt"]))
        return whole(self, **given)

    monkeypatch.setattr(kind, "__call__", watch)
    return sizes


def test_pictures_maps_and_what_is_told_of_them(small_set, tmp_path, pix2pix):
    call = f"instruct-pix2pix:{pix2pix},{QUICK},batch=3"
    run = mb.edit(small_set, call, out=tmp_path / "run", outputs=2)
    names = [f"{case}_{k}.png" for case in (1, 2, 3, 4) for k in (0, 1)]
    assert sorted(path.name for path in run.edits.iterdir()) == names
    assert sorted(path.name for path in (run.path / "attention").iterdir()) == names
    assert read_map(run.attention_path("1", 0), 48, 64).max() > 0.9
    with Image.open(run.output_path("1", 0)) as picture:
        assert picture.size == (64, 48)
    told = rows(run)["1"].detail
    assert told["frame"] == {"canvas": [72, 56], "framing": "aspect", "resized": "lanczos"}
    assert told["attention"]["concept"] == "mole number 1" and told["attention"]["steps"] == 2
    info = json.loads((run.path / "run.json").read_text())
    assert info["settings"]["guidance"] == 7.5 and info["origin"].startswith("sha256 ")
    assert info["how"] == {"batch": 3, "offload": "none", "download": False}
    mb.score(run, ["cp"])
    assert run.frame()["value"].null_count() == 0


def test_without_attention_there_is_no_map(small_set, tmp_path, pix2pix):
    runs = [
        mb.edit(small_set, f"instruct-pix2pix:{pix2pix},{QUICK}{more}", out=tmp_path / name)
        for name, more in (("with", ""), ("without", ",attention=false"))
    ]
    assert not (runs[1].path / "attention").exists()
    for name in ("1_0.png", "4_0.png"):
        assert len({(run.edits / name).read_bytes() for run in runs}) == 1


def test_an_interrupted_run_goes_on_with_the_rest(small_set, tmp_path, pix2pix, calls):
    call = f"instruct-pix2pix:{pix2pix},{QUICK}"

    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mb.edit(small_set, call, out=tmp_path / "run", progress=stop)
    assert calls == [1, 1, 1]
    # How the work is done may change; what comes out may not.
    run = mb.edit(small_set, f"{call},batch=4", out=tmp_path / "run")
    assert calls == [1, 1, 1, 1] and len(rows(run)) == 4
    whole = mb.edit(small_set, call, out=tmp_path / "whole")
    for path in run.edits.iterdir():
        assert path.read_bytes() == (whole.edits / path.name).read_bytes()
    with pytest.raises(mb.InputError, match="holds another run \\(settings"):
        mb.edit(small_set, f"{call},guidance=3", out=tmp_path / "run")


def test_finished_runs_do_not_load_the_model_again(small_set, tmp_path, pix2pix, monkeypatch):
    call = f"instruct-pix2pix:{pix2pix},{QUICK}"
    mb.edit(small_set, call, out=tmp_path / "run")
    monkeypatch.setattr("medebench.systems.diffusion.pipeline_loader.load", None)
    mb.edit(small_set, call, out=tmp_path / "run")


def test_other_weights_are_another_run(small_set, tmp_path, pix2pix, own_copy):
    folder = own_copy(pix2pix)
    call = f"instruct-pix2pix:{folder},{QUICK}"
    mb.edit(small_set, call, out=tmp_path / "run")
    path = folder / "unet" / "diffusion_pytorch_model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\1")
    with pytest.raises(mb.InputError, match="holds another run \\(origin"):
        mb.edit(small_set, call, out=tmp_path / "run")


def test_a_damaged_picture_spoils_no_other_of_its_batch(small_set, tmp_path, pix2pix, calls):
    path = small_set / "editing/previous/2.png"
    path.write_bytes(path.read_bytes()[:200])
    call = f"instruct-pix2pix:{pix2pix},{QUICK},batch=4"
    run = mb.edit(small_set, call, out=tmp_path / "run")
    reasons = {case_id: row.reason for case_id, row in rows(run).items()}
    assert "2.png: damaged or truncated" in reasons.pop("2")
    assert set(reasons.values()) == {None} and calls == [3]


def test_a_batch_that_raises_is_done_one_by_one(small_set, tmp_path, pix2pix, monkeypatch):
    import diffusers

    kind = diffusers.StableDiffusionInstructPix2PixPipeline
    whole = kind.__call__

    @functools.wraps(whole)
    def picky(self, **given):
        if any("number 3" in prompt for prompt in given["prompt"]):
            raise ZeroDivisionError("oh dear")
        return whole(self, **given)

    monkeypatch.setattr(kind, "__call__", picky)
    call = f"instruct-pix2pix:{pix2pix},{QUICK},batch=4"
    reasons = {
        case_id: row.reason
        for case_id, row in rows(mb.edit(small_set, call, out=tmp_path / "run")).items()
    }
    assert reasons == {"1": None, "2": None, "3": "ZeroDivisionError: oh dear", "4": None}


@pytest.mark.parametrize("words", ["CUDA out of memory.", "DefaultCPUAllocator: can't allocate"])
def test_a_batch_that_does_not_fit_is_done_one_by_one(
    small_set, tmp_path, pix2pix, monkeypatch, words
):
    import diffusers

    kind = diffusers.StableDiffusionInstructPix2PixPipeline
    whole, most = kind.__call__, 1

    @functools.wraps(whole)
    def narrow(self, **given):
        if len(given["prompt"]) > most:
            raise RuntimeError(f"{words} can't allocate memory: you tried to allocate 9 bytes")
        return whole(self, **given)

    monkeypatch.setattr(kind, "__call__", narrow)
    call = f"instruct-pix2pix:{pix2pix},{QUICK},batch=4"
    run = mb.edit(small_set, call, out=tmp_path / "run")
    assert {row.reason for row in rows(run).values()} == {None}
    most = 0
    run = mb.edit(small_set, call, out=tmp_path / "other")
    assert all("out of memory; lower size" in row.reason for row in rows(run).values())


def test_deep_pictures(make_set, tmp_path, pix2pix):
    cases = make_set(2)
    for number in (1, 2):
        deep = draw(number).astype(np.uint16) * 257
        (cases / f"editing/previous/{number}.png").write_bytes(encode_png(deep))
    run = mb.edit(cases, f"instruct-pix2pix:{pix2pix},{QUICK}", out=tmp_path / "run")
    assert rows(run)["1"].detail["frame"]["depth"] == "8 of 16 bits"
    shallow = mb.edit(
        make_set(2, "shallow"), f"instruct-pix2pix:{pix2pix},{QUICK}", out=tmp_path / "other"
    )
    for name in ("1_0.png", "2_0.png"):
        assert (run.edits / name).read_bytes() == (shallow.edits / name).read_bytes()
    mb.score(run, ["cp", "psnr"])
    assert run.frame().filter(pl.col("value").is_null()).height == 0


def test_transformers_run_too(small_set, tmp_path, kontext):
    run = mb.edit(small_set, f"diffusers:{kontext},{QUICK},batch=2", out=tmp_path / "run")
    assert {row.reason for row in rows(run).values()} == {None}
    assert len(list((run.path / "attention").iterdir())) == 4


def test_the_built_in_model_is_one_of_the_family(small_set, tmp_path):
    chosen = find_system("phantom-editor")
    if chosen.system.problems():
        pytest.skip("the built-in model is not part of this checkout (git lfs pull, or clone anew)")
    run = mb.edit(small_set, "phantom-editor:steps=2,size=64", out=tmp_path / "run")
    assert {row.reason for row in rows(run).values()} == {None}
