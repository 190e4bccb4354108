"""ImageReward against a network written out here, in the layout of the published checkpoint."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from torch import nn

from medebench.cases import load_cases, open_case
from medebench.errors import InputError, NotReadyError
from medebench.metrics import Measured, Subject, Undefined, find_metrics
from medebench.metrics.reward.reward_metrics import INFOS, make, reward_metric
from medebench.metrics.reward.reward_network import load_network
from medebench.metrics.reward.reward_reader import RewardReader, finish, prepare
from tests.conftest import draw
from tests.references import run_reference

PATCH, SEEN, READ, HEADS, LAYERS = 56, 128, 192, 3, 2
PIECES = (
    "remove the mole from skin of patient ' s face photograph in which ##s un ##clear . , number"
)
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *PIECES.split(), *"0123456789"]


def attend(query, key, value, heads, mask=None):
    """Softmax attention, written out over the heads."""
    parts = []
    for q, k, v in zip(*(one.chunk(heads, dim=-1) for one in (query, key, value)), strict=True):
        scores = torch.einsum("bqc,bkc->bqk", q, k) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask[:, None, :] == 0, -torch.inf)
        parts.append(scores.softmax(dim=-1) @ v)
    return torch.cat(parts, dim=-1)


class Block(nn.Module):
    """A layer of the vision transformer: normalised before each step."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = (nn.LayerNorm(SEEN, eps=1e-6) for _ in range(2))
        self.attn = nn.ModuleDict({"qkv": nn.Linear(SEEN, 3 * SEEN), "proj": nn.Linear(SEEN, SEEN)})
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(SEEN, 160), "fc2": nn.Linear(160, SEEN)})

    def forward(self, x):
        q, k, v = self.attn["qkv"](self.norm1(x)).chunk(3, dim=-1)
        x = x + self.attn["proj"](attend(q, k, v, SEEN // 64))
        return x + self.mlp["fc2"](nn.functional.gelu(self.mlp["fc1"](self.norm2(x))))


class Vision(nn.Module):
    def __init__(self):
        super().__init__()
        self.cls_token = nn.Parameter(torch.empty(1, 1, SEEN))
        self.pos_embed = nn.Parameter(torch.empty(1, (224 // PATCH) ** 2 + 1, SEEN))
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(3, SEEN, PATCH, PATCH)})
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(SEEN, eps=1e-6)

    def forward(self, pixels):
        x = self.patch_embed["proj"](pixels).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), 1, SEEN), x], dim=1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


class Attention(nn.Module):
    """Attention and what follows it in BERT: a linear step, a sum, a normalisation."""

    def __init__(self, width):
        super().__init__()
        parts = {"query": READ, "key": width, "value": width}
        self.self = nn.ModuleDict({name: nn.Linear(one, READ) for name, one in parts.items()})
        self.output = nn.ModuleDict(
            {"dense": nn.Linear(READ, READ), "LayerNorm": nn.LayerNorm(READ, eps=1e-12)}
        )

    def forward(self, x, other, mask=None):
        q, k, v = self.self["query"](x), self.self["key"](other), self.self["value"](other)
        step = self.output["dense"](attend(q, k, v, HEADS, mask))
        return self.output["LayerNorm"](x + step)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.crossattention = Attention(READ), Attention(SEEN)
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(READ, 224)})
        self.output = nn.ModuleDict(
            {"dense": nn.Linear(224, READ), "LayerNorm": nn.LayerNorm(READ, eps=1e-12)}
        )

    def forward(self, x, mask, seen):
        x = self.crossattention(self.attention(x, x, mask), seen)
        step = self.output["dense"](nn.functional.gelu(self.intermediate["dense"](x)))
        return self.output["LayerNorm"](x + step)


class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = nn.Module()
        self.embeddings.word_embeddings = nn.Embedding(len(VOCABULARY) + 2, READ)
        self.embeddings.position_embeddings = nn.Embedding(48, READ)
        self.embeddings.LayerNorm = nn.LayerNorm(READ, eps=1e-12)
        self.embeddings.register_buffer("position_ids", torch.arange(48)[None])
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer() for _ in range(LAYERS))})

    def forward(self, ids, mask, seen):
        e = self.embeddings
        x = e.word_embeddings(ids) + e.position_embeddings(e.position_ids[:, : ids.shape[1]])
        x = e.LayerNorm(x)
        for layer in self.encoder["layer"]:
            x = layer(x, mask, seen)
        return x


