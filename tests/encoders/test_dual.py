"""Vectors of transformers' models: as plain calls give them, from a folder or the hub's cache."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medebench.encoders.dual import DualEncoder, SingleEncoder
from medebench.encoders.encoder import Encoder, Features
from medebench.errors import InputError, NotReadyError
from tests.conftest import draw
from tests.systems.conftest import COMMIT, into_cache

tiny = pytest.importorskip("tests.encoders.tiny_models", exc_type=ImportError)
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
safetensors = pytest.importorskip("safetensors.torch")

PICTURES = [draw(1), draw(2, 90, 40), draw(3, 20, 70), draw(4, 32, 32), draw(5, 33, 31)]
TEXTS = ["remove the mole", "whiten the teeth and the skin", "a photograph", "scar"]
#: Words that the tokenizers spell letter by letter.
LONG = "whiten the teeth and remove the scar, keep all else unchanged. " * 12
DUAL = ["clip", "clipseg", "metaclip_2", "siglip", "align", "chinese_clip", "two_towers"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The folder of a tiny model, made when it is first asked for; not to be written to."""
    base = tmp_path_factory.mktemp("models")

    def get(name: str) -> Path:
        folder = base / f"tiny-{name}"
        return folder if folder.is_dir() else getattr(tiny, f"tiny_{name}")(folder)

    return get


@pytest.fixture
def hub(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "hub"
    folder.mkdir()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(folder))
    return folder


@pytest.fixture
def no_network(monkeypatch) -> list[Any]:
    tried: list[Any] = []

    def refuse(_socket: Any, address: Any) -> None:
        tried.append(address)
        raise OSError("no network in this test")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    return tried


def see(encoder: Encoder, pictures: list[Any]) -> Features:
    return encoder.encode([encoder.prepare(one, 255) for one in pictures])


def unit(rows: Any) -> np.ndarray[Any, Any]:
    rows = np.asarray(rows, np.float64)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def plain_pixels(folder: Path, pictures: list[Any]) -> Any:
    own = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
    seen = [Image.fromarray(one) for one in pictures]
    return own(images=seen, return_tensors="pt")["pixel_values"]


@pytest.mark.parametrize("name", DUAL)
def test_vectors_are_those_of_a_plain_call(models, name):
    folder = models(name)
    encoder = DualEncoder(str(folder))
    assert encoder.problem() is None and encoder.texts
    model = transformers.AutoModel.from_pretrained(folder).eval()
    words = transformers.AutoTokenizer.from_pretrained(folder)
    full = {"padding": "max_length", "max_length": 20} if name == "siglip" else {"padding": True}
    given = words(TEXTS, return_tensors="pt", **full)
    if name == "siglip":
        del given["attention_mask"]
    with torch.no_grad():
        told = model(pixel_values=plain_pixels(folder, PICTURES), **given)
    seen = see(encoder, PICTURES)
    read = encoder.read(TEXTS)
    assert seen.dtype == np.float32 and len(seen) == len(PICTURES)
    assert np.abs(unit(seen) - unit(told.image_embeds)).max() < 1e-5
    features = np.stack([one.features for one in read])
    assert np.abs(unit(features) - unit(told.text_embeds)).max() < 1e-5
    # The vectors tell pictures and texts apart, or the comparison would be empty.
    assert np.abs(unit(seen)[0] - unit(seen)[1]).max() > 1e-3
    assert np.abs(unit(features)[0] - unit(features)[1]).max() > 1e-3


def test_clip_by_hand(models):
    """Not even the methods that the encoder calls."""
    folder = models("clip")
    model = transformers.CLIPModel.from_pretrained(folder).eval()
    words = transformers.CLIPTokenizer.from_pretrained(folder)
    with torch.no_grad():
        pooled = model.vision_model(plain_pixels(folder, PICTURES)).pooler_output
        pictures = model.visual_projection(pooled)
        ids = torch.tensor([words(TEXTS[0])["input_ids"]])
        text = model.text_projection(model.text_model(ids).pooler_output)
    encoder = DualEncoder(str(folder))
    assert np.abs(see(encoder, PICTURES) - pictures.numpy()).max() < 1e-5
    assert np.abs(encoder.read(TEXTS[:1])[0].features - text[0].numpy()).max() < 1e-5


