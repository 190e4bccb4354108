"""From weights to a pipeline: LoRA, precision, safety checker, what does not load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import medebench as mb
from medebench.systems import find_system
from tests.systems.conftest import COMMIT, QUICK, editor, into_cache, pixels

pytest.importorskip("diffusers")


def make_lora(pipeline: Path, folder: Path) -> Path:
    """A LoRA that changes the picture, saved as its training would."""
    import torch
    from diffusers import DiffusionPipeline
    from peft import LoraConfig, get_peft_model_state_dict

    from medebench.quiet import quiet

    with quiet("diffusers", "transformers"):
        pipe = DiffusionPipeline.from_pretrained(pipeline)
        name = "unet" if hasattr(pipe, "unet") else "transformer"
        torch.manual_seed(1)
        model = getattr(pipe, name)
        targets = ["to_q", "to_k", "to_v"]
        model.add_adapter(LoraConfig(r=2, target_modules=targets, init_lora_weights=False))
        layers = {f"{name}_lora_layers": get_peft_model_state_dict(model)}
        type(pipe).save_lora_weights(folder, **layers)
    return folder


@pytest.mark.parametrize("kind", ["instruct_pix2pix", "flux_kontext"])
def test_a_lora_changes_the_picture(kind, pipelines, tmp_path, cache, ask, no_network):
    pytest.importorskip("peft")
    folder = pipelines(kind)
    lora = make_lora(folder, tmp_path / "lora")
    into_cache(lora, cache, "owner/lora")
    (file,) = lora.glob("*.safetensors")
    call = f"diffusers:{folder},{QUICK}"
    (plain,) = pixels(call, ask())
    made = [pixels(f"{call},lora={one}", ask())[0] for one in (lora, file, "owner/lora")]
    assert np.abs(plain.astype(int) - made[0]).max() > 0
    assert np.array_equal(made[0], made[1]) and np.array_equal(made[0], made[2])
    said = {find_system(f"{call},lora={one}").system.identity() for one in ("", lora, "owner/lora")}
    assert len(said) == 3 and any(f"owner--lora@{COMMIT[:12]}" in one for one in said)
    assert no_network == []


def test_a_lora_for_another_model_is_refused(pix2pix, kontext, tmp_path):
    pytest.importorskip("peft")
    lora = make_lora(kontext, tmp_path / "lora")
    with pytest.raises(mb.InputError, match=r"lora=.*(fits no layer|does not load into)"):
        editor(f"instruct-pix2pix:{pix2pix},lora={lora}")


def test_a_lora_that_is_not_there(pix2pix, cache):
    chosen = find_system(f"instruct-pix2pix:{pix2pix},lora=owner/lora")
    (problem,) = chosen.system.problems()
    assert problem.startswith("lora=owner/lora: is not on this machine; get it with 'medebench w")


def test_the_safety_checker_is_off_unless_asked_for(pix2pix, own_copy, ask, monkeypatch):
    folder = own_copy(pix2pix)
    index = json.loads((folder / "model_index.json").read_text())
    index |= {"safety_checker": ["stable_diffusion", "StableDiffusionSafetyChecker"]}
    index |= {"requires_safety_checker": True}
    (folder / "model_index.json").write_text(json.dumps(index))
    one = editor(f"instruct-pix2pix:{folder},{QUICK}")
    assert one._loaded.pipe.safety_checker is None
    (problem,) = find_system(f"instruct-pix2pix:{folder},safety_checker=true").system.problems()
    assert "the part safety_checker is missing" in problem
    # What it withholds is a reason, not a black picture.
    kind = type(one._loaded.pipe)
    monkeypatch.setattr(kind, "run_safety_checker", lambda self, image, *_: (image, [True]))
    with pytest.raises(mb.Refused, match="safety checker withheld the picture"):
        one.edit(ask())


def _rewrite(folder: Path, change: Any) -> None:
    from safetensors.torch import load_file, save_file

    (file,) = folder.glob("*.safetensors")
    save_file({name: change(value) for name, value in load_file(file).items()}, file)


def test_weights_that_are_no_numbers_are_a_reason(pix2pix, own_copy, ask):
    folder = own_copy(pix2pix)
    _rewrite(folder / "unet", lambda value: value * float("nan"))
    (made,) = editor(f"instruct-pix2pix:{folder},{QUICK}").edit_batch([ask()])
    assert isinstance(made, mb.Refused) and "NaN" in str(made)


def test_half_precision_files_alone_are_enough(pix2pix, own_copy, ask):
    folder = own_copy(pix2pix)
    for part in ("unet", "vae"):
        _rewrite(folder / part, lambda value: value.half())
        (file,) = (folder / part).glob("*.safetensors")
        file.rename(file.with_suffix(".fp16.safetensors"))
    (whole,), (half,) = (
        pixels(f"instruct-pix2pix:{one},{QUICK}", ask()) for one in (pix2pix, folder)
    )
    assert np.abs(whole.astype(int) - half).max() < 20


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("kind", ["instruct_pix2pix", "flux_kontext"])
def test_precision_can_be_chosen(kind, dtype, pipelines, ask):
    call = f"diffusers:{pipelines(kind)},{QUICK},dtype={dtype}"
    if problems := find_system(call).system.problems():
        # Some virtual machines announce what their CPU cannot do, and the process dies of it.
        assert problems == [f"dtype={dtype}: this CPU does not compute in it; leave it at auto"]
        return
    made = editor(call).edit(ask())
    assert made.detail["dtype"] == dtype and made.attention is not None


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("flux_fill", "FluxFillPipeline must be shown where to edit"),
        ("stable_diffusion", "StableDiffusionPipeline takes no image"),
    ],
)
def test_other_pipelines_are_refused(kind, words, pipelines):
    with pytest.raises(mb.InputError, match=f"{words}; an instruction-editing pipeline is needed"):
        editor(f"diffusers:{pipelines(kind)}")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("unet/config.json", "{"),
        ("unet/config.json", '{"_class_name": "UNet2DConditionModel"}'),
        ("model_index.json", '{"_class_name": "NoSuchPipeline"}'),
        ("tokenizer/tokenizer.json", "{}"),
    ],
)
def test_what_does_not_load_is_one_line(file, text, pix2pix, own_copy):
    folder = own_copy(pix2pix)
    (folder / file).write_text(text)
    with pytest.raises(mb.InputError, match=f"{folder.name}: does not load as a pipeline"):
        editor(f"instruct-pix2pix:{folder}")


def test_the_libraries_say_nothing_and_keep_their_settings(pix2pix, ask, capfd):
    import diffusers
    import transformers

    before = [one.utils.logging.get_verbosity() for one in (diffusers, transformers)]
    editor(f"instruct-pix2pix:{pix2pix},{QUICK}").edit(ask())
    assert [one.utils.logging.get_verbosity() for one in (diffusers, transformers)] == before
    assert diffusers.utils.logging.is_progress_bar_enabled()
    assert capfd.readouterr() == ("", "")
