"""BioViL-T: pictures and texts as its authors' package sees and reads them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn import functional
from transformers import BertConfig, BertModel, ResNetConfig, ResNetModel

from medebench.encoders.biovil import IMAGE_FILE, BioVilEncoder
from medebench.errors import InputError
from tests.conftest import draw
from tests.references import FOLDER, run_reference

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
_TEXT: dict[str, Any] = {
    "vocab_size": len(_WORDS),
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 20,
}
#: torchvision's names for the parts of a ResNet, from those of transformers.
_TORCHVISION = (
    (r"^embedder\.embedder\.convolution", "conv1"),
    (r"^embedder\.embedder\.normalization", "bn1"),
    (r"^encoder\.stages\.0\.layers", "layer1"),
    (r"^encoder\.stages\.1\.layers", "layer2"),
    (r"^encoder\.stages\.2\.layers", "layer3"),
    (r"^encoder\.stages\.3\.layers", "layer4"),
    (r"layer\.0\.convolution", "conv1"),
    (r"layer\.1\.convolution", "conv2"),
    (r"layer\.2\.convolution", "conv3"),
    (r"layer\.0\.normalization", "bn1"),
    (r"layer\.1\.normalization", "bn2"),
    (r"layer\.2\.normalization", "bn3"),
    (r"shortcut\.convolution", "downsample.0"),
    (r"shortcut\.normalization", "downsample.1"),
)
#: The package imports readers of formats that no test here reads.
_AUTHORS = """
import json, sys, types
from pathlib import Path
import skimage.io, timm.layers, transformers
for name in ("SimpleITK", "pydicom"):
    sys.modules.setdefault(name, types.ModuleType(name))
from health_multimodal.image.data.io import load_image
from health_multimodal.image.data.transforms import create_chest_xray_transform_for_inference
from health_multimodal.image.model.model import ImageModel
from health_multimodal.text.model import CXRBertConfig, CXRBertModel

folder = Path(given["folder"])
torch.manual_seed(1)
image = ImageModel(img_encoder_type="resnet50_multi_image", joint_feature_size=128).eval()
for name, one in image.named_buffers():
    if "running_mean" in name:
        one.normal_(std=0.2)
    if "running_var" in name:
        one.uniform_(0.5, 1.5)
torch.nn.init.normal_(image.encoder.missing_previous_emb)
torch.save(image.state_dict(), folder / given["file_name"])
config = CXRBertConfig(**json.loads(given["text"]))
text = CXRBertModel(config).eval()
for one in text.parameters():
    torch.nn.init.normal_(one, std=0.3)
torch.save(text.state_dict(), folder / "pytorch_model.bin")
config.save_pretrained(folder)

transform = create_chest_xray_transform_for_inference(resize=512, center_crop_size=448)
pixels = torch.stack([transform(load_image(one)) for one in sorted(folder.glob("*.png"))])
answer["pixels"] = pixels.numpy()
with torch.no_grad():
    answer["pictures"] = image(pixels).projected_global_embedding.numpy()
    answer["texts"] = np.concatenate([
        text.get_projected_text_embeddings(
            ids[ids >= 0][None], torch.ones(1, int((ids >= 0).sum())), False
        ).numpy()
        for ids in torch.from_numpy(given["ids"])
    ])