@pytest.mark.parametrize("name", ["dinov2", "registers"])
def test_dinov2_gives_its_pooled_output(models, name):
    folder = models(name)
    encoder = SingleEncoder(str(folder))
    assert encoder.problem() is None and not encoder.texts
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        own = model(plain_pixels(folder, PICTURES)).pooler_output.numpy()
    assert np.abs(see(encoder, PICTURES) - own).max() < 1e-5
    with pytest.raises(NotImplementedError):
        encoder.read(["text"])


@pytest.mark.parametrize("name", ["vit", "deit"])
def test_a_vit_gives_its_class_token_with_or_without_a_pooler(models, name):
    folder = models(name)
    model = transformers.AutoModel.from_pretrained(folder, add_pooling_layer=False).eval()
    with torch.no_grad():
        own = model(plain_pixels(folder, PICTURES)).last_hidden_state[:, 0].numpy()
    assert np.abs(see(SingleEncoder(str(folder)), PICTURES) - own).max() < 1e-5


def test_a_hub_id_goes_the_same_way_as_a_folder(models, hub, no_network):
    folder = models("clip")
    snapshot = into_cache(folder, hub, "someone/tiny-clip")
    given, cached = DualEncoder(str(folder)), DualEncoder("someone/tiny-clip")
    assert cached.folder == snapshot and given.folder == folder
    assert COMMIT[:12] in cached.identity and cached.identity != given.identity
    assert np.array_equal(see(cached, PICTURES), see(given, PICTURES))
    ours, theirs = cached.read(TEXTS), given.read(TEXTS)
    assert all(np.array_equal(a.features, b.features) for a, b in zip(ours, theirs, strict=True))
    assert no_network == []


@pytest.mark.parametrize("name", ["clip", "siglip", "dinov2", "align"])
def test_batch_and_order_do_not_matter(models, name):
    folder = str(models(name))
    encoder = SingleEncoder(folder) if name == "dinov2" else DualEncoder(folder)
    together = see(encoder, PICTURES)
    alone = np.concatenate([see(encoder, [one]) for one in PICTURES])
    reverse = see(encoder, PICTURES[::-1])[::-1]
    assert np.abs(together - alone).max() < 1e-5 and np.abs(together - reverse).max() < 1e-5
    if encoder.texts:
        texts = [*TEXTS, LONG]
        read = {text: one.features for text, one in zip(texts, encoder.read(texts), strict=True)}
        for text in texts:
            assert np.abs(encoder.read([text])[0].features - read[text]).max() < 1e-5


def test_a_long_text_is_cut_and_said(models):
    folder = models("clip")
    encoder = DualEncoder(str(folder))
    words = transformers.AutoTokenizer.from_pretrained(folder)
    ids = words(LONG, verbose=False)["input_ids"]
    assert len(ids) > 200
    short, long = encoder.read(["remove the mole", LONG])
    assert (short.tokens, short.read, short.truncated) == (5, 5, False)
    assert (long.tokens, long.read, long.truncated) == (len(ids), 77, True)
    # The beginning is read, and the end mark comes after it.
    kept = torch.tensor([[*ids[:76], words.eos_token_id]])
    model = transformers.CLIPModel.from_pretrained(folder).eval()
    with torch.no_grad():
        own = model.text_projection(model.text_model(kept).pooler_output)[0].numpy()
    assert np.abs(long.features - own).max() < 1e-5


