"""MedCLIP, small, under the names its authors' file has: the towers alone, the rest by hand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertModel, SwinConfig, SwinModel

from medebench.encoders.medclip import MEAN, STD, VOCABULARY, MedClipEncoder, Sizes, is_medclip
from medebench.errors import InputError
from tests.conftest import draw
from tests.references import run_reference

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *_LETTERS,
    *(f"##{one}" for one in _LETTERS),
]
SIZES = Sizes(
    swin={
        "image_size": 224,
        "patch_size": 8,
        "embed_dim": 12,
        "depths": [1, 2],
        "num_heads": [2, 3],
        "window_size": 7,
    },
    resnet={
        "embedding_size": 64,
        "hidden_sizes": [256, 512, 1024, 2048],
        "depths": [1, 1, 1, 1],
        "layer_type": "bottleneck",
    },
    bert={
        "vocab_size": len(_WORDS),
        "hidden_size": 32,
        "num_hidden_layers": 4,
        "num_attention_heads": 2,
        "intermediate_size": 48,
        "max_position_embeddings": 90,
    },
    numbers=20,
)
#: Today's names of the parts of a Swin block, and those of 2022.
_THEN = (
    ("attention.q_proj.", "attention.self.query."),
    ("attention.k_proj.", "attention.self.key."),
    ("attention.v_proj.", "attention.self.value."),
    ("attention.relative_position_bias.relative", "attention.self.relative"),
    ("attention.o_proj.", "attention.output.dense."),
    ("mlp.fc1.", "intermediate.dense."),
    ("mlp.fc2.", "output.dense."),
)


class Made:
    """Towers and heads with random weights, and a folder as published that holds them."""

    def __init__(self, folder: Path) -> None:
        torch.manual_seed(3)
        self.folder = folder
        self.swin = SwinModel(SwinConfig(**SIZES.swin)).eval()
        self.bert = BertModel(BertConfig(**SIZES.bert)).eval()
        self.image_head, self.text_head = torch.randn(20, 24), torch.randn(20, 32)
        for one in (*self.swin.parameters(), *self.bert.parameters()):
            torch.nn.init.normal_(one, std=0.5)
        torch.save(self.tensors(), folder / "pytorch_model.bin")
        (folder / "vocab.txt").write_text("\n".join(_WORDS) + "\n")

    def tensors(self) -> dict[str, torch.Tensor]:
        image = {}
        for name, one in self.swin.state_dict().items():
            for now, then in _THEN:
                name = name.replace(now, then)
            image[f"vision_model.model.{name}"] = one
        block = "vision_model.model.encoder.layers.0.blocks.0.attention.self."
        return {
            **image,
            # Written by the transformers of that time, and nothing that was learned.
            f"{block}relative_position_index": torch.zeros(49, 49, dtype=torch.long),
            "text_model.model.embeddings.position_ids": torch.arange(90)[None],
            **{f"text_model.model.{name}": one for name, one in self.bert.state_dict().items()},
            "vision_model.projection_head.weight": self.image_head,
            "text_model.projection_head.weight": self.text_head,
            "logit_scale": torch.tensor(2.66),
        }

    def encoder(self, folder: Path | None = None) -> MedClipEncoder:
        encoder = MedClipEncoder(str(folder or self.folder), "medclip", "cpu")
        encoder.sizes = SIZES
        return encoder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("medclip"))


@pytest.fixture(autouse=True)
def _no_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub: what the user has there does not count."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def test_pictures_go_through_swin_and_a_projection(made):
    encoder = made.encoder()
    assert encoder.problem() is None
    prepared = [encoder.prepare(draw(i, 50 + 40 * i, 300 - 70 * i), 255) for i in range(3)]
    pixels = torch.from_numpy((np.stack(prepared) / 255 - MEAN) / STD).float()
    with torch.no_grad():
        tokens = made.swin(torch.stack([pixels] * 3, 1)).last_hidden_state
    expected = tokens.mean(1) @ made.image_head.T
    vectors = encoder.encode(prepared)
    assert vectors.dtype == np.float32
    assert np.ptp(vectors, axis=0).max() > 0.1
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    for one, row in zip(prepared, vectors, strict=True):
        np.testing.assert_allclose(encoder.encode([one])[0], row, atol=1e-5)


def _by_hand(made: Made, text: str) -> Any:
    """Layers 1, 2 and the last, the mean over all tokens of a text alone."""
    ids = [2]
    for word in text.lower().split():
        ids += [_WORDS.index(word[0]), *(_WORDS.index(f"##{one}") for one in word[1:])]
    ids = [*ids[:76], 3]
    with torch.no_grad():
        layers = made.bert(torch.tensor([ids]), output_hidden_states=True).hidden_states
    assert len(layers) == 5
    mean = torch.stack([layers[1], layers[2], layers[4]]).mean((0, 2))[0]
    return (made.text_head @ mean).numpy()


def test_texts_are_read_alone_whatever_stands_beside_them(made):
    encoder = made.encoder()
    texts = ["No effusion", "heart", "A cardiac silhouette of " * 6, ""]
    together = encoder.read(texts)
    assert [(one.tokens, one.read) for one in together] == [(12, 12), (7, 7), (122, 77), (2, 2)]
    assert [one.truncated for one in together] == [False, False, True, False]
    for text, one in zip(texts, together, strict=True):
        np.testing.assert_allclose(one.features, _by_hand(made, text), atol=1e-5)
        np.testing.assert_allclose(encoder.read([text])[0].features, one.features, atol=1e-5)


def test_a_closed_encoder_loads_again(made):
    encoder = made.encoder()
    picture = encoder.prepare(draw(1), 255)
    before = encoder.encode([picture])
    encoder.close()
    np.testing.assert_array_equal(encoder.encode([picture]), before)


_RESNET = """
from torchvision.models.resnet import Bottleneck, ResNet
torch.manual_seed(0)
network = ResNet(Bottleneck, [1, 1, 1, 1])
network.fc = torch.nn.Linear(2048, 20, bias=False)
for name, one in network.named_buffers():
    if "running_mean" in name:
        one.normal_(std=0.2)
    if "running_var" in name:
        one.uniform_(0.5, 1.5)
