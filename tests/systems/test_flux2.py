"""FLUX.2 as a system: dev and klein, with what they refuse and how other cases are shown."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.systems import find_system
from medebench.systems.diffusion import diffusion_device
from medebench.systems.diffusion.model_frame import frame_for
from medebench.systems.few_shot import shown_text
from tests.conftest import draw
from tests.systems.conftest import editor, pixels
from tests.systems.test_presets import finish, generator, heard, lora_for, showing

pytest.importorskip("diffusers")
__all__ = ("heard", "showing")
QUICK = "steps=2,size=96"


@pytest.fixture
def klein(pipelines):
    return pipelines("flux2_klein")


@pytest.fixture(params=["dev", "klein"])
def call(request, flux2, klein, monkeypatch):
    if request.param == "dev":
        return f"flux2:{flux2},{QUICK}"
    monkeypatch.undo()
    return f"flux2:{klein},{QUICK}"


def test_right_size_same_seed_same_pixels(call, ask):
    one = editor(call)
    first = one.edit(ask(97, 80, seed=5))
    assert first.image.shape == (80, 97, 3) and first.image.dtype == np.uint8
    assert first.detail["frame"]["canvas"] == [104, 88]
    assert np.array_equal(first.image, one.edit(ask(97, 80, seed=5)).image)
    assert not np.array_equal(first.image, one.edit(ask(97, 80, seed=6)).image)
    assert "not supported" in first.detail["attention"]["reason"]


def test_the_instruction_and_the_picture_matter(call, ask):
    one = editor(call)
    plain = one.edit(ask()).image
    assert not np.array_equal(plain, one.edit(ask(prompt="Whiten the teeth.")).image)
    assert not np.array_equal(plain, one.edit(ask(drawn=4)).image)


def test_several_cases_are_its_members_in_order(call, ask):
    requests = [ask(seed=1), ask(97, 80, seed=2, prompt="Whiten the teeth."), ask(seed=3, drawn=7)]
    together = editor(f"{call},batch=3").edit_batch(requests)
    one = editor(call)
    for made, request in zip(together, requests, strict=True):
        assert np.array_equal(made.image, one.edit(request).image)


def test_a_lora_is_in_use(klein, tmp_path, ask):
    from diffusers import Flux2KleinPipeline

    lora = lora_for(klein, tmp_path / "lora")
    call, request = f"flux2:{klein},steps=2,size=64", ask(64, 64, seed=5)
    (plain,), (tuned,) = pixels(call, request), pixels(f"{call},lora={lora}", request)
    assert np.abs(plain.astype(int) - tuned).max() > 0
    pipe = Flux2KleinPipeline.from_pretrained(klein)
    pipe.load_lora_weights(lora)
    by_hand = pipe(
        prompt=request.instruction,
        image=Image.fromarray(request.case.previous.copy()),
        num_inference_steps=2,
        guidance_scale=4.0,
        generator=generator(5),
        output_type="np",
    ).images[0]
    assert np.array_equal(tuned, finish(by_hand, (64, 64)))


def test_it_sees_before_and_after_and_then_the_input(call, showing, heard):
    request = showing((96, 96), (80, 97), width=97, height=80, seed=5)
    one = editor(f"{call},demonstrations=2")
    (made,), seen = heard(one, request)
    sizes = [picture.size for picture in seen["image"]]
    assert sizes == [(96, 96), (96, 96), (88, 104), (88, 104), (104, 88)]
    for picture, seed in zip(seen["image"][:2], (10, 11), strict=True):
        assert np.array_equal(np.asarray(picture), draw(seed, 96, 96))
    assert (seen["width"], seen["height"]) == (104, 88) and seen["prompt"] == shown_text(request)
    assert seen["guidance_scale"] == 4 and made.image.shape == (80, 97, 3)
    assert made.detail["demonstrations"] == ["shown-1", "shown-2"]


def test_pictures_that_the_model_does_not_take_are_refused_alone(call, ask):
    narrow, fine = editor(call).edit_batch([ask(40, 300), ask()])
    assert isinstance(narrow, mb.Refused) and "at least 64px; use a larger size" in str(narrow)
    assert fine.image.shape == (64, 64, 3)


def test_a_model_of_few_steps_ignores_guidance(klein, own_copy, ask):
    folder = own_copy(klein)
    index = json.loads((folder / "model_index.json").read_text())
    (folder / "model_index.json").write_text(json.dumps(index | {"is_distilled": True}))
    with pytest.raises(mb.InputError, match="distilled to few steps ignores it; use guidance=none"):
        editor(f"flux2:{folder},{QUICK}")
    assert editor(f"flux2:{folder},{QUICK},guidance=none").edit(ask()).image.shape == (64, 64, 3)
    for setting in ("image_guidance=2", "true_cfg=2", "negative_prompt=blur"):
        with pytest.raises(mb.InputError, match="has no such setting"):
            editor(f"flux2:{klein},{QUICK},{setting}")


def test_the_processor_of_dev_wants_torchvision(pipelines, klein, monkeypatch):
    monkeypatch.setattr(diffusion_device, "is_installed", lambda name: name != "torchvision")
    (problem,) = find_system(f"flux2:{pipelines('flux2')},{QUICK}").system.problems()
    assert problem.endswith("its processor needs torchvision; pip install torchvision")
    assert find_system(f"flux2:{klein},{QUICK}").system.problems() == []


def test_a_canvas_does_not_outgrow_what_the_pipeline_leaves_alone():
    picture = draw(1, 750, 1000)
    assert frame_for(picture, 1024, 16, "aspect").canvas == (1184, 880)
    assert frame_for(picture, 1024, 16, "aspect", 1024**2).canvas == (1184, 880)
    wide = draw(1, 700, 1000)
    assert np.prod(frame_for(wide, 1024, 16, "aspect").canvas) > 1024**2
    assert frame_for(wide, 1024, 16, "aspect", 1024**2).canvas == (1216, 848)
    # Who asks for more gets it.
    assert np.prod(frame_for(wide, 2048, 16, "aspect", 1024**2).canvas) > 2000**2
