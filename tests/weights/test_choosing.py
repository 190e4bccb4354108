"""Which files of a repository are fetched."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from medebench.weights.hub_fetch import choose


def test_one_form_of_the_same_weights():
    files = ["config.json", "model.safetensors", "pytorch_model.bin", "tf_model.h5", "vocab.json"]
    files += ["flax_model.msgpack", "model.fp16.safetensors", ".gitattributes", "onnx/model.onnx"]
    assert choose(files) == ["config.json", "model.safetensors", "vocab.json"]
    files.remove("model.safetensors")
    assert choose(files) == ["config.json", "pytorch_model.bin", "vocab.json"]
    files.remove("pytorch_model.bin")
    assert choose(files) == ["config.json", "model.fp16.safetensors", "vocab.json"]


def test_a_pipeline_without_its_twin_in_one_file():
    files = ["model_index.json", "v1-5-pruned.ckpt", "v1-5-pruned.safetensors", "README.md"]
    parts = ["diffusion_pytorch_model.safetensors", "diffusion_pytorch_model.bin"]
    parts += ["diffusion_pytorch_model.non_ema.safetensors", "config.json"]
    files += [f"unet/{one}" for one in parts]
    files += ["text_encoder/pytorch_model.bin", "text_encoder/model.safetensors"]
    files += ["vae/diffusion_pytorch_model.bin", "tokenizer/vocab.json", "sample.png"]
    assert choose(files) == [
        "README.md",
        "model_index.json",
        "text_encoder/model.safetensors",
        "tokenizer/vocab.json",
        "unet/config.json",
        "unet/diffusion_pytorch_model.safetensors",
        "vae/diffusion_pytorch_model.bin",
    ]


def test_pieces_stay_together():
    pieces = [f"model-0000{n}-of-00002" for n in (1, 2)]
    files = [f"{one}.safetensors" for one in pieces] + [f"pytorch_{one}.bin" for one in pieces]
    files += ["model.safetensors.index.json", "pytorch_model.bin.index.json"]
    assert choose(files) == [
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
        "model.safetensors.index.json",
        "pytorch_model.bin.index.json",
    ]


def test_different_weights_are_all_fetched():
    files = ["biovil_t_image_model_proj_size_128.pt", "pytorch_model.bin", "a.b/model.v2.pt"]
    assert choose(files) == sorted(files)


def test_patterns_say_what_is_wanted():
    files = ["config.json", "model.safetensors", "dino_head.safetensors", "tokenizer.json"]
    assert choose(files, ("config.json", "model.*")) == ["config.json", "model.safetensors"]
    assert choose(files, ("nothing",)) == []


_NAME = st.text("ab._-/019", min_size=1, max_size=12)
_END = st.sampled_from([".safetensors", ".bin", ".fp16.bin", ".json", "", ".pt", ".non_ema.ckpt"])


@given(st.lists(st.builds(str.__add__, _NAME, _END), unique=True, max_size=12))
def test_no_weights_are_lost(files):
    """Whatever the names, each set of weights is fetched in one form at least."""
    kept = choose(files)
    assert set(kept) <= set(files) and kept == sorted(kept) and choose(kept) == kept
    assert any(map(_is_weights, kept)) == any(map(_is_weights, files))


def _is_weights(name):
    hidden = name.startswith(".") or "/." in name
    return name.endswith((".safetensors", ".bin", ".pt", ".ckpt")) and not hidden