"""


def _ids(text: str) -> list[int]:
    """By hand: words are spelled, the ends are marked, what is too long loses its end."""
    ids = [2]
    for word in text.lower().split():
        ids += [_WORDS.index(word[0]), *(_WORDS.index(f"##{one}") for one in word[1:])]
    return [*ids[:19], 3]


def test_pictures_and_texts_are_those_of_its_authors(tmp_path):
    if not (FOLDER / "health_multimodal").is_dir():
        pytest.skip("health_multimodal is not installed (make test installs it)")
    generator = np.random.default_rng(2)
    pictures = [
        draw(1, 340, 461),
        generator.integers(20, 200, (700, 533, 3), dtype=np.uint8),
        np.repeat(generator.integers(3, 251, (513, 1100, 1), dtype=np.uint8), 3, axis=2),
    ]
    for number, one in enumerate(pictures):
        Image.fromarray(one).save(tmp_path / f"{number}.png")
    (tmp_path / "vocab.txt").write_text("\n".join(_WORDS) + "\n")
    texts = ["No effusion.", "heart", "The heart is of normal size!"]
    # They drop the marks at the end before they cut a text into pieces.
    rows = [_ids(text.rstrip(".!")) for text in texts]
    ids = np.full((3, 20), -1)
    for row, one in zip(ids, rows, strict=True):
        row[: len(one)] = one
    authors = run_reference(
        _AUTHORS, folder=str(tmp_path), file_name=IMAGE_FILE, text=json.dumps(_TEXT), ids=ids
    )

    encoder = BioVilEncoder(str(tmp_path), "biovil-t", "cpu")
    assert encoder.problem() is None
    prepared = [encoder.prepare(one, 255) for one in pictures]
    for seen, one in zip(prepared, authors["pixels"], strict=True):
        np.testing.assert_allclose(np.stack([seen / 255] * 3), one, atol=1e-6)
    vectors = encoder.encode(prepared)
    assert vectors.shape == (3, 128)
    assert np.ptp(authors["pictures"], axis=0).max() > 0.1
    np.testing.assert_allclose(vectors, authors["pictures"], rtol=1e-5, atol=1e-5)
    reads = encoder.read(texts)
    assert [(one.tokens, one.read) for one in reads] == [(12, 12), (7, 7), (24, 20)]
    np.testing.assert_allclose(
        np.stack([one.features for one in reads]), authors["texts"], atol=1e-5
    )


class Made:
    """A model with random weights, and a folder as published that holds it."""

    def __init__(self, folder: Path) -> None:
        torch.manual_seed(4)
        self.folder = folder
        self.trunk = ResNetModel(ResNetConfig()).eval()
        self.image = {
            "encoder.backbone_to_vit.weight": torch.randn(256, 2048, 1, 1) / 45,
            "encoder.missing_previous_emb": torch.randn(1, 256, 1, 1),
            "projector.model.0.weight": torch.randn(128, 512, 1, 1) / 20,
            "projector.model.1.weight": torch.rand(128),
            "projector.model.1.bias": torch.randn(128),
            "projector.model.1.running_mean": torch.randn(128),
            "projector.model.1.running_var": torch.rand(128) + 0.5,
            "projector.model.1.num_batches_tracked": torch.tensor(7),
            "projector.model.3.weight": torch.randn(128, 128, 1, 1) / 10,
            "projector.model.3.bias": torch.randn(128),
        }
        tensors = dict(self.image)
        for name, one in self.trunk.state_dict().items():
            for now, then in _TORCHVISION:
                name = re.sub(now, then, name)
            tensors[f"encoder.encoder.{name}"] = one
        # What compares with an earlier picture, and what once told cats from dogs.
        tensors["encoder.vit_pooler.type_embed"] = torch.ones(2, 1, 256)
        tensors["encoder.encoder.fc.weight"] = torch.ones(1000, 2048)
        torch.save(tensors, folder / IMAGE_FILE)
        self.bert = BertModel(BertConfig(**_TEXT), add_pooling_layer=False).eval()
        self.head = {
            "dense_to_hidden.weight": torch.randn(128, 32),
            "dense_to_hidden.bias": torch.randn(128),
            "LayerNorm.weight": torch.rand(128),
            "LayerNorm.bias": torch.randn(128),
            "dense_to_output.weight": torch.randn(128, 128) / 10,
            "dense_to_output.bias": torch.randn(128),
        }
        self.write(folder)

    def write(self, folder: Path, **changed: Any) -> Path:
        """All but the large file, which is linked."""
        tensors = {f"bert.{name}": one for name, one in self.bert.state_dict().items()}
        tensors |= {f"cls_projection_head.{name}": one for name, one in self.head.items()}
        tensors |= {"cls.predictions.bias": torch.ones(3), **changed}
        torch.save(
            {name: one for name, one in tensors.items() if one is not None},
            folder / "pytorch_model.bin",
        )
        (folder / "vocab.txt").write_text("\n".join(_WORDS) + "\n")
        (folder / "config.json").write_text(json.dumps({**_TEXT, "model_type": "cxr-bert"}))
        if not (folder / IMAGE_FILE).exists():
            (folder / IMAGE_FILE).symlink_to(self.folder / IMAGE_FILE)
        return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("biovil"))


@pytest.fixture(scope="module")
def encoder(made: Made) -> BioVilEncoder:
    return BioVilEncoder(str(made.folder), "biovil-t", "cpu")


def test_pictures_by_hand(made, encoder):
    prepared = [encoder.prepare(draw(i, 100 + 30 * i, 160), 255) for i in range(2)]
    pixels = torch.from_numpy(np.stack(prepared) / np.float32(255))
    with torch.no_grad():
        seen = made.trunk(torch.stack([pixels] * 3, 1)).last_hidden_state
    image = made.image
    seen = torch.einsum("oi,bihw->bohw", image["encoder.backbone_to_vit.weight"][..., 0, 0], seen)
    alone = image["encoder.missing_previous_emb"] * torch.ones_like(seen)
    joint = torch.einsum(
        "oi,bihw->bohw", image["projector.model.0.weight"][..., 0, 0], torch.cat([seen, alone], 1)
    )
    mean, var, weight, bias = (
        image[f"projector.model.1.{one}"][:, None, None]
        for one in ("running_mean", "running_var", "weight", "bias")
    )
    joint = ((joint - mean) / (var + 1e-5).sqrt() * weight + bias).clamp(min=0)
    projection = image["projector.model.3.weight"][..., 0, 0]
    expected = joint.mean((2, 3)) @ projection.T + image["projector.model.3.bias"]
    vectors = encoder.encode(prepared)
    np.testing.assert_allclose(vectors, expected, rtol=1e-5, atol=1e-5)
    assert np.ptp(vectors, axis=0).max() > 0.01
    np.testing.assert_allclose(encoder.encode(prepared[1:])[0], vectors[1], atol=1e-5)


def test_texts_by_hand(made, encoder):
    texts = ["No effusion", "heart...", "", "a very long text of many words"]
    reads = encoder.read(texts)
    assert [(one.tokens, one.read) for one in reads] == [(12, 12), (7, 7), (2, 2), (26, 20)]
    assert [one.truncated for one in reads] == [False, False, False, True]
    head = made.head
    for text, one in zip(texts, reads, strict=True):
        with torch.no_grad():
            first = made.bert(torch.tensor([_ids(text.rstrip("."))])).last_hidden_state[0, 0]
        hidden = functional.gelu(
            head["dense_to_hidden.weight"] @ first + head["dense_to_hidden.bias"]
        )
        hidden = (hidden - hidden.mean()) / hidden.std(correction=0)
        hidden = hidden * head["LayerNorm.weight"] + head["LayerNorm.bias"]
        expected = head["dense_to_output.weight"] @ hidden + head["dense_to_output.bias"]
        np.testing.assert_allclose(one.features, expected, atol=1e-5)
        np.testing.assert_allclose(encoder.read([text])[0].features, one.features, atol=1e-5)


def test_what_a_picture_has_of_grey_is_stretched(encoder):
    dark = np.full((512, 512, 3), 10, np.uint8)
    dark[:, 256:] = 20
    seen = encoder.prepare(dark, 255)
    assert seen.shape == (448, 448)
    assert (seen[:, :224] == 0).all()
    assert (seen[:, 224:] == 255).all()
    # The range of the file does not matter, only what is in it.
    np.testing.assert_array_equal(encoder.prepare(dark.astype(np.uint16) * 100, 65535), seen)
    assert (encoder.prepare(np.full((60, 50, 3), 99, np.uint8), 255) == 0).all()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"cls_projection_head.LayerNorm.bias": None}, r"no LayerNorm\.bias"),
        ({"cls_projection_head.LayerNorm.bias": torch.ones(5)}, r"another shape: LayerNorm\.bias"),
        ({"roberta.weight": torch.ones(1)}, r"is not the text model of BioViL-T: unknown roberta"),
        ({"bert.embeddings.LayerNorm.bias": None}, "do not fit Bert: no embeddings"),
    ],
)
def test_texts_weights_that_do_not_fit_are_refused_in_a_line(made, tmp_path, changed, said):
    made.write(tmp_path, **changed)
    with pytest.raises(InputError, match=said) as caught:
        BioVilEncoder(str(tmp_path), device="cpu").read(["heart"])
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "pytorch_model.bin") in str(caught.value)


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        ({"fc.weight": torch.ones(1)}, r"this is not BioViL-T: no encoder\..*; unknown fc\.weight"),
        ({"encoder.missing_previous_emb": torch.ones(1)}, "another shape: encoder.missing_prev"),
        ([torch.ones(1)], "no named tensors"),
    ],
)
def test_other_image_weights_are_refused_in_a_line(made, tmp_path, tensors, said):
    torch.save(tensors, tmp_path / IMAGE_FILE)
    made.write(tmp_path)
    with pytest.raises(InputError, match=said) as caught:
        BioVilEncoder(str(tmp_path), device="cpu").encode([np.zeros((448, 448), np.uint8)])
    assert "\n" not in str(caught.value)


def test_what_is_missing_is_named_before_any_work(made, tmp_path, monkeypatch):
    def problem(*gone: str) -> str:
        made.write(tmp_path)
        for one in gone:
            (tmp_path / one).unlink()
        return BioVilEncoder(str(tmp_path), device="cpu").problem() or ""

    assert problem() == ""
    assert f"has no {IMAGE_FILE}" in problem(IMAGE_FILE)
    assert "has no model.safetensors or pytorch_model.bin" in problem("pytorch_model.bin")
    assert "has no vocab.txt" in problem("vocab.txt")
    assert "has no config.json" in problem("config.json")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    nowhere = BioVilEncoder("biovil-t").problem()
    assert nowhere is not None
    assert "medebench weights get biovil-t" in nowhere


def test_identity_is_that_of_weights_and_vocabulary(made, tmp_path):
    first, second = (BioVilEncoder(str(made.write(tmp_path))).identity for _ in range(2))
    assert re.fullmatch(r"biovil-t sha256 [0-9a-f]{16} [0-9a-f]{12}", first)
    assert first == second
    (tmp_path / "vocab.txt").write_text("\n".join(_WORDS[::-1]) + "\n")
    assert BioVilEncoder(str(tmp_path)).identity != first


def test_a_batch_of_nothing_is_refused(made):
    with pytest.raises(InputError, match="batch=0 must be at least 1"):
        BioVilEncoder(str(made.folder), batch=0)
    assert BioVilEncoder(str(made.folder), batch=3).batch == 3
