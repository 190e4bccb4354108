"""Models of open_clip: ours and open_clip's own way to the same vectors, from the same folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medebench.encoders.open_clip import OpenClipEncoder
from medebench.encoders.open_clip_folder import Look, OpenClipFolder
from medebench.errors import InputError, NotReadyError
from tests.references import FOLDER, run_reference

#: Runs beside open_clip, in a process of its own: ours first, with every connection refused.
_BOTH = """
import json, os, shutil, socket
from pathlib import Path
from types import SimpleNamespace

folder = Path(given["folder"])
os.environ["HF_HUB_CACHE"] = str(folder / "hub")
os.environ["MEDEBENCH_CACHE"] = str(folder / "cache")
asked = []
def refuse(self, address):
    asked.append(address)
    raise OSError("no network in tests")
socket.socket.connect = refuse

import open_clip
import transformers
from PIL import Image
from medebench.encoders.open_clip import OpenClipEncoder
from medebench.errors import MedebenchError

def lively(model):
    for one in model.parameters():
        torch.nn.init.normal_(one, std=0.1)
    return model

def save(name, config, suffix):
    place = folder / name
    place.mkdir()
    (place / "open_clip_config.json").write_text(json.dumps(config))
    model = json.loads(json.dumps(config["model_cfg"]))
    text = model["text_cfg"]
    model["vision_cfg"].pop("timm_model_pretrained", None)
    kind = open_clip.CLIP
    if "hf_model_name" in text:
        text |= {"hf_model_name": str(bert), "hf_model_pretrained": False}
        kind = open_clip.CustomTextCLIP
    model = lively(kind(**model))
    if suffix == "bin":
        # A counter that older releases of transformers wrote beside the weights.
        extra = {"text.transformer.embeddings.position_ids": torch.arange(40)[None]}
        torch.save(model.half().state_dict() | extra, place / "open_clip_pytorch_model.bin")
    else:
        from safetensors.torch import save_file
        save_file(model.state_dict(), place / "open_clip_model.safetensors")
    return place

torch.manual_seed(0)
# A text tower that is in the hub's cache, without its weights.
revision = "0123456789" * 4
cached = folder / "hub" / "models--tiny--bert"
(cached / "refs").mkdir(parents=True)
(cached / "refs" / "main").write_text(revision)
bert = cached / "snapshots" / revision
bert.mkdir(parents=True)
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
letters = "abcdefghijklmnopqrstuvwxyz"
words += [*letters, *("##" + one for one in letters)]
(bert / "vocab.txt").write_text("\\n".join(words) + "\\n")
(bert / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))
transformers.BertConfig(
    vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
    intermediate_size=48, max_position_embeddings=40,
).save_pretrained(bert)

