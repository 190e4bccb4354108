"""FLUX Kontext and Qwen-Image-Edit as presets, and cases shown to Qwen before the one to edit."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.cases.case import Case
from medebench.systems import find_system
from medebench.systems.few_shot import VERSION, shown_text
from tests.conftest import draw
from tests.systems.conftest import QUICK, editor, pixels

pytest.importorskip("diffusers")


@pytest.fixture
def heard(monkeypatch):
    """Edit, and see what the pipeline was called with."""

    def listen(one: Any, *requests: mb.Request) -> tuple[list[Any], dict[str, Any]]:
        kind, seen = type(one._loaded.pipe), {}
        whole = kind.__call__

        @functools.wraps(whole)
        def watch(self: Any, **given: Any) -> Any:
            seen.update(given)
            return whole(self, **given)

        with monkeypatch.context() as patch:
            patch.setattr(kind, "__call__", watch)
            made = one.edit_batch(requests)
        return made, seen

    return listen


def lora_for(pipeline: Path, folder: Path) -> Path:
    from tests.tiny_pipelines import tiny_lora

    return tiny_lora(pipeline, folder)


def finish(values: np.ndarray, own: tuple[int, int]) -> np.ndarray:
    image = Image.fromarray(np.round(values * 255).astype(np.uint8))
    return np.asarray(image.resize(own, Image.Resampling.LANCZOS))


def generator(seed: int) -> Any:
    import torch

    return torch.Generator("cpu").manual_seed(seed)


def test_defaults_are_the_authors():
    names = ("flux-kontext", "qwen-image-edit", "flux2")
    kontext, qwen, flux2 = (find_system(name).settings for name in names)
    assert kontext["model"] == "black-forest-labs/FLUX.1-Kontext-dev"
    assert (kontext["steps"], kontext["guidance"], kontext["size"]) == (28, 2.5, 1024)
    assert qwen["model"] == "Qwen/Qwen-Image-Edit-2509"
    assert (qwen["steps"], qwen["true_cfg"], qwen["size"]) == (40, 4, 1024)
    assert qwen["guidance"] is None and kontext["true_cfg"] is None
    assert flux2["model"] == "black-forest-labs/FLUX.2-dev"
    assert (flux2["steps"], flux2["guidance"], flux2["size"]) == (50, 4, 1024)


def test_kontext_is_called_with_them(kontext, ask, heard):
    (made,), seen = heard(editor(f"flux-kontext:{kontext},{QUICK}"), ask(97, 61))
    assert seen["guidance_scale"] == 2.5 and seen["_auto_resize"] is False
    assert made.image.shape == (61, 97, 3) and made.attention is not None
    (plain,) = pixels(f"diffusers:{kontext},{QUICK},guidance=2.5", ask(97, 61))
    assert np.array_equal(made.image, plain)


def test_qwen_is_called_with_them(qwen, ask, heard):
    (made,), seen = heard(editor(f"qwen-image-edit:{qwen},{QUICK}"), ask(97, 61))
    assert seen["true_cfg_scale"] == 4 and seen["negative_prompt"] == " "
    assert "guidance_scale" not in seen and seen["image"].size == (80, 48)
    assert made.image.shape == (61, 97, 3) and made.attention is not None
    assert "demonstrations" not in made.detail


def test_a_lora_for_kontext_is_in_use(kontext, tmp_path, ask):
    from diffusers import FluxKontextPipeline

    lora = lora_for(kontext, tmp_path / "lora")
    call, request = f"flux-kontext:{kontext},{QUICK}", ask(64, 64, seed=5)
    (plain,), (tuned,) = pixels(call, request), pixels(f"{call},lora={lora}", request)
    assert np.abs(plain.astype(int) - tuned).max() > 0
    pipe = FluxKontextPipeline.from_pretrained(kontext)
    pipe.load_lora_weights(lora)
    by_hand = pipe(
        prompt=request.instruction,
        image=Image.fromarray(request.case.previous.copy()),
        width=64,
        height=64,
        max_area=64 * 64,
        _auto_resize=False,
        num_inference_steps=2,
        guidance_scale=2.5,
        generator=generator(5),
        output_type="np",
    ).images[0]
    assert np.array_equal(tuned, finish(by_hand, (64, 64)))


def by_hand_qwen(qwen: Path, pictures: Any, text: str, size: tuple[int, int], lora: Any) -> Any:
    from tests.tiny_pipelines import load_qwen_edit

    pipe = load_qwen_edit(qwen)
    if lora is not None:
        pipe.load_lora_weights(lora)
    return pipe(
        prompt=text,
        image=pictures,
        width=size[0],
        height=size[1],
        num_inference_steps=2,
        true_cfg_scale=4.0,
        negative_prompt=" ",
        generator=generator(5),
        output_type="np",
    ).images[0]


def test_a_lora_for_qwen_is_in_use(qwen, tmp_path, ask):
    lora = lora_for(qwen, tmp_path / "lora")
    call, request = f"qwen-image-edit:{qwen},{QUICK}", ask(64, 64, seed=5)
    (plain,), (tuned,) = pixels(call, request), pixels(f"{call},lora={lora}", request)
    assert np.abs(plain.astype(int) - tuned).max() > 0
    picture = Image.fromarray(request.case.previous.copy())
    made = by_hand_qwen(qwen, picture, request.instruction, (64, 64), lora)
    assert np.array_equal(tuned, finish(made, (64, 64)))


def test_a_lora_for_another_architecture_is_one_line(kontext, pix2pix, tmp_path):
    lora = lora_for(pix2pix, tmp_path / "lora")
    with pytest.raises(mb.InputError, match=r"lora=.*(fits no layer|does not load into)") as raised:
        editor(f"flux-kontext:{kontext},lora={lora}")
    assert "\n" not in str(raised.value)


@pytest.fixture
def showing(tmp_path, ask):
    """A request that brings along cases of other sizes, with their answers."""

    def make(*sizes: tuple[int, int], **asked: Any) -> mb.Request:
        shown = []
        for number, (width, height) in enumerate(sizes, start=1):
            name = f"shown-{number}-{width}x{height}"
            paths = [tmp_path / f"{name}-{when}.png" for when in ("before", "after")]
            for path, seed in zip(paths, (10 * number, 10 * number + 1), strict=True):
                Image.fromarray(draw(seed, height, width)).save(path)
            prompt = f"Remove the scar number {number}."
            case = Case(f"shown-{number}", paths[0], prompt, reference=paths[1])
            shown.append(mb.open_case(case))
        plain = ask(**asked)
        return mb.Request(plain.case, plain.k, plain.seed, demonstrations=tuple(shown))

    return make


def test_the_words_count_the_pictures_and_end_with_the_instruction(showing):
    request = showing((64, 64), (64, 64))
    text = shown_text(request)
    lines = text.splitlines()
    assert len(lines) == 3 and lines[2].endswith(request.instruction)
    assert "icture 1 " in lines[0] and "icture 2." in lines[0] and "number 1." in lines[0]
    assert "icture 3 " in lines[1] and "icture 4." in lines[1] and "number 2." in lines[1]
    assert "icture 5 " in lines[2]
    assert shown_text(showing()) == request.instruction
    said = mb.Request(request.case, 0, 1, "Take it away.", request.demonstrations)
    assert shown_text(said).endswith("Take it away.")


def test_qwen_sees_before_and_after_and_then_the_input(qwen, showing, heard):
    request = showing((64, 64), (61, 97), width=97, height=61, seed=5)
    one = editor(f"qwen-image-edit:{qwen},{QUICK},demonstrations=2")
    assert one.demonstrations == 2
    (made,), seen = heard(one, request)
    sizes = [picture.size for picture in seen["image"]]
    assert sizes == [(64, 64), (64, 64), (48, 80), (48, 80), (80, 48)]
    for picture, seed in zip(seen["image"][:2], (10, 11), strict=True):
        assert np.array_equal(np.asarray(picture), draw(seed, 64, 64))
    assert (seen["width"], seen["height"]) == (80, 48) and seen["prompt"] == shown_text(request)
    assert made.image.shape == (61, 97, 3)
    assert made.detail["demonstrations"] == ["shown-1", "shown-2"]
    assert made.detail["shown_text"] == VERSION
    by_hand = by_hand_qwen(qwen, seen["image"], shown_text(request), (80, 48), None)
    assert np.array_equal(made.image, finish(by_hand, (97, 61)))


def test_demonstrations_matter_and_attention_is_read_all_the_same(qwen, showing, ask):
    call = f"qwen-image-edit:{qwen},{QUICK}"
    request = showing((64, 64))
    one = editor(f"{call},demonstrations=1")
    made = one.edit(request)
    assert np.array_equal(made.image, one.edit(request).image)
    assert not np.array_equal(made.image, pixels(call, ask())[0])
    assert made.detail["attention"]["concept"] == "scar" and made.attention.shape == (64, 64)
    unseen = editor(f"{call},demonstrations=1,attention=false").edit(request)
    assert np.array_equal(made.image, unseen.image) and unseen.attention is None


def test_the_concept_is_that_of_the_case_not_of_those_shown(qwen, showing, monkeypatch):
    """The text says 'scar' once for each case: the last one's token counts, from the end."""
    from medebench.grounding.concept_tokens import find_token
    from medebench.systems.diffusion import attention_watch

    watched: list[Any] = []
    record = attention_watch.record
    monkeypatch.setattr(
        attention_watch,
        "record",
        lambda pipe, tokens: watched.extend(tokens) or record(pipe, tokens),
    )
    request = showing((64, 64), (64, 64))
    one = editor(f"qwen-image-edit:{qwen},{QUICK},demonstrations=2")
    one.edit(request)
    alone = find_token(one._loaded.pipe, request.instruction, "scar")
    assert watched == [alone] and alone.index < 0
    assert find_token(one._loaded.pipe, shown_text(request), "scar").index < alone.index