network.eval()
torch.save(network.state_dict(), given["path"])
with torch.no_grad():
    answer["vectors"] = network(torch.from_numpy(given["pixels"])).numpy()
"""


def test_the_resnet_they_publish_beside_it_is_torchvisions(made, tmp_path):
    encoder = made.encoder(tmp_path)
    prepared = [encoder.prepare(draw(i, 230, 230), 255) for i in range(2)]
    grey = ((np.stack(prepared) / 255 - MEAN) / STD).astype(np.float32)
    pixels = np.stack([grey] * 3, 1)
    file = tmp_path / "resnet.pt"
    expected = run_reference(_RESNET, pixels=pixels, path=str(file))["vectors"]
    tensors = {
        name: one for name, one in made.tensors().items() if not name.startswith("vision_model.")
    }
    read = torch.load(file, weights_only=True)
    file.unlink()
    tensors |= {f"vision_model.model.{name}": one for name, one in read.items()}
    torch.save(tensors, tmp_path / "pytorch_model.bin")
    (tmp_path / "vocab.txt").write_text("\n".join(_WORDS) + "\n")
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(encoder.encode(prepared), expected, atol=1e-5)


def test_small_pictures_stand_in_the_middle_of_black(made):
    picture = draw(4, 101, 60)
    red, green, blue = (picture[..., channel].astype(np.int64) for channel in range(3))
    grey = (19595 * red + 38470 * green + 7471 * blue + 2**15) >> 16
    expected = np.zeros((224, 224), np.uint8)
    expected[61:162, 82:142] = grey
    np.testing.assert_array_equal(made.encoder().prepare(picture, 255), expected)
    deep = picture.astype(np.uint16) * 257
    np.testing.assert_array_equal(made.encoder().prepare(deep, 65535), expected)


def test_large_pictures_are_seen_whole(made):
    prepared = made.encoder().prepare(np.full((224, 448, 3), 255, np.uint8), 255)
    assert prepared.shape == (224, 224)
    assert (prepared[:50] == 0).all()
    assert (prepared[174:] == 0).all()
    assert (prepared[62:162] == 255).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"text_model.model.pooler.dense.bias": None}, r"do not fit Bert: no pooler\.dense\.bias"),
        ({"vision_model.model.extra": torch.ones(1)}, "do not fit Swin: unknown extra"),
        (
            {"vision_model.model.layernorm.bias": torch.ones(3)},
            r"do not fit Swin: another shape: layernorm\.bias",
        ),
        ({"vision_model.projection_head.weight": torch.ones(20, 25)}, "another shape: weight"),
        ({"other.weight": torch.ones(1)}, r"this is not MedCLIP: unknown other\.weight"),
        ({"logit_scale": None}, "this is not MedCLIP: no logit_scale"),
    ],
)
def test_weights_that_do_not_fit_are_refused_in_a_line(made, tmp_path, change, said):
    tensors = made.tensors() | change
    file = tmp_path / "pytorch_model.bin"
    torch.save({name: one for name, one in tensors.items() if one is not None}, file)
    (tmp_path / "vocab.txt").write_text("\n".join(_WORDS) + "\n")
    with pytest.raises(InputError, match=said) as caught:
        made.encoder(tmp_path).encode([np.zeros((224, 224), np.uint8)])
    assert str(caught.value).startswith(str(file))
    assert "\n" not in str(caught.value)


class Trap:
    def __reduce__(self) -> Any:
        return (Path.touch, (Path("trap"),))


def test_a_file_that_would_run_code_is_not_read(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"logit_scale": Trap()}, tmp_path / "pytorch_model.bin")
    (tmp_path / "vocab.txt").write_text("\n".join(_WORDS) + "\n")
    with pytest.raises(InputError, match="cannot be read as weights"):
        made.encoder(tmp_path).encode([np.zeros((224, 224), np.uint8)])
    assert not Path("trap").exists()


def test_the_vocabulary_is_found_in_the_hubs_cache(made, tmp_path, _no_hub):
    file = tmp_path / "model" / "pytorch_model.bin"
    file.parent.mkdir()
    file.write_bytes((made.folder / file.name).read_bytes())
    problem = made.encoder(file.parent).problem()
    assert problem is not None
    assert f"'medebench weights get {VOCABULARY}'" in problem
    assert str(file.parent) in problem

    cached = _no_hub / f"models--{VOCABULARY.replace('/', '--')}"
    commit = "ab" * 20
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text(commit)
    snapshot = cached / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (snapshot / "vocab.txt").write_bytes((made.folder / "vocab.txt").read_bytes())
    # A file may be named as well as its folder.
    for source in (file, file.parent):
        encoder = made.encoder(source)
        assert encoder.problem() is None
        np.testing.assert_allclose(
            encoder.read(["heart"])[0].features, _by_hand(made, "heart"), atol=1e-5
        )


def test_case_is_kept_where_the_vocabulary_says_so(made, tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes((made.folder / "pytorch_model.bin").read_bytes())
    (tmp_path / "vocab.txt").write_bytes((made.folder / "vocab.txt").read_bytes())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False}))
    # No capitals are in the vocabulary, so that the word becomes one unknown token.
    assert made.encoder(tmp_path).read(["HEART"])[0].tokens == 3
    assert made.encoder().read(["HEART"])[0].tokens == 7


def test_identity_is_that_of_weights_sizes_and_vocabulary(made, tmp_path):
    identity = made.encoder().identity
    assert re.fullmatch(r"medclip sha256 [0-9a-f]{16} [0-9a-f]{12}", identity)
    assert made.encoder().identity == identity
    assert MedClipEncoder(str(made.folder)).identity != identity
    (tmp_path / "pytorch_model.bin").write_bytes((made.folder / "pytorch_model.bin").read_bytes())
    (tmp_path / "vocab.txt").write_text("\n".join(_WORDS[::-1]) + "\n")
    assert made.encoder(tmp_path).identity != identity


def test_it_is_known_by_the_names_in_its_file(made, tmp_path):
    assert is_medclip(made.folder)
    assert not is_medclip(tmp_path)
    torch.save({"text_model.weight": torch.ones(1)}, tmp_path / "pytorch_model.bin")
    assert not is_medclip(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"no archive")
    assert not is_medclip(tmp_path)
    (tmp_path / "pytorch_model.bin").unlink()
    tensors = {name: one.contiguous() for name, one in made.tensors().items()}
    save_file(tensors, tmp_path / "model.safetensors")
    assert is_medclip(tmp_path)


def test_weights_that_are_nowhere_are_said(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(tmp_path))
    problem = MedClipEncoder().problem()
    assert problem is not None
    assert "medclip: the weights are not on this machine" in problem
