"""Every kind of pipeline through the same adapter: size, seed, batch, attention."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import medebench as mb
from medebench.systems import find_system
from tests.systems.conftest import COMMIT, QUICK, editor, into_cache, pixels, same_image

pytest.importorskip("diffusers")

KINDS = (
    "instruct-pix2pix",
    "paint-by-inpaint",
    "instruct-diffusion",
    "sdxl",
    "kontext",
    "qwen",
    "hub",
)


@pytest.fixture(scope="session")
def single_file(pipelines, tmp_path_factory):
    from tests.ldm_layout import write_single_file

    path = tmp_path_factory.mktemp("single") / "tiny.safetensors"
    return write_single_file(pipelines("instruct_pix2pix"), path)


@pytest.fixture(params=KINDS)
def call(request, pipelines, single_file, cache):
    """How a user names each of them."""
    pix2pix = pipelines("instruct_pix2pix")
    match request.param:
        case "instruct-diffusion":
            return f"instruct-diffusion:model={single_file},config={pix2pix},{QUICK}"
        case "sdxl":
            return f"diffusers:{pipelines('sdxl_instruct_pix2pix')},{QUICK}"
        case "kontext":
            return f"diffusers:{pipelines('flux_kontext')},{QUICK}"
        case "qwen":
            return f"diffusers:{request.getfixturevalue('qwen')},{QUICK}"
        case "hub":
            into_cache(pix2pix, cache, "owner/name")
            return f"diffusers:owner/name,{QUICK}"
        case name:
            return f"{name}:model={pix2pix},{QUICK}"


def test_right_size_same_seed_same_pixels(call, ask):
    one = editor(call)
    first = one.edit(ask(97, 61, seed=5))
    assert first.image.shape == (61, 97, 3) and first.image.dtype == np.uint8
    assert first.detail["frame"]["canvas"] == [80, 48]
    assert first.detail["device"] == "cpu" and first.detail["dtype"] == "float32"
    assert np.array_equal(first.image, one.edit(ask(97, 61, seed=5)).image)
    assert not np.array_equal(first.image, one.edit(ask(97, 61, seed=6)).image)
    # A square that needs no resizing, and a narrow one.
    assert one.edit(ask(64, 64)).detail["frame"]["resized"] == "no"
    narrow = (80, 160) if "qwen" in call else (40, 300)
    assert one.edit(ask(*narrow)).image.shape == (*narrow[::-1], 3)


def test_attention_is_recorded_and_changes_no_pixel(call, ask):
    seen = editor(call).edit(ask(97, 61))
    assert seen.attention is not None and seen.attention.shape == (61, 97)
    assert seen.attention.min() >= 0 and seen.attention.max() <= 1 and np.ptp(seen.attention) > 0.5
    told = seen.detail["attention"]
    assert told["concept"] == "scar" and told["steps"] == 2 and told["layers"] > 1
    unseen = editor(f"{call},attention=false").edit(ask(97, 61))
    assert unseen.attention is None and "attention" not in unseen.detail
    assert np.array_equal(seen.image, unseen.image)


def test_the_instruction_and_the_picture_matter(call, ask):
    one = editor(call)
    plain = one.edit(ask()).image
    assert not np.array_equal(plain, one.edit(ask(prompt="Whiten the teeth.")).image)
    assert not np.array_equal(plain, one.edit(ask(drawn=4)).image)


def test_a_batch_of_mixed_sizes_is_its_members_in_order(call, ask):
    requests = [
        ask(64, 64, seed=1),
        ask(97, 61, seed=2, prompt="Whiten the teeth."),
        ask(64, 64, seed=3, drawn=7, prompt="Make the waist narrower."),
        ask(97, 61, seed=4),
        ask(64, 64, seed=5),
        ask(64, 64, seed=6),
    ]
    together = editor(f"{call},batch=3").edit_batch(requests)
    one = editor(call)
    for made, request in zip(together, requests, strict=True):
        alone = one.edit(request)
        assert made.image.shape == request.case.previous.shape
        assert same_image(made.image, alone.image)
        assert made.detail == alone.detail
        np.testing.assert_allclose(made.attention, alone.attention, atol=5e-3)


def test_batches_are_really_made(pix2pix, kontext, ask, monkeypatch):
    for folder in (pix2pix, kontext):
        one = editor(f"diffusers:{folder},{QUICK},batch=2")
        kind = type(one._loaded.pipe)
        sizes: list[int] = []
        whole = kind.__call__
        with monkeypatch.context() as patch:
            patch.setattr(
                kind,
                "__call__",
                lambda self, whole=whole, sizes=sizes, **given: (
                    sizes.append(len(given["prompt"])) or whole(self, **given)
                ),
            )
            one.edit_batch([ask(seed=seed) for seed in range(5)])
        assert sizes == [2, 2, 1]


def test_a_single_file_is_the_folder_it_was_made_from(pix2pix, single_file, ask):
    settings = f"{QUICK},guidance=7.5,image_guidance=1.6"
    single = f"instruct-diffusion:{single_file},config={pix2pix},{settings}"
    (from_file,), (from_folder,) = (
        pixels(call, ask()) for call in (single, f"instruct-pix2pix:{pix2pix},{settings}")
    )
    assert np.array_equal(from_file, from_folder)


def test_a_single_file_needs_its_configuration(single_file, ask, cache, no_network):
    chosen = find_system(f"instruct-diffusion:{single_file}")
    (problem,) = chosen.system.problems()
    assert problem.startswith("config=timbrooks/instruct-pix2pix: is not on this machine; get it")
    with pytest.raises(mb.InputError, match="use editor instruct-diffusion with config=FOLDER"):
        editor(f"diffusers:{single_file}")
    assert no_network == []


def test_a_hub_id_is_the_folder_it_was_made_from(pix2pix, cache, ask, no_network):
    into_cache(pix2pix, cache, "owner/name")
    (ours,), (theirs,) = (
        pixels(f"instruct-pix2pix:{model},{QUICK}", ask()) for model in ("owner/name", pix2pix)
    )
    assert np.array_equal(ours, theirs) and no_network == []
    assert find_system("diffusers:owner/name").system.identity() == f"owner/name@{COMMIT[:12]}"


def test_a_picture_too_narrow_is_refused_alone(pix2pix, ask):
    narrow, fine = editor(f"instruct-pix2pix:{pix2pix},{QUICK},batch=2").edit_batch(
        [ask(4, 300), ask()]
    )
    assert isinstance(narrow, mb.Refused) and "4 x 300 is too narrow" in str(narrow)
    assert fine.image.shape == (64, 64, 3)


def test_the_models_own_size_is_the_default(pix2pix, kontext, ask):
    assert editor(f"diffusers:{pix2pix},steps=1").edit(ask()).detail["frame"]["canvas"] == [64, 64]
    assert editor(f"diffusers:{kontext}")._loaded.size == 512
    assert find_system("instruct-pix2pix").settings["size"] == 512


def test_an_instruction_without_a_thing_is_edited_all_the_same(pix2pix, ask):
    one = editor(f"instruct-pix2pix:{pix2pix},{QUICK},batch=2")
    lost, found = one.edit_batch([ask(prompt="..."), ask()])
    assert lost.attention is None and "nothing to edit" in lost.detail["attention"]["reason"]
    assert found.attention is not None
    (alone,) = one.edit_batch([ask(prompt="...")])
    assert alone.attention is None and "nothing to edit" in alone.detail["attention"]["reason"]


def test_several_threads_share_one_model(pix2pix, ask):
    chosen = find_system(f"instruct-pix2pix:{pix2pix},{QUICK}")
    made: dict[int, np.ndarray] = {}
    requests = [ask(seed=seed) for seed in range(4)]

    def work(number: int) -> None:
        made[number] = chosen.system.edit(requests[number]).image

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, request in enumerate(requests):
        assert np.array_equal(made[number], chosen.system.edit(request).image)