plain = save("plain", {
    "model_cfg": {
        "embed_dim": 16,
        "vision_cfg": {
            "image_size": 32, "layers": 2, "width": 64, "head_width": 32, "patch_size": 8,
        },
        "text_cfg": {
            "context_length": 16, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2,
        },
    },
    "preprocess_cfg": {"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4], "size": 99},
}, "safetensors")
# Put together as BiomedCLIP is: a trunk of timm, a text tower of transformers.
medical = save("medical", {
    "model_cfg": {
        "embed_dim": 24,
        "vision_cfg": {
            "timm_model_name": "test_vit", "timm_model_pretrained": True, "timm_pool": "",
            "timm_proj": "linear", "image_size": 160,
        },
        "text_cfg": {
            "hf_model_name": "tiny/bert", "hf_tokenizer_name": "tiny/bert", "hf_proj_type": "mlp",
            "hf_pooler_type": "cls_last_hidden_state_pooler", "context_length": 24,
        },
    },
    "preprocess_cfg": {"resize_mode": "longest", "interpolation": "bilinear", "fill_color": 70},
}, "bin")

pictures = [given[f"picture{i}"] for i in range(3)]
texts = [str(one) for one in given["texts"]]
for place in (plain, medical):
    ours = OpenClipEncoder(str(place), name=place.name, device="cpu")
    assert ours.problem() is None, ours.problem()
    prepared = [ours.prepare(one, 255) for one in pictures]
    vectors = ours.encode(prepared)
    answer[f"{place.name} ours"] = vectors
    answer[f"{place.name} pixels ours"] = ours.files.look.finish(np.stack(prepared))
    reads = ours.read(texts)
    answer[f"{place.name} texts ours"] = np.stack([one.features for one in reads])
    answer[f"{place.name} counts"] = np.array([(one.tokens, one.read) for one in reads])
    backwards = [ours.encode([one])[0] for one in prepared[::-1]]
    answer[f"{place.name} alone"] = np.stack(backwards[::-1])
    answer[f"{place.name} texts alone"] = np.stack([ours.read([one])[0].features for one in texts])
    answer[f"{place.name} deep"] = ours.prepare(pictures[0].astype(np.uint16) * 257, 65535)
    answer[f"{place.name} prepared"] = prepared[0]
    ours.close()
    answer[f"{place.name} again"] = ours.encode(prepared)
answer["asked"] = np.array(len(asked))

from huggingface_hub import constants
constants.HF_HUB_OFFLINE = True
for place in (plain, medical):
    model, _, transform = open_clip.create_model_and_transforms(f"local-dir:{place}")
    model.eval()
    words = (
        open_clip.get_tokenizer(f"local-dir:{place}") if place is plain
        else open_clip.tokenizer.HFTokenizer("tiny/bert", context_length=24)
    )
    pixels = torch.stack([transform(Image.fromarray(one)) for one in pictures])
    with torch.no_grad():
        answer[f"{place.name} theirs"] = model.encode_image(pixels).numpy()
        answer[f"{place.name} texts theirs"] = model.encode_text(words(texts)).numpy()
    answer[f"{place.name} pixels theirs"] = pixels.numpy()

from medebench.encoders.open_clip_folder import Look
from open_clip.transform import PreprocessCfg, image_transform_v2
for mode in ("shortest", "longest", "squash"):
    for interpolation in ("bicubic", "bilinear"):
        for size in ((48, 48), (40, 57), (33, 20)):
            look = Look(*size, (0.5, 0.4, 0.3), (0.2, 0.3, 0.4), interpolation, mode, 9)
            transform = image_transform_v2(PreprocessCfg(
                size=size, mean=look.mean, std=look.std, interpolation=interpolation,
                resize_mode=mode, fill_color=9,
            ), is_train=False)
            worst = max(
                np.abs(
                    look.finish(look.prepare(one, 255)[None])[0]
                    - transform(Image.fromarray(one)).numpy()
                ).max()
                for one in pictures
            )
            answer[f"look {mode} {interpolation} {size}"] = np.array(worst)

# What is wrong with a folder is said in a line.
def said(place):
    try:
        ours = OpenClipEncoder(str(place), device="cpu")
        problem = ours.problem()
        return problem or str(ours.encode([ours.prepare(pictures[0], 255)]).shape)
    except MedebenchError as error:
        return str(error)

other = folder / "other"
shutil.copytree(plain, other)
config = json.loads((other / "open_clip_config.json").read_text())
config["model_cfg"]["embed_dim"] = 20
(other / "open_clip_config.json").write_text(json.dumps(config))
answer["said misfit"] = np.array(said(other))
# Old folders hold the model's settings and nothing else.
(other / "open_clip_config.json").write_text(json.dumps(config["model_cfg"] | {"embed_dim": 16}))
answer["said flat"] = np.array(said(other))
(bert / "vocab.txt").unlink()
answer["said words"] = np.array(said(medical))
(bert / "config.json").unlink()
answer["said text"] = np.array(said(medical))
"""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    generator = np.random.default_rng(5)
    shapes = ((61, 40), (33, 100), (48, 48))
    pictures = {
        f"picture{i}": generator.integers(0, 256, (*shape, 3), dtype=np.uint8)
        for i, shape in enumerate(shapes)
    }
    texts = np.array(["A mole is removed", "a mole of the left hand " * 3, ""])
    folder = tmp_path_factory.mktemp("open_clip")
    return run_reference(_BOTH, folder=str(folder), texts=texts, **pictures)


@pytest.mark.parametrize("model", ["plain", "medical"])
def test_vectors_are_those_of_open_clip(both, model):
    assert np.abs(both[f"{model} theirs"]).max() > 0.1
    np.testing.assert_allclose(both[f"{model} ours"], both[f"{model} theirs"], atol=1e-5)
    np.testing.assert_allclose(
        both[f"{model} texts ours"], both[f"{model} texts theirs"], atol=1e-5
    )
    np.testing.assert_allclose(
        both[f"{model} pixels ours"], both[f"{model} pixels theirs"], atol=1e-6
    )
    # Vectors of different pictures and texts differ, or the comparison would say nothing.
    assert np.ptp(both[f"{model} ours"], axis=0).max() > 1e-3
    assert np.ptp(both[f"{model} texts ours"], axis=0).max() > 1e-3


@pytest.mark.parametrize("model", ["plain", "medical"])
def test_neighbours_and_order_do_not_matter(both, model):
    np.testing.assert_allclose(both[f"{model} alone"], both[f"{model} ours"], atol=1e-5)
    np.testing.assert_allclose(both[f"{model} texts alone"], both[f"{model} texts ours"], atol=1e-5)
    np.testing.assert_array_equal(both[f"{model} again"], both[f"{model} ours"])


def test_texts_are_cut_and_counted(both):
    # open_clip's own vocabulary has these words whole: 4, and 3 x 6, each with both ends.
    assert both["plain counts"].tolist() == [[6, 6], [20, 16], [2, 2]]
    # The other one spells: 14 letters, and 3 x 18.
    assert both["medical counts"].tolist() == [[16, 16], [56, 24], [2, 2]]


def test_nothing_is_asked_of_the_network(both):
    assert both["asked"] == 0


def test_deep_pictures_are_brought_to_eight_bits(both):
    np.testing.assert_array_equal(both["plain deep"], both["plain prepared"])


def test_pictures_are_prepared_as_open_clip_does(both):
    worst = {name: float(one) for name, one in both.items() if name.startswith("look ")}
    assert len(worst) == 18
    assert max(worst.values()) < 1e-6, worst


def test_folders_that_do_not_fit_are_refused_in_a_line(both):
    misfit = str(both["said misfit"])
    assert "open_clip_model.safetensors does not load with open_clip" in misfit
    assert "size mismatch" in misfit
    assert "\n" not in misfit
    assert str(both["said flat"]) == "(1, 16)"
    assert "medebench weights get tiny/bert" in str(both["said words"])
    assert "tokenizer of tiny/bert" in str(both["said words"])
    assert "text tower is tiny/bert, whose config.json" in str(both["said text"])


def test_a_torchvision_that_cannot_be_imported_is_said(tmp_path):
    if not (FOLDER / "open_clip").is_dir():
        pytest.skip("open_clip is not installed (make test installs it)")
    broken = tmp_path / "broken" / "torchvision"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise RuntimeError('operator nms does not exist')")
    folder = write_folder(tmp_path / "model")
    code = (
        "from medebench.encoders.open_clip import OpenClipEncoder\n"
        f"print(OpenClipEncoder({str(folder)!r}, name='tiny').problem())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(broken.parent), str(FOLDER)))},
        check=True,
    )
    assert done.stdout.splitlines() == [
        "tiny: open_clip is installed but cannot be imported (RuntimeError: operator nms does not "
        "exist); install the torchvision build that matches this torch"
    ]


@pytest.mark.skipif(find_spec("open_clip") is not None, reason="open_clip is installed here")
def test_without_open_clip_the_way_to_it_is_said(tmp_path):
    problem = OpenClipEncoder(str(write_folder(tmp_path)), name="tiny").problem()
    assert problem is not None
    assert re.fullmatch(
        r"tiny needs open_clip_torch \d+\.\d+ or later; install with: pip install open_clip_torch",
        problem,
    )


def write_folder(folder: Path, preprocess: Any = None, **model: Any) -> Path:
    """The files of a model, without numbers in them."""
    folder.mkdir(exist_ok=True, parents=True)
    config = {
        "model_cfg": {"embed_dim": 8, "vision_cfg": {"image_size": 32}, "text_cfg": {}, **model},
        "preprocess_cfg": preprocess or {},
    }
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    (folder / "open_clip_pytorch_model.bin").write_bytes(b"weights")
    return folder


def test_biomedclip_needs_its_own_folder_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    name = "microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract"
    text = {"hf_model_name": name, "hf_tokenizer_name": name, "context_length": 256}
    folder = write_folder(tmp_path / "biomedclip", text_cfg=text)
    (folder / "tokenizer.json").write_text("{}")
    files = OpenClipFolder(folder)
    assert files.text_config is not None
    assert (files.text_config["model_type"], files.text_config["hidden_size"]) == ("bert", 768)
    assert files.tokenizer == folder
    assert files.context == 256
    assert files.look == Look(
        32,
        32,
        (0.48145466, 0.4578275, 0.40821073),
        (0.26862954, 0.26130258, 0.27577711),
        "bicubic",
        "shortest",
        0,
    )


def test_a_config_of_transformers_beside_it_is_not_that_of_the_text_tower(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    folder = write_folder(tmp_path / "model", text_cfg={"hf_model_name": "some/bert"})
    (folder / "config.json").write_text(json.dumps({"model_type": "clip", "vision_config": {}}))
    with pytest.raises(NotReadyError, match="some/bert"):
        _ = OpenClipFolder(folder).text_config
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", "torch_dtype": "half"}))
    assert OpenClipFolder(folder).text_config == {"model_type": "bert"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cannot be read as JSON"),
        ("[]", "no settings"),
        ("{}", "has no vision_cfg and text_cfg"),
        ('{"model_cfg": {"vision_cfg": {}, "text_cfg": 3}}', "has no vision_cfg and text_cfg"),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(tmp_path, text, said):
    (tmp_path / "open_clip_config.json").write_text(text)
    with pytest.raises(InputError, match=said):
        _ = OpenClipFolder(tmp_path).config


@pytest.mark.parametrize("wrong", [{"resize_mode": "wild"}, {"mean": [1, 2]}, {"std": "grey"}])
def test_a_preparation_that_makes_no_sense_is_refused(tmp_path, wrong):
    with pytest.raises(InputError, match="preprocess_cfg"):
        _ = OpenClipFolder(write_folder(tmp_path, wrong)).look


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(NotReadyError, match="no weights of open_clip"):
        _ = OpenClipFolder(tmp_path).weights
    with pytest.raises(NotReadyError, match=r"has no open_clip_config\.json"):
        _ = OpenClipFolder(tmp_path).config


def test_identity_is_that_of_weights_and_preparation(tmp_path):
    def identity(place: str, preprocess: Any = None) -> str:
        return OpenClipEncoder(str(write_folder(tmp_path / place, preprocess))).identity

    assert identity("a") == identity("b")
    assert identity("a") != identity("c", {"mean": [0.5, 0.5, 0.5]})
    other = write_folder(tmp_path / "d")
    (other / "open_clip_pytorch_model.bin").write_bytes(b"others")
    assert OpenClipEncoder(str(other)).identity != identity("a")


@given(
    mode=st.sampled_from(["shortest", "longest", "squash"]),
    size=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    shape=st.tuples(st.integers(1, 60), st.integers(1, 60)),
)
def test_every_picture_gets_the_shape_that_the_network_wants(mode, size, shape):
    look = Look(*size, (0.5,) * 3, (0.5,) * 3, "bicubic", mode, 0)
    prepared = look.prepare(np.full((*shape, 3), 200, np.uint8), 255)
    assert prepared.shape == (3, *size)
    if mode != "longest":
        assert (prepared == 200).all()