@pytest.mark.parametrize("words", [75, 76])
def test_a_text_that_just_fits_is_not_cut(models, words):
    read = DualEncoder(str(models("clip"))).read([" ".join(["."] * words)])[0]
    assert (read.tokens, read.read) == (words + 2, 77) and read.truncated == (words == 76)


def test_siglip_reads_its_padding(models):
    """Its texts are filled up to full length without a mask, as it was trained."""
    folder = models("siglip")
    words = transformers.AutoTokenizer.from_pretrained(folder)
    ids = words("remove the mole")["input_ids"]
    model = transformers.SiglipModel.from_pretrained(folder).eval()
    with torch.no_grad():
        full = torch.tensor([ids + [words.pad_token_id] * (20 - len(ids))])
        own = model.text_model(full).pooler_output[0].numpy()
        bare = model.text_model(torch.tensor([ids])).pooler_output[0].numpy()
    read, long = DualEncoder(str(folder)).read(["remove the mole", LONG])
    assert np.abs(read.features - own).max() < 1e-5
    assert np.abs(read.features - bare).max() > 1e-3
    assert (read.tokens, read.read, long.read) == (len(ids), len(ids), 20)
    assert long.tokens == len(words(LONG, verbose=False)["input_ids"])


def test_half_precision_weights_are_computed_in_full(models, tmp_path):
    folder = shutil.copytree(models("clip"), tmp_path / "half")
    transformers.CLIPModel.from_pretrained(folder, dtype=torch.float16).save_pretrained(folder)
    encoder = DualEncoder(str(folder))
    seen = see(encoder, PICTURES)
    assert {one.dtype for one in encoder.network().parameters()} == {torch.float32}
    assert np.abs(seen - see(DualEncoder(str(models("clip"))), PICTURES)).max() < 0.05


def test_another_preparation_is_another_encoder(models, tmp_path):
    folder = shutil.copytree(models("clip"), tmp_path / "other")
    path = folder / "preprocessor_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"resample": 2}))
    one, other = DualEncoder(str(models("clip"))), DualEncoder(str(folder))
    assert one.identity == DualEncoder(str(models("clip")), device="cpu", batch=3).identity
    assert one.identity.split("pictures")[1] != other.identity.split("pictures")[1]


def test_weights_in_torchs_own_format(models, tmp_path):
    folder = shutil.copytree(models("clip"), tmp_path / "bin")
    tensors = safetensors.load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(tensors, folder / "pytorch_model.bin")
    assert np.array_equal(
        see(DualEncoder(str(folder)), PICTURES), see(DualEncoder(str(models("clip"))), PICTURES)
    )


class _Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_a_pickle_with_code_in_it_is_not_run(models, tmp_path):
    folder = shutil.copytree(models("clip"), tmp_path / "trap")
    tensors = safetensors.load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(tensors | {"trap": _Trap(tmp_path / "sprung")}, folder / "pytorch_model.bin")
    with pytest.raises(InputError, match="does not load"):
        see(DualEncoder(str(folder)), PICTURES)
    assert not (tmp_path / "sprung").exists()


def test_code_of_strangers_is_not_run(models, tmp_path):
    folder = shutil.copytree(models("clip"), tmp_path / "strange")
    (folder / "own.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'sprung')!r})\nCLIP = 1\n")
    for file, key in (("config.json", "AutoModel"), ("tokenizer_config.json", "AutoTokenizer")):
        told = json.loads((folder / file).read_text())
        name = ["own.CLIP", None] if key == "AutoTokenizer" else "own.CLIP"
        (folder / file).write_text(json.dumps(told | {"auto_map": {key: name}}))
    encoder = DualEncoder(str(folder))
    assert np.array_equal(see(encoder, PICTURES), see(DualEncoder(str(models("clip"))), PICTURES))
    encoder.read(TEXTS)
    assert not (tmp_path / "sprung").exists()


def test_weights_that_are_cut_off_are_said_before_any_work(models, tmp_path):
    folder = shutil.copytree(models("clip"), tmp_path / "cut")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    problem = DualEncoder(str(folder), name="mine").problem()
    assert problem is not None and "model.safetensors" in problem and "\n" not in problem


