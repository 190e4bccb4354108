"""ICEdit: the diptych that goes in, the half that comes back, the text and the LoRA."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.cases.case import Case
from medebench.images.picture import encode_png
from medebench.systems import find_system
from medebench.systems.diffusion.icedit import Diptych
from tests.conftest import draw
from tests.systems.conftest import QUICK, editor, into_cache, pixels, same_image

pytest.importorskip("diffusers")

LANCZOS = Image.Resampling.LANCZOS
BASE = "black-forest-labs/FLUX.1-Fill-dev"
LORA = "RiverZ/normal-lora"


@pytest.fixture
def fill(pipelines):
    return pipelines("flux_fill")


@pytest.fixture
def lora(fill, tmp_path):
    from tests.tiny_pipelines import tiny_lora

    return tiny_lora(fill, tmp_path / "lora")


@pytest.fixture
def call(fill):
    """ICEdit without its LoRA, which is as large as a model."""
    return f"icedit:{fill},{QUICK},lora="


ready = functools.cache(editor)


def open_fill(folder: Path, lora: Path | None = None) -> Any:
    from diffusers import FluxFillPipeline

    from medebench.quiet import quiet

    with quiet("diffusers", "transformers"):
        pipe = FluxFillPipeline.from_pretrained(folder)
        if lora is not None:
            pipe.load_lora_weights(lora)
    pipe.set_progress_bar_config(disable=True)
    return pipe


def arguments(
    request: mb.Request, canvas: tuple[int, int], text: str, right: int = 0
) -> dict[str, Any]:
    """A call of FLUX Fill, put together by hand."""
    import torch

    width, height = canvas
    whole = np.full((height, 2 * width, 3), right, np.uint8)
    picture = Image.fromarray(np.ascontiguousarray(request.case.previous))
    whole[:, :width] = np.asarray(picture.resize(canvas, LANCZOS))
    mask = np.zeros((height, 2 * width), np.uint8)
    mask[:, width:] = 255
    return {
        "prompt": text,
        "image": Image.fromarray(whole),
        "mask_image": Image.fromarray(mask),
        "width": 2 * width,
        "height": height,
        "num_inference_steps": 2,
        "guidance_scale": 50.0,
        "generator": torch.Generator("cpu").manual_seed(request.seed),
        "output_type": "np",
    }


def right_half(values: np.ndarray, own: tuple[int, int]) -> np.ndarray:
    width = values.shape[1] // 2
    half = Image.fromarray(np.round(values[:, width:] * 255).astype(np.uint8))
    return np.asarray(half.resize(own, LANCZOS))


def told(call: str, request: mb.Request) -> str:
    wording = find_system(call).settings["wording"]
    before, _, after = wording.partition("{instruction}")
    return f"{before}{request.instruction}{after}"


@pytest.fixture
def answer(monkeypatch):
    """Let FLUX Fill answer with a given picture; what it was asked is in the list."""

    def put(values: np.ndarray) -> list[dict[str, Any]]:
        from diffusers import FluxFillPipeline
        from diffusers.pipelines.flux.pipeline_output import FluxPipelineOutput

        asked: list[dict[str, Any]] = []

        def reply(
            self: Any,
            prompt: Any = None,
            image: Any = None,
            mask_image: Any = None,
            width: Any = None,
            height: Any = None,
            guidance_scale: float = 30.0,
            **more: Any,
        ) -> Any:
            asked.append({"prompt": prompt, "image": image, "mask": mask_image, **more})
            asked[-1] |= {"guidance": guidance_scale, "size": (width, height)}
            return FluxPipelineOutput(images=values[None])

        monkeypatch.setattr(FluxFillPipeline, "__call__", reply)
        return asked

    return put


def test_the_papers_settings_are_the_defaults():
    settings = find_system("icedit").settings
    assert (settings["model"], settings["lora"]) == (BASE, LORA)
    assert (settings["steps"], settings["guidance"]) == (28, 50)
    assert (settings["size"], settings["framing"]) == (512, "aspect")


def test_the_input_is_the_left_half_and_the_right_is_to_be_filled(call, ask, answer):
    asked = answer(np.zeros((64, 128, 3)))
    request = ask(64, 64, seed=5)
    ready(f"{call},attention=false").edit(request)
    (given,) = asked
    (picture,), (mask,) = given["image"], given["mask"]
    assert picture.size == mask.size == given["size"] == (128, 64)
    assert np.array_equal(np.asarray(picture)[:, :64], request.case.previous)
    assert mask.mode == "L" and np.array_equal(np.unique(mask), [0, 255])
    assert not np.asarray(mask)[:, :64].any() and (np.asarray(mask)[:, 64:] == 255).all()
    assert given["prompt"] == [told(call, request)] and request.instruction in given["prompt"][0]
    assert (given["guidance"], given["num_inference_steps"]) == (50, 2)
    assert given["generator"][0].initial_seed() == 5


def test_the_right_half_of_the_answer_comes_back_to_the_pixel(call, ask, answer):
    values = draw(9, 64, 128) / 255
    answer(values)
    made = ready(f"{call},attention=false").edit(ask())
    assert np.array_equal(made.image, draw(9, 64, 128)[:, 64:])
    assert made.detail["frame"] == {"canvas": [64, 64], "resized": "no", "diptych": [128, 64]}


@pytest.mark.parametrize("size", [(97, 61), (61, 97), (40, 300), (7, 7), (333, 250)])
def test_nothing_of_the_left_half_gets_into_the_edit(size, call, ask, answer):
    one = ready(f"{call},attention=false")
    width, height = one._frame(ask(*size)).canvas
    assert width % 8 == height % 8 == 0
    values = np.zeros((height, 2 * width, 3))
    values[:, width:] = 200 / 255
    answer(values)
    made = one.edit(ask(*size))
    assert made.image.shape == (size[1], size[0], 3) and (made.image == 200).all()


def test_an_answer_of_another_size_is_no_diptych(call, ask, answer):
    answer(np.zeros((64, 64, 3)))
    with pytest.raises(mb.Refused, match="returned no diptych: 64 x 64"):
        ready(f"{call},attention=false").edit(ask())


@pytest.mark.parametrize(
    ("size", "canvas"), [((64, 64), (64, 64)), ((97, 61), (80, 48)), ((61, 97), (48, 80))]
)
def test_it_is_flux_fill_called_by_hand(size, canvas, fill, call, ask):
    request = ask(*size, seed=5)
    made = ready(call).edit(request)
    assert made.detail["frame"]["canvas"] == list(canvas)
    pipe = open_fill(fill)
    for right in (0, 255):
        by_hand = pipe(**arguments(request, canvas, told(call, request), right)).images[0]
        assert np.array_equal(made.image, right_half(by_hand, size))


def test_a_lora_is_in_use(fill, lora, call, ask):
    request = ask(97, 61)
    plain, (tuned,) = ready(call).edit(request).image, pixels(f"{call}{lora}", request)
    assert np.abs(plain.astype(int) - tuned).max() > 0
    pipe = open_fill(fill, lora)
    by_hand = pipe(**arguments(request, (80, 48), told(call, request))).images[0]
    assert np.array_equal(tuned, right_half(by_hand, (97, 61)))


def test_a_lora_for_another_architecture_is_one_line(call, pix2pix, tmp_path):
    from tests.tiny_pipelines import tiny_lora

    other = tiny_lora(pix2pix, tmp_path / "other")
    with pytest.raises(mb.InputError, match=r"lora=.*(fits no layer|does not load into)") as raised:
        editor(f"{call}{other}")
    assert "\n" not in str(raised.value)


def test_a_lora_that_fits_in_part_is_refused(call, pipelines, lora, tmp_path):
    """FLUX and Qwen have layers of the same names; a mixture of experts has names of its own."""
    from safetensors.torch import load_file, save_file

    from tests.tiny_pipelines import tiny_lora

    other = tiny_lora(pipelines("qwen_edit"), tmp_path / "qwen", ("to_q", "img_mlp.net.2"))
    with pytest.raises(mb.InputError, match="4 of its 8 weights fit nothing in this model"):
        editor(f"{call}{other}")
    experts = tmp_path / "experts.safetensors"
    weights = load_file(next(lora.iterdir()))
    save_file({key.replace(".weight", ".0.weight"): one for key, one in weights.items()}, experts)
    with pytest.raises(mb.InputError, match="weights fit nothing in this model"):
        editor(f"{call}{experts}")


def test_model_and_lora_come_from_the_hubs_cache(fill, lora, call, cache, ask, no_network):
    lacking = find_system("icedit").system.problems()
    for name, said in zip((BASE, LORA), lacking, strict=True):
        assert f"medebench weights get {name}" in said
    into_cache(fill, cache, BASE)
    into_cache(lora, cache, LORA)
    (cached,), (local,) = pixels(f"icedit:{QUICK}", ask()), pixels(f"{call}{lora}", ask())
    assert np.array_equal(cached, local) and no_network == []


def test_seeds_and_instructions_matter(call, ask):
    one = ready(call)
    plain = one.edit(ask(seed=1)).image
    assert np.array_equal(plain, one.edit(ask(seed=1)).image)
    assert not np.array_equal(plain, one.edit(ask(seed=2)).image)
    assert not np.array_equal(plain, one.edit(ask(prompt="Whiten the teeth.")).image)
    assert not np.array_equal(plain, one.edit(ask(drawn=4)).image)


def test_a_batch_of_mixed_sizes_is_its_members_in_order(call, ask):
    requests = [
        ask(64, 64, seed=1),
        ask(97, 61, seed=2, prompt="Whiten the teeth."),
        ask(64, 64, seed=3, drawn=7, prompt="Make the waist narrower."),
        ask(97, 61, seed=4),
        ask(64, 64, seed=5),
    ]
    one = editor(f"{call},batch=3")
    for made, request in zip(one.edit_batch(requests), requests, strict=True):
        alone = one.edit(request)
        assert made.image.shape == request.case.previous.shape
        assert same_image(made.image, alone.image)
        assert made.detail == alone.detail
        np.testing.assert_allclose(made.attention, alone.attention, atol=5e-3)
    narrow, fine = one.edit_batch([ask(4, 300), ask()])
    assert isinstance(narrow, mb.Refused) and "4 x 300 is too narrow" in str(narrow)
    assert fine.image.shape == (64, 64, 3)


def test_sixteen_bits(call, ask, tmp_path):
    shallow = ask(64, 48)
    path = tmp_path / "deep.png"
    path.write_bytes(encode_png(shallow.case.previous.astype(np.uint16) * 257))
    deep = mb.Request(mb.open_case(Case("deep", path, shallow.instruction)), 0, shallow.seed)
    one = ready(call)
    made = one.edit(deep)
    assert made.detail["frame"]["depth"] == "8 of 16 bits"
    assert np.array_equal(made.image, one.edit(shallow).image)


def attention_by_hand(folder: Path, request: mb.Request, text: str, last: int) -> np.ndarray:
    """The map of the token that holds character `last` of the text, read off a call by hand."""
    import cv2

    from medebench.grounding.attention_recorder import record

    pipe = open_fill(folder)
    spans = pipe.tokenizer_2(text, return_offsets_mapping=True)["offset_mapping"]
    (place,) = [place for place, (begin, end) in enumerate(spans) if begin <= last < end]
    with record(pipe, [place]) as recorder:
        pipe(**arguments(request, (80, 48), text))
    half = recorder.maps(48, 160)[0].map[:, 80:]
    half = (half - half.min()) / np.ptp(half)
    return cv2.resize(half, (97, 61), interpolation=cv2.INTER_LINEAR)


def test_attention_is_the_right_halfs_and_changes_no_pixel(fill, call, ask):
    request = ask(97, 61)
    seen = ready(call).edit(request)
    assert seen.attention.shape == (61, 97)
    assert seen.detail["attention"]["concept"] == "scar" and seen.detail["attention"]["steps"] == 2
    text = told(call, request)
    wanted = attention_by_hand(fill, request, text, text.index("scar") + 3)
    np.testing.assert_allclose(seen.attention, wanted, atol=1e-5)
    unseen = ready(f"{call},attention=false").edit(request)
    assert unseen.attention is None and "attention" not in unseen.detail
    assert np.array_equal(seen.image, unseen.image)


def test_the_concept_is_the_instructions_not_the_wordings(fill, ask):
    wording = "The scar on the left and on the right: {instruction} Leave the scar of others."
    given = {"model": str(fill), "lora": "", "wording": wording, "steps": 2, "size": 64}
    request = ask(97, 61)
    seen = find_system("icedit", given).system.edit(request)
    text = wording.replace("{instruction}", request.instruction)
    first, meant, last = (place.start() + 3 for place in re.finditer("scar", text))
    maps = [attention_by_hand(fill, request, text, place) for place in (first, meant, last)]
    gaps = [np.abs(seen.attention - one).max() for one in maps]
    assert gaps[1] < 1e-5 and min(gaps[0], gaps[2]) > 1e-3


def test_wordings_hold_the_instruction_once(fill, ask, answer):
    for wording in ("a diptych", "{instruction} and {instruction}"):
        with pytest.raises(mb.InputError, match=r"wording: .*exactly once"):
            find_system("icedit", {"wording": wording})
    given = {"model": str(fill), "lora": "", "wording": "Left, then right: {instruction}!"}
    asked = answer(np.zeros((64, 128, 3)))
    find_system("icedit", {**given, "size": 64, "attention": False}).system.edit(ask(prompt="{x}"))
    assert asked[0]["prompt"] == ["Left, then right: {x}!"]


def test_only_pipelines_that_fill_are_taken(kontext):
    with pytest.raises(mb.InputError, match="takes no mask_image; one that takes prompt and"):
        editor(f"icedit:{kontext},lora=")


def test_demonstrations_have_no_place_in_a_diptych(call):
    with pytest.raises(mb.InputError, match="demonstrations=1: FluxFillPipeline takes one picture"):
        editor(f"{call},demonstrations=1")


def test_the_frame_of_a_half():
    frame = Diptych((97, 61), (80, 48), "aspect")
    heat = np.zeros((48, 160), np.float32)
    heat[:, 20] = 1.0  # what is looked for on the left
    heat[10:20, 120:130] = 0.5
    back = frame.map_back(heat)
    assert back.shape == (61, 97) and back.max() == 1
    row, column = np.unravel_index(back.argmax(), back.shape)
    assert 10 * 61 / 48 <= row <= 20 * 61 / 48 and 40 * 97 / 80 <= column <= 50 * 97 / 80


def test_a_run(small_set, tmp_path, call):
    run = mb.edit(small_set, call, out=tmp_path / "run")
    with run.ledger() as ledger:
        rows = list(ledger.outputs().values())
    assert {row.reason for row in rows} == {None} and len(rows) == 4
    assert len(list((run.path / "attention").iterdir())) == 4
    assert run.info.settings["lora"] == ""