class Reference(nn.Module):
    """The published network, small; what it has and does not use is there too."""

    def __init__(self):
        super().__init__()
        self.blip = nn.ModuleDict({"visual_encoder": Vision(), "text_encoder": Text()})
        self.blip["vision_proj"], self.blip["text_proj"] = nn.Linear(SEEN, 8), nn.Linear(READ, 8)
        ends = [nn.Linear(READ, 32), nn.Dropout(), nn.Linear(32, 16), nn.Dropout()]
        ends += [nn.Linear(16, 8), nn.Dropout(), nn.Linear(8, 4), nn.Linear(4, 1)]
        self.mlp = nn.ModuleDict({"layers": nn.Sequential(*ends)})
        with torch.no_grad():
            for name, one in self.named_parameters():
                spread = 0.1 if one.ndim == 1 else 0.9 / one[0].numel() ** 0.5
                one.normal_(1.0 if "norm" in name.lower() and "weight" in name else 0.0, spread)

    def score(self, picture, ids):
        """One picture and one text, neither in a batch nor filled up."""
        pixels = torch.from_numpy(prepare(picture).transpose(2, 0, 1) / 255.0)
        mean = torch.tensor([0.48145466, 0.4578275, 0.40821073], dtype=torch.float64)
        deviation = torch.tensor([0.26862954, 0.26130258, 0.27577711], dtype=torch.float64)
        pixels = (pixels - mean[:, None, None]) / deviation[:, None, None]
        ids = torch.tensor([ids])
        with torch.no_grad():
            seen = self.blip["visual_encoder"](pixels[None].to(self.mlp["layers"][0].weight.dtype))
            read = self.blip["text_encoder"](ids, torch.ones_like(ids), seen)
            raw = self.mlp["layers"](read[:, 0])
        return (float(raw) - 0.16717362830052426) / 1.0333394966054072


def ids_of(text, most=35):
    """The tokens of a text in which every word is in the vocabulary, digits and points apart."""
    words = [VOCABULARY.index(one) if one in VOCABULARY else 1 for one in text.lower().split()]
    return [2, *words[: most - 2], 3]


@pytest.fixture(scope="module")
def reference():
    torch.manual_seed(3)
    return Reference().eval()


@pytest.fixture(scope="module")
def folder(reference, tmp_path_factory):
    made = tmp_path_factory.mktemp("imagereward")
    torch.save(reference.state_dict(), made / "ImageReward.pt")
    config = {"num_attention_heads": HEADS, "hidden_act": "gelu", "layer_norm_eps": 1e-12}
    (made / "med_config.json").write_text(json.dumps(config))
    (made / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    return made


TEXTS = ["remove the mole", "photograph of the face , skin .", "1", "the " * 33, "zebra skin"]


def score(reader, pairs):
    return reader.rewards([reader.ask(picture, 255, text) for picture, text in pairs])


def test_equals_the_written_out_network(reference, folder):
    pictures = [draw(1, 260, 300), draw(2, 300, 224), draw(3, 91, 64)]
    pairs = [(picture, text) for picture in pictures for text in TEXTS]
    found = score(RewardReader(str(folder), "cpu", 4), pairs)
    exact = reference.double()
    wanted = [exact.score(picture, ids_of(text)) for picture, text in pairs]
    reference.float()
    assert np.std(wanted) > 0.1
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


def test_batch_and_order_do_not_matter(folder, tmp_path, monkeypatch):
    pairs = [(draw(n, 70, 80), text) for n in range(3) for text in TEXTS[:3]]
    shuffled = np.random.default_rng(0).permutation(len(pairs))
    found = []
    for batch, order in ((1, range(len(pairs))), (4, shuffled), (16, shuffled[::-1])):
        monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / str(batch)))
        reader = RewardReader(str(folder), "cpu", batch)
        scores = dict(zip(order, score(reader, [pairs[n] for n in order]), strict=True))
        found.append([scores[n] for n in range(len(pairs))])
        assert reader.scored == len(pairs)
    np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=0, atol=1e-6)


@pytest.fixture
def subjects(small_set):
    return [
        Subject(one, draw(9 + n)) for n, one in enumerate(map(open_case, load_cases(small_set)))
    ]


def measure(metric, subjects):
    return metric.measure([metric.prepare(one) for one in subjects])


def test_both_metrics_share_one_look_and_the_second_time_needs_none(
    folder, subjects, tmp_path, monkeypatch, reference
):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path))
    names = list(INFOS)
    first, second = (reward_metric(name, str(folder), "cpu", 3) for name in names)
    assert first.problem() is None and first.reader is second.reader
    found = [measure(metric, subjects) for metric in (first, second)]
    assert (first.reader.looked, first.reader.scored) == (4, 8)
    prompt = reference.score(prepare(subjects[1].output), ids_of("remove the mole number 2 ."))
    assert found[0][1].value == pytest.approx(prompt, abs=1e-5)
    assert {one.value for one in found[0]}.isdisjoint(one.value for one in found[1])

    first.close()
    again = [RewardReader(str(folder), "cpu", 3) for _ in names]
    for metric, reader in zip((first, second), again, strict=True):
        metric.reader = reader
    assert [measure(metric, subjects) for metric in (first, second)] == found
    assert [one.looked + one.scored for one in again] == [0, 0]
    assert not any("_network" in vars(one) for one in again)