def test_one_bad_demonstration_spoils_one_case(qwen, showing, ask):
    one = editor(f"qwen-image-edit:{qwen},{QUICK},demonstrations=1,batch=3")
    narrow, damaged, fine = showing((4, 300)), showing((64, 48)), showing((64, 64))
    path = damaged.demonstrations[0].case.reference
    path.write_bytes(path.read_bytes()[:50])
    refused = one.edit_batch([narrow, ask(), damaged, fine])
    assert [type(made) for made in refused] == [mb.Refused] * 3 + [mb.Output]
    assert "demonstration shown-1: 4 x 300 is too narrow" in str(refused[0])
    assert "0 demonstrations were given, 1 are wanted" in str(refused[1])
    assert "demonstration shown-1: " in str(refused[2]) and "damaged" in str(refused[2])


@pytest.mark.parametrize("kind", ["flux_kontext", "instruct_pix2pix"])
def test_pipelines_that_take_one_picture_refuse_demonstrations(kind, pipelines, showing):
    call = f"diffusers:{pipelines(kind)},{QUICK},demonstrations=1"
    words = r"demonstrations=1: \w+ takes one picture a case; .* use editor qwen-image-edit or"
    with pytest.raises(mb.InputError, match=words):
        editor(call)
    with pytest.raises(mb.InputError, match=words):
        find_system(call).system.edit(showing((64, 64)))


@pytest.mark.parametrize("count", [-1, 9])
def test_up_to_eight_can_be_shown(count):
    with pytest.raises(mb.InputError, match="demonstrations"):
        find_system(f"qwen-image-edit:demonstrations={count}")


def test_a_run_draws_them_from_the_task(qwen, small_set, tmp_path):
    call = f"qwen-image-edit:{qwen},{QUICK},demonstrations=1"
    run = mb.edit(small_set, call, out=tmp_path / "run")
    with run.ledger() as ledger:
        rows = {case_id: row for (case_id, _), row in ledger.outputs().items()}
    assert {row.reason for row in rows.values()} == {None}
    # Odd cases are of one task, even ones of another.
    shown = {case_id: row.detail["demonstrations"] for case_id, row in rows.items()}
    assert shown == {"1": ["3"], "2": ["4"], "3": ["1"], "4": ["2"]}
