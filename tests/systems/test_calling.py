"""Settings reach the pipeline; one that it would ignore is one clear line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import medebench as mb
from medebench.systems import find_system
from tests.systems.conftest import QUICK, editor, pixels, same_image

pytest.importorskip("diffusers")


@pytest.fixture
def heard(monkeypatch):
    """Edit, and see what the pipeline was called with."""

    def listen(call: str, *requests: mb.Request) -> dict[str, Any]:
        one = editor(call)
        kind, seen = type(one._loaded.pipe), {}
        whole = kind.__call__

        def watch(self: Any, **given: Any) -> Any:
            seen.update(given, scheduler=type(self.scheduler).__name__)
            return whole(self, **given)

        with monkeypatch.context() as patch:
            patch.setattr(kind, "__call__", watch)
            one.edit_batch(requests)
        return seen

    return listen


def test_the_papers_settings_are_passed_on(pix2pix, ask, heard):
    seen = heard(f"instruct-pix2pix:{pix2pix},{QUICK}", ask())
    assert (seen["guidance_scale"], seen["image_guidance_scale"]) == (7.5, 1.6)
    assert seen["num_inference_steps"] == 2 and "negative_prompt" not in seen
    assert seen["scheduler"] == "EulerAncestralDiscreteScheduler"
    seen = heard(f"paint-by-inpaint:{pix2pix},{QUICK}", ask())
    assert (seen["guidance_scale"], seen["image_guidance_scale"]) == (7.0, 1.7)
    defaults = find_system("instruct-diffusion:x.ckpt").settings
    assert (defaults["guidance"], defaults["image_guidance"]) == (5.0, 1.25)
    assert defaults["steps"] == find_system("paint-by-inpaint").settings["steps"] == 50


def test_all_that_can_be_set_is_passed_on(pix2pix, ask, heard):
    call = f"instruct-pix2pix:{pix2pix},steps=3,size=96,guidance=4,image_guidance=1.2,"
    call += "negative_prompt=ugly,scheduler=ddim,batch=2"
    seen = heard(call, ask(seed=8), ask(seed=9, prompt="Whiten the teeth."))
    assert seen["num_inference_steps"] == 3 and seen["scheduler"] == "DDIMScheduler"
    assert (seen["guidance_scale"], seen["image_guidance_scale"]) == (4.0, 1.2)
    assert seen["negative_prompt"] == ["ugly", "ugly"]
    assert [one.size for one in seen["image"]] == [(96, 96), (96, 96)]
    assert seen["prompt"] == ["Remove the scar.", "Whiten the teeth."]
    assert [one.initial_seed() for one in seen["generator"]] == [8, 9]


@pytest.mark.parametrize(
    "setting",
    [
        "scheduler=euler",
        "scheduler=dpm++",
        "steps=3",
        "guidance=3",
        "image_guidance=3",
        "negative_prompt=nose",
        "tiling=true",
        "framing=stretch",
    ],
)
def test_each_setting_matters(pix2pix, ask, setting):
    call = f"instruct-pix2pix:{pix2pix},size=64"
    steps = "" if setting.startswith("steps") else ",steps=2"
    (plain,) = pixels(f"{call},steps=2", ask(97, 61))
    (changed,) = pixels(f"{call}{steps},{setting}", ask(97, 61))
    assert np.abs(plain.astype(int) - changed).max() > 0


def test_slices_change_nothing(pix2pix, kontext, ask):
    for folder in (pix2pix, kontext):
        call = f"diffusers:{folder},{QUICK},batch=2"
        requests = [ask(seed=1), ask(seed=2)]
        pairs = zip(pixels(call, *requests), pixels(f"{call},slicing=true", *requests), strict=True)
        for plain, sliced in pairs:
            assert same_image(plain, sliced)


def test_the_canvas_is_ours_with_kontext(kontext, ask, heard):
    seen = heard(f"diffusers:{kontext},{QUICK}", ask(97, 61))
    assert (seen["width"], seen["height"], seen["max_area"]) == (80, 48, 80 * 48)
    assert seen["_auto_resize"] is False and "guidance_scale" not in seen
    assert seen["image"][0].size == (80, 48)
    seen = heard(f"diffusers:{kontext},{QUICK},guidance=2.5", ask())
    assert seen["guidance_scale"] == 2.5


def test_the_second_weight_brings_a_blank_negative_prompt(kontext, qwen, ask, heard, monkeypatch):
    seen = heard(f"diffusers:{qwen},{QUICK}", ask())
    assert seen["negative_prompt"] == " " and "true_cfg_scale" not in seen
    assert isinstance(seen["prompt"], str) and seen["image"].size == (64, 64)
    seen = heard(f"diffusers:{qwen},{QUICK},true_cfg=1", ask())
    assert seen["true_cfg_scale"] == 1 and "negative_prompt" not in seen
    monkeypatch.undo()
    seen = heard(f"diffusers:{kontext},{QUICK},true_cfg=2,negative_prompt=nose", ask())
    assert seen["true_cfg_scale"] == 2 and seen["negative_prompt"] == ["nose"]
    assert "negative_prompt" not in heard(f"diffusers:{kontext},{QUICK}", ask())


PIX2PIX = {
    "true_cfg=2": "true_cfg: StableDiffusionInstructPix2PixPipeline has no such setting",
    "image_guidance=0.5": "image_guidance=0.5: below 1 this pipeline drops guidance too",
    "guidance=1": "guidance=1: up to 1 this pipeline drops image_guidance=1.6 too",
    "guidance=1,image_guidance=1,negative_prompt=x": "negative_prompt: has no effect without",
    "safety_checker=true": "comes without one",
}
KONTEXT = {
    "image_guidance=2": "image_guidance: FluxKontextPipeline has no such setting; leave it out",
    "negative_prompt=x": "negative_prompt: has no effect without true_cfg above 1",
    "scheduler=ddim": "scheduler=ddim: FluxKontextPipeline works with its own only",
}


@pytest.mark.parametrize("setting", [*PIX2PIX, *KONTEXT])
def test_what_would_be_ignored_is_refused(setting, pix2pix, kontext):
    call = f"instruct-pix2pix:{pix2pix}" if setting in PIX2PIX else f"diffusers:{kontext}"
    with pytest.raises(mb.InputError) as raised:
        editor(f"{call},{setting}")
    assert (PIX2PIX | KONTEXT)[setting] in str(raised.value) and "\n" not in str(raised.value)


def test_a_weight_that_qwen_does_not_know(qwen):
    with pytest.raises(mb.InputError, match="guidance: this model does not know it; use true_cfg"):
        editor(f"diffusers:{qwen},guidance=2")


def test_none_goes_back_to_the_pipelines_own(pix2pix, ask, heard):
    call = f"instruct-pix2pix:{pix2pix},steps=1,guidance=none,image_guidance=None,size=none"
    seen = heard(call, ask())
    assert "guidance_scale" not in seen and "image_guidance_scale" not in seen
    assert seen["image"][0].size == (64, 64)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("steps=0", "steps"),
        ("guidance=-1", "guidance"),
        ("size=3", "size"),
        ("batch=0", "batch"),
        ("device=tpu", "device"),
        ("colour=red", "no setting 'colour'"),
        ("model=", "model"),
    ],
)
def test_wrong_values_are_named(setting, words):
    with pytest.raises(mb.InputError, match=words):
        find_system(f"instruct-pix2pix:{setting}")


def test_a_model_must_be_named():
    for name in ("diffusers", "instruct-diffusion"):
        with pytest.raises(mb.InputError, match=f"editor '{name}': name a model, such as"):
            find_system(name)