def test_missing_parts_are_not_made_up(models, tmp_path):
    """transformers itself would fill them with random numbers and only warn."""
    folder = shutil.copytree(models("clip"), tmp_path / "lacking")
    tensors = safetensors.load_file(folder / "model.safetensors")
    del tensors["visual_projection.weight"]
    safetensors.save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match=r"mine: .* lacks 1 .*visual_projection.weight"):
        see(DualEncoder(str(folder), name="mine"), PICTURES)


def test_parts_that_no_vector_depends_on_may_be_missing(models, tmp_path):
    folder = shutil.copytree(models("clip"), tmp_path / "lacking")
    tensors = safetensors.load_file(folder / "model.safetensors")
    del tensors["logit_scale"]
    safetensors.save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    assert len(see(DualEncoder(str(folder)), PICTURES)) == len(PICTURES)


def test_a_tokenizer_is_not_made_up(models, tmp_path):
    """transformers itself would take one that knows no words."""
    folder = shutil.copytree(models("clip"), tmp_path / "mute")
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.json").write_text("{}")
    encoder = DualEncoder(str(folder), name="mine")
    assert "mine: " in (encoder.problem() or "") and "tokenizer.json" in (encoder.problem() or "")
    with pytest.raises(NotReadyError, match=r"tokenizer\.json; download the complete model"):
        encoder.read(TEXTS)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"config.json": None}, r"has no config\.json"),
        ({"config.json": {"model_type": "blip"}}, "model_type 'blip'"),
        ({"config.json": "{"}, "cannot be read"),
        ({"preprocessor_config.json": None}, r"no preprocessor_config\.json"),
        ({"model.safetensors": None}, "no weights"),
    ],
)
def test_what_is_wrong_is_a_problem_of_one_line(models, tmp_path, change, words):
    folder = shutil.copytree(models("clip"), tmp_path / "odd")
    for file, content in change.items():
        (folder / file).unlink()
        if content is not None:
            text = content if isinstance(content, str) else json.dumps(content)
            (folder / file).write_text(text)
    problem = DualEncoder(str(folder)).problem()
    assert problem is not None and "\n" not in problem
    with pytest.raises(InputError, match=words):
        see(DualEncoder(str(folder)), PICTURES)


def test_an_absent_model_says_how_to_get_it(hub):
    encoder = DualEncoder("someone/not-here")
    problem = encoder.problem()
    assert problem is not None and "medebench weights get someone/not-here" in problem
    with pytest.raises(NotReadyError, match="not-here"):
        see(encoder, PICTURES)


@pytest.mark.skipif(find_spec("sentencepiece") is not None, reason="sentencepiece is installed")
def test_the_package_that_a_tokenizer_needs_is_named(models, tmp_path):
    folder = shutil.copytree(models("siglip"), tmp_path / "pieces")
    path = folder / "tokenizer_config.json"
    told = json.loads(path.read_text()) | {"tokenizer_class": "SiglipTokenizer"}
    path.write_text(json.dumps(told))
    problem = DualEncoder(str(folder)).problem()
    assert problem is not None and "pip install sentencepiece" in problem


def test_a_closed_encoder_loads_again(models):
    encoder = DualEncoder(str(models("clip")))
    first = see(encoder, PICTURES)
    encoder.close()
    assert np.array_equal(see(encoder, PICTURES), first)


def test_pictures_are_prepared_without_torch(models):
    code = f"""
import sys
import numpy as np
from medebench.encoders.dual import DualEncoder
encoder = DualEncoder({str(models("clip"))!r})
assert encoder.problem() is None
print(encoder.identity)
print(encoder.prepare(np.zeros((9, 9, 3), np.uint8), 255).shape)
print(sorted({{"torch", "transformers"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1:] == ["(3, 32, 32)", "[]"]