def test_a_closed_metric_goes_on(folder, subjects, tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path))
    metric = make("imagereward_prompt", str(folder), "cpu")
    before = measure(metric, subjects[:2])
    metric.close()
    assert measure(metric, subjects[:3])[:2] == before
    assert metric.reader.scored == 3


def test_a_long_text_is_cut_and_said(folder, reference):
    metric = reward_metric("imagereward_prompt", str(folder), "cpu")
    reader = metric.reader
    long = " ".join(["remove the mole from skin"] * 12)
    asked = [reader.ask(draw(1), 255, text) for text in (long, "skin", f"{long} face")]
    whole, short, longer = metric.measure(asked)
    assert whole.detail == {"tokens": 62, "read": 35}
    assert longer.detail == {"tokens": 63, "read": 35}
    assert short.detail == {"tokens": 3, "read": 3}
    assert whole.value == pytest.approx(longer.value, abs=1e-6) != short.value
    assert whole.value == pytest.approx(reference.score(draw(1), ids_of(long)), abs=1e-5)


def test_tokens_are_those_of_transformers(folder):
    from transformers import BertTokenizer

    theirs = BertTokenizer(vocab=str(folder / "vocab.txt"), do_lower_case=True)
    theirs.add_special_tokens({"bos_token": "[DEC]", "additional_special_tokens": ["[ENC]"]})
    reader = RewardReader(str(folder), "cpu")
    texts = [
        "Remove the MOLES, unclear.",
        "patient's fáce\n\t skin 皮 [ENC]",
        "the " * 60,
        ".,." * 30,
    ]
    for text in texts:
        wanted = theirs(text, truncation=True, max_length=35)["input_ids"]
        assert list(reader.read(text).ids) == wanted
        assert reader.read(text).tokens == len(theirs(text, truncation=False)["input_ids"])


TORCHVISION = """
from PIL import Image
from torchvision.transforms import CenterCrop, Compose, InterpolationMode, Normalize, Resize
from torchvision.transforms import ToTensor
steps = Compose([
    Resize(224, interpolation=InterpolationMode.BICUBIC), CenterCrop(224), ToTensor(),
    Normalize((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
])
for name, picture in given.items():
    answer[name] = steps(Image.fromarray(picture)).numpy()
"""


def test_pictures_are_prepared_as_torchvision_does():
    sizes = [(224, 224), (300, 401), (401, 300), (91, 64), (225, 230), (512, 514), (224, 227)]
    pictures = {f"{h}x{w}": draw(h + w, h, w) for h, w in sizes}
    for name, wanted in run_reference(TORCHVISION, **pictures).items():
        found = finish(torch.from_numpy(np.stack([prepare(pictures[name])])))[0]
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6, err_msg=name)


def test_depth_does_not_matter_and_a_thread_of_a_picture_has_no_score():
    eight = draw(4, 80, 100)
    np.testing.assert_array_equal(prepare(eight.astype(np.uint16) * 257, 65535), prepare(eight))
    with pytest.raises(Undefined, match="too narrow"):
        prepare(draw(1, 4, 300))


@pytest.fixture
def changed(folder, reference, tmp_path):
    """The weights with a change; what loading them says."""
    shutil.copy(folder / "vocab.txt", tmp_path)

    def load(change):
        state = dict(reference.state_dict())
        torch.save(change(state) or state, tmp_path / "ImageReward.pt")
        with pytest.raises(InputError) as caught:
            load_network(tmp_path / "ImageReward.pt")
        assert "\n" not in str(caught.value) and str(tmp_path) in str(caught.value)
        return str(caught.value)

    return load


BLOCK = "blip.visual_encoder.blocks.1.attn.qkv.weight"


def without(name):
    return lambda state: {key: one for key, one in state.items() if key != name}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without(BLOCK), f"lacks {BLOCK}"),
        (lambda s: s.update({BLOCK: torch.zeros(4, 3)}), rf"{BLOCK} is (4, 3), not (384, 128)"),
        (lambda s: s.update({f"{BLOCK}s": torch.zeros(1)}), f"unexpected, such as {BLOCK}s"),
        (without("blip.text_encoder.embeddings.LayerNorm.bias"), "LayerNorm.bias"),
        (without("mlp.layers.7.weight"), "does not end in a single number"),
        (without("mlp.layers.2.weight"), "mlp.layers.4 does not match"),
        (
            lambda s: s.update({"blip.visual_encoder.pos_embed": torch.zeros(1, 11, SEEN)}),
            "10 places of 56 pixels",
        ),
        (lambda s: {"model": s}, "lacks blip.visual_encoder"),
        (lambda s: [1, 2], "a list, not named tensors"),
    ],
)
def test_weights_that_do_not_fit_are_named(changed, change, said):
    assert said in changed(change)


def test_settings_that_do_not_fit_are_named(folder, tmp_path):
    shutil.copy(folder / "ImageReward.pt", tmp_path)
    for written, said in (('{"num_attention_heads": 7}', "med_config.json"), ("{", "as JSON")):
        (tmp_path / "med_config.json").write_text(written)
        with pytest.raises(InputError, match=said):
            load_network(tmp_path / "ImageReward.pt")


def test_files_that_are_damaged_or_missing(folder, tmp_path, monkeypatch):
    (tmp_path / "ImageReward.pt").write_bytes(b"not a checkpoint")
    with pytest.raises(InputError, match="not the ImageReward weights"):
        load_network(tmp_path / "ImageReward.pt")
    monkeypatch.delenv("MEDEBENCH_WEIGHTS", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    assert "bert-base-uncased" in str(RewardReader(str(tmp_path)).problem())
    (tmp_path / "bert-base-uncased").mkdir()
    shutil.copy(folder / "vocab.txt", tmp_path / "bert-base-uncased")
    assert RewardReader(str(tmp_path)).problem() is None
    absent = make("imagereward_prompt")
    assert "imagereward" in str(absent.problem()) and absent.variant == "absent"
    with pytest.raises(NotReadyError, match=r"metric 'imagereward_prompt': .*weights"):
        find_metrics(["imagereward_prompt"])


def test_the_tokenizer_must_be_that_of_the_weights(folder, tmp_path):
    shutil.copy(folder / "ImageReward.pt", tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY[:-1]) + "\n")
    reader = RewardReader(str(tmp_path / "ImageReward.pt"), "cpu")
    with pytest.raises(InputError, match=f"trained with {len(VOCABULARY) + 2} tokens"):
        score(reader, [(draw(1), "skin")])


def test_no_number_where_the_network_gives_none(folder, reference, subjects, tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    state = dict(reference.state_dict())
    state["mlp.layers.7.bias"] = torch.tensor([torch.nan])
    torch.save(state, tmp_path / "ImageReward.pt")
    for name in ("vocab.txt", "med_config.json"):
        shutil.copy(folder / name, tmp_path)
    metric = reward_metric("imagereward_description", str(tmp_path), "cpu")
    assert all(isinstance(one, Undefined) for one in measure(metric, subjects))
    assert metric.reader.store.get([one.key for one in map(metric.prepare, subjects)]) == {}


def test_a_case_without_the_text_has_a_reason(folder, make_set):
    (one,) = load_cases(make_set(1, detailed_prompt=""))
    metric = make("imagereward_description", str(folder), "cpu")
    subject = Subject(open_case(one), draw(1))
    with pytest.raises(Undefined, match="no description"):
        metric.prepare(subject)
    other = make("imagereward_prompt", str(folder), "cpu")
    assert isinstance(measure(other, [subject])[0], Measured)


def test_found_in_the_hubs_cache_under_the_older_name_too(folder, subjects, tmp_path, monkeypatch):
    monkeypatch.delenv("MEDEBENCH_WEIGHTS", raising=False)
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    kept = {"THUDM--ImageReward": ("ImageReward.pt", "med_config.json")}
    for name, files in (kept | {"google-bert--bert-base-uncased": ("vocab.txt",)}).items():
        snapshot = tmp_path / f"models--{name}" / "snapshots" / "c0ffee"
        snapshot.mkdir(parents=True)
        (snapshot.parent.parent / "refs").mkdir()
        (snapshot.parent.parent / "refs" / "main").write_text("c0ffee")
        for file in files:
            (snapshot / file).symlink_to(folder / file)
    metrics = find_metrics(INFOS, device="cpu")
    own = [reward_metric(name, str(folder), "cpu") for name in INFOS]
    for metric, other in zip(metrics, own, strict=True):
        assert "c0ffee" in metric.variant != other.variant
        assert measure(metric, subjects) == measure(other, subjects)


def test_found_by_name_with_weights_of_ones_own(folder):
    first, second = find_metrics([f"{name}:{folder}" for name in INFOS], device="cpu")
    assert (first.name, second.name) == tuple(INFOS)
    assert first.variant == second.variant != "absent"
