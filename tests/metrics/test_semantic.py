"""isim, talign, dalign: as computed by hand, once a picture, and never a number without meaning."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image
from scipy.spatial import distance

import medebench as mb
from medebench.cases.case import Case
from medebench.encoders.dual import DualEncoder, SingleEncoder
from medebench.encoders.encoder import TextFeatures
from medebench.errors import InputError, NotReadyError
from medebench.metrics import find_metrics, metric_info, not_ready
from medebench.metrics.metric import BatchMetric, Measured, Subject, Undefined
from medebench.metrics.semantic import FAMILIES, change, cosine, info, make, semantic_metric
from tests.conftest import draw
from tests.encoders.plain import PlainEncoder
from tests.systems.conftest import into_cache

#: Those that any encoder can serve.
USUAL = [family for family in FAMILIES if not family.endswith("_published")]
LONG = "the scar is gone and the skin around it looks as it did before, smooth and even. " * 6


@pytest.fixture(autouse=True)
def own_features(tmp_path, monkeypatch) -> Path:
    """No test finds what another has extracted."""
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "features"


@pytest.fixture(scope="module")
def clip(tmp_path_factory) -> Path:
    tiny = pytest.importorskip("tests.encoders.tiny_models", exc_type=ImportError)
    return tiny.tiny_clip(tmp_path_factory.mktemp("models") / "tiny-clip")


@pytest.fixture(scope="module")
def dinov2(tmp_path_factory) -> Path:
    tiny = pytest.importorskip("tests.encoders.tiny_models", exc_type=ImportError)
    return tiny.tiny_dinov2(tmp_path_factory.mktemp("models") / "tiny-dinov2")


@pytest.fixture
def subjects(tmp_path) -> list[Subject]:
    """Five edits of four cases; the last case has two."""
    made = []
    for number, output in ((1, 11), (2, 12), (3, 13), (4, 14), (4, 15)):
        made.append(subject(tmp_path, number, output))
    made[4] = Subject(made[3].case, made[4].output)
    return made


def subject(folder: Path, number: int, output: int, **changes: Any) -> Subject:
    paths = [folder / f"{number}-{role}.png" for role in ("previous", "reference")]
    for seed, path in zip((number, number + 100), paths, strict=True):
        Image.fromarray(draw(seed)).save(path)
    case = Case(
        str(number),
        paths[0],
        f"remove the scar number {number}",
        reference=paths[1],
        description=LONG if number == 2 else "a photograph of the skin without a mole",
        caption=f"skin with {number} scars and a mole",
    )
    return Subject(mb.open_case(replace(case, **changes)), draw(output))


def run(metric: BatchMetric, subjects: Sequence[Subject]) -> list[Measured | Undefined]:
    return metric.measure([metric.prepare(one) for one in subjects])


def values(metric: BatchMetric, subjects: Sequence[Subject]) -> np.ndarray[Any, Any]:
    measured = run(metric, subjects)
    assert all(isinstance(one, Measured) for one in measured)
    return np.array([one.value for one in measured])  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def by_hand(clip):
    """All numbers of one edit, from plain calls of torch, transformers, Pillow and NumPy."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    model = transformers.CLIPModel.from_pretrained(clip).eval()
    own = transformers.AutoImageProcessor.from_pretrained(clip, backend="pil")
    words = transformers.CLIPTokenizer.from_pretrained(clip)

    side = model.config.vision_config.image_size
    mean, deviation = (
        torch.tensor(getattr(own, name))[:, None, None] for name in ("image_mean", "image_std")
    )

    def published(picture: Any) -> Any:
        """The whole picture, squashed by torch without antialiasing."""
        values = torch.from_numpy(picture.copy()).permute(2, 0, 1)[None].float() / 255
        small = torch.nn.functional.interpolate(
            values, size=side, mode="bicubic", align_corners=False
        )
        return (small - mean) / deviation

    def whole(picture: Any) -> Any:
        """The whole picture, squashed by Pillow, which smooths."""
        small = Image.fromarray(picture).resize((side, side), Image.Resampling.BICUBIC)
        values = torch.from_numpy(np.array(small)).permute(2, 0, 1)[None].float() / 255
        return (values - mean) / deviation

    def middle(picture: Any) -> Any:
        return own(images=Image.fromarray(picture), return_tensors="pt")["pixel_values"]

    def unit(vector: Any) -> Any:
        return vector / vector.norm()

    def see(pixels: Any) -> Any:
        with torch.no_grad():
            return unit(model.visual_projection(model.vision_model(pixels).pooler_output)[0])

    def read(text: str) -> Any:
        given = words([text], truncation=True, max_length=77, return_tensors="pt")
        with torch.no_grad():
            return unit(model.text_projection(model.text_model(**given).pooler_output)[0])

    def compute(one: Subject) -> dict[str, float]:
        told: dict[str, float] = {}
        pictures = (one.output, one.case.previous, one.case.reference)
        for ending, frame in (("", whole), ("_published", published)):
            output, previous, reference = (see(frame(picture)) for picture in pictures)
            told[f"isim{ending}"] = 1 - distance.cosine(output, reference)
            for text in ("prompt", "description"):
                vector = read(getattr(one.case.case, text))
                told[f"talign_{text}{ending}"] = 1 - distance.cosine(output, vector)
                told[f"dalign_{text}{ending}"] = 1 - distance.cosine(output - previous, vector)
        after, before = read(one.case.case.prompt), read(one.case.case.caption)
        way = see(middle(one.output)) - see(middle(one.case.previous))
        told["edit_score"] = 1 - distance.cosine(way, after - before)
        return told

    return compute


@pytest.mark.parametrize("family", FAMILIES)
def test_numbers_are_those_computed_by_hand(clip, by_hand, subjects, family):
    metric = make(family, str(clip), "cpu", 2)
    assert metric.name == f"{family}_tiny-clip" and metric.problem() is None
    mine = values(metric, subjects)
    own = np.array([by_hand(one)[family] for one in subjects])
    assert np.abs(mine - own).max() < 1e-5
    # Far enough from each other that a wrong one would show.
    assert np.ptp(own) > 0.01


@pytest.mark.parametrize("family", FAMILIES)
def test_a_hub_id_gives_the_same_numbers(clip, subjects, family, tmp_path, monkeypatch):
    hub = tmp_path / "hub"
    hub.mkdir()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(hub))
    into_cache(clip, hub, "someone/tiny_clip")
    (metric,) = find_metrics([f"{family}:someone/tiny_clip"])
    assert isinstance(metric, BatchMetric) and metric.name == f"{family}_someone/tiny_clip"
    # What a ledger calls it is found under that name.
    assert find_metrics([metric.name])[0].name == metric.name
    assert metric_info(metric.name) == metric.info
    folder = make(family, str(clip), "auto", None)
    assert np.array_equal(values(metric, subjects), values(folder, subjects))
    assert "someone/tiny_clip@" in metric.variant and metric.variant != folder.variant


@pytest.mark.parametrize("family", FAMILIES)
def test_batch_and_order_do_not_matter(clip, subjects, family, tmp_path, monkeypatch):
    found = []
    for number, (batch, order) in enumerate(((16, 1), (1, 1), (3, -1))):
        monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / str(number)))
        metric = make(family, str(clip), "cpu", batch)
        found.append(values(metric, subjects[::order])[::order])
    assert np.ptp(found, axis=0).max() < 1e-5
    metric = make(family, str(clip), "cpu", None)
    alone = np.concatenate([values(metric, [one]) for one in subjects])
    assert np.abs(alone - found[0]).max() < 1e-5


def test_isim_of_a_model_without_texts(dinov2, subjects):
    transformers = pytest.importorskip("transformers")
    model = transformers.Dinov2Model.from_pretrained(dinov2).eval()
    own = transformers.AutoImageProcessor.from_pretrained(dinov2, backend="pil")

    def see(picture: Any) -> Any:
        # Nothing is cut off a square.
        side = model.config.image_size
        small = Image.fromarray(picture).resize((side, side), Image.Resampling.BICUBIC)
        pixels = own(images=small, return_tensors="pt")["pixel_values"]
        return model(pixels).pooler_output[0].detach().numpy()

    hand = [1 - distance.cosine(see(one.output), see(one.case.reference)) for one in subjects]
    metric = semantic_metric("isim", SingleEncoder(str(dinov2), name="mine"))
    assert metric.name == "isim_mine"
    assert np.abs(values(metric, subjects) - hand).max() < 1e-5


def test_texts_are_refused_where_none_are_read(dinov2):
    words = "has no text encoder"
    for family in ("talign_prompt", "dalign_description"):
        with pytest.raises(InputError, match=words):
            semantic_metric(family, SingleEncoder(str(dinov2)))
        with pytest.raises(InputError, match=words):
            make(family, str(dinov2), "auto", None)
        # A known one is refused before its weights are looked for.
        with pytest.raises(InputError, match=f"{words}; use isim_rad-dino") as error:
            make(family, "rad-dino", "auto", None)
        assert not isinstance(error.value, NotReadyError)


def test_each_picture_goes_through_the_network_once(subjects):
    encoder = PlainEncoder()
    metrics = [semantic_metric(family, encoder) for family in USUAL]
    prepared = {metric: [metric.prepare(one) for one in subjects] for metric in metrics}
    for metric in metrics:
        metric.measure(prepared[metric])
    extractor: Any = metrics[0].extractor  # type: ignore[attr-defined]
    assert all(metric.extractor is extractor for metric in metrics)  # type: ignore[attr-defined]
    # Five outputs, four references, four previous pictures; four prompts, four captions, two
    # descriptions.
    assert extractor.extracted == 13 + 10


def test_each_picture_is_hashed_and_prepared_once(subjects, monkeypatch):
    shown: list[int] = []
    encoder = PlainEncoder()
    metrics = [semantic_metric(family, encoder) for family in USUAL]
    extractor: Any = metrics[0].extractor  # type: ignore[attr-defined]
    plain = extractor.show
    monkeypatch.setattr(extractor, "show", lambda *given: shown.append(1) or plain(*given))
    for one in subjects:
        for metric in metrics:
            metric.prepare(one)
    assert len(shown) == 5 + 4 + 4


def test_the_second_time_nothing_is_extracted(clip, subjects, own_features):
    first = {family: values(make(family, str(clip), "cpu", 4), subjects) for family in FAMILIES}
    # One for each way to frame a picture.
    assert len(list(own_features.glob("tiny-clip-*.sqlite"))) == 3
    for one in subjects:
        one.memo.clear()
        one.case.memo.clear()
    # Nobody holds the extractor any more, so this one is new.
    metrics = {family: make(family, str(clip), "cpu", 4) for family in FAMILIES}
    for family, metric in metrics.items():
        assert np.array_equal(values(metric, subjects), first[family])
        assert metric.extractor.extracted == 0  # type: ignore[attr-defined]
        assert metric.encoder._network is None  # type: ignore[attr-defined]


def test_another_process_extracts_nothing_and_needs_no_torch(clip, subjects, tmp_path):
    value = values(make("dalign_prompt", str(clip), "cpu", 4), subjects[:1])[0]
    code = f"""
import sys
from pathlib import Path
import numpy as np
from PIL import Image
import medebench as mb
from medebench.cases.case import Case
from medebench.metrics.metric import Subject
from medebench.metrics.semantic import make
case = Case("1", Path({str(subjects[0].case.case.previous)!r}), "remove the scar number 1")
subject = Subject(mb.open_case(case), np.asarray(Image.open({str(tmp_path / "out.png")!r})))
metric = make("dalign_prompt", {str(clip)!r}, "cpu", 4)
print(repr(metric.measure([metric.prepare(subject)])[0].value))
print(metric.extractor.extracted, "torch" in sys.modules)
"""
    Image.fromarray(subjects[0].output).save(tmp_path / "out.png")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [repr(float(value)), "0", "False"]


def test_a_text_that_was_cut_is_said_and_no_other(clip, subjects):
    transformers = pytest.importorskip("transformers")
    words = transformers.CLIPTokenizer.from_pretrained(clip)
    count = len(words(LONG, verbose=False)["input_ids"])
    assert count > 77
    for family in ("talign_description", "dalign_description"):
        details = [one.detail for one in run(make(family, str(clip), "cpu", None), subjects)]
        assert details[1] == {"encoder": "tiny-clip", "tokens": count, "read": 77}
        assert [one for number, one in enumerate(details) if number != 1] == [{}] * 4
    # Also where it is remembered.
    again = run(make("talign_description", str(clip), "cpu", None), subjects[1:2])
    assert isinstance(again[0], Measured) and again[0].detail["tokens"] == count
    for family in ("isim", "talign_prompt"):
        assert all(one.detail == {} for one in run(make(family, str(clip), "cpu", None), subjects))


@pytest.mark.parametrize(
    ("family", "changes", "reason"),
    [
        ("isim", {"reference": None}, "the case has no reference"),
        ("talign_prompt", {"prompt": ""}, "the case has no prompt"),
        ("dalign_description", {"description": ""}, "the case has no description"),
        ("edit_score", {"caption": ""}, "the case has no caption"),
        ("edit_score", {"prompt": ""}, "the case has no prompt"),
    ],
)
def test_what_the_case_lacks_is_the_reason(tmp_path, family, changes, reason):
    metric = semantic_metric(family, PlainEncoder())
    with pytest.raises(Undefined, match=reason):
        metric.prepare(subject(tmp_path, 1, 2, **changes))


def test_an_edit_that_did_nothing_has_no_direction(tmp_path):
    one = subject(tmp_path, 1, 1)
    for family in ("dalign_prompt", "dalign_description", "edit_score"):
        with pytest.raises(Undefined, match="the output equals the previous image"):
            semantic_metric(family, PlainEncoder()).prepare(one)
    # The others have.
    assert -1 <= values(semantic_metric("talign_prompt", PlainEncoder()), [one])[0] <= 1


def test_an_edit_that_the_encoder_does_not_see_has_no_direction(tmp_path):
    """Columns of one half in another order have the same mean."""
    one = subject(tmp_path, 1, 1)
    output = one.output.copy()
    output[:, 0], output[:, 1] = one.output[:, 1], one.output[:, 0]
    other = subject(tmp_path, 2, 3)
    told = run(semantic_metric("dalign_prompt", PlainEncoder()), [Subject(one.case, output), other])
    assert isinstance(told[0], Undefined) and "sees no difference" in str(told[0])
    assert isinstance(told[1], Measured)


class Nothing(PlainEncoder):
    """Sees nothing at all in black pictures, and reads nothing in texts with a z."""

    @staticmethod
    def vector(picture):
        return np.zeros(6, np.float32) if not picture.any() else PlainEncoder.vector(picture)

    @staticmethod
    def one_read(text):
        read = PlainEncoder.one_read(text)
        return TextFeatures(read.features * 0, 1, 1) if "z" in text else read


def test_vectors_without_direction_give_a_reason(tmp_path):
    plain = subject(tmp_path, 1, 2)
    black = Subject(plain.case, np.zeros_like(plain.output))
    mute = subject(tmp_path, 1, 2, prompt="zero")
    metric = semantic_metric("talign_prompt", Nothing())
    told = run(metric, [plain, black, mute])
    assert isinstance(told[0], Measured)
    for one in told[1:]:
        assert isinstance(one, Undefined) and "zero vector" in str(one)


def test_a_picture_too_narrow_for_the_encoder_is_a_reason(clip, tmp_path):
    path = tmp_path / "narrow.png"
    Image.fromarray(np.zeros((1, 70_000, 3), np.uint8)).save(path)
    case = mb.open_case(Case("narrow", path, "remove the scar", caption="a scar"))
    output = Subject(case, np.ones((1, 70_000, 3), np.uint8))
    with pytest.raises(Undefined, match="too narrow"):
        make("edit_score", str(clip), "cpu", None).prepare(output)
    # Squashed, all of it is seen.
    assert -1 <= values(make("talign_prompt", str(clip), "cpu", None), [output])[0] <= 1


def test_deep_pictures(clip, tmp_path):
    """12 bits in a 16-bit file give nearly the number of the 8-bit picture."""
    one = subject(tmp_path, 1, 2)
    metric = make("isim", str(clip), "cpu", None)
    shallow = values(metric, [one])[0]
    paths = []
    for role in ("previous", "reference"):
        picture = getattr(one.case, role)
        deep = np.rint(picture[..., 0].astype(np.float64) * 4095 / 255).astype(np.uint16)
        paths.append(tmp_path / f"deep-{role}.png")
        Image.fromarray(deep).save(paths[-1])
        Image.fromarray(picture[..., 0]).save(tmp_path / f"{role}.png")
    output = np.repeat(one.output[..., :1], 3, axis=2)
    grey = Case("grey", tmp_path / "previous.png", "x", reference=tmp_path / "reference.png")
    deep_case = Case("deep", paths[0], "x", reference=paths[1], bits=12)
    deep_output = np.rint(output.astype(np.float64) * 4095 / 255).astype(np.uint16)
    pair = [
        Subject(mb.open_case(grey), output),
        Subject(mb.open_case(deep_case), deep_output),
    ]
    found = values(metric, pair)
    assert found[0] == found[1] != shallow


def test_what_is_not_ready_is_said_without_work(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert "medebench weights get clip-vit-l14" in (not_ready("isim") or "")
    with pytest.raises(NotReadyError, match="weights get someone/absent"):
        find_metrics(["isim:someone/absent"])
    with pytest.raises(InputError, match="did you mean 'biomedclip'"):
        find_metrics(["isim:biomedclib"])
    metric = make("isim", None, "auto", None)
    assert metric.problem() is not None and metric.variant == ""
    metric.close()


@pytest.mark.parametrize("family", FAMILIES)
def test_what_the_numbers_mean_needs_no_weights(family):
    told = info(family)
    assert told.name == f"{family}_clip-vit-l14"
    assert (told.better, told.low, told.high) == ("higher", -1.0, 1.0)
    others = {"isim": ("reference",), "edit_score": ("prompt", "caption")}
    plain = family.removesuffix("_published")
    assert told.needs == others.get(plain, (plain.partition("_")[2],))
    assert info(family, "vinid/plip").name == f"{family}_vinid/plip"
    assert info(family, "openai/clip-vit-large-patch14") == told


def test_an_encoder_named_after_a_folder_is_understood_without_it(clip):
    name = make("dalign_prompt", str(clip), "cpu", None).name
    told = metric_info(name)
    assert told is not None and told.name == name and told.needs == ("prompt",)
    with pytest.raises(InputError, match="no encoder 'tiny-clip'"):
        find_metrics([name])


def test_there_are_no_other_families():
    with pytest.raises(InputError, match="no metric 'osim'; there are: isim, "):
        info("osim")


finite = st.floats(-1000, 1000, width=32)
vectors = arrays(np.float32, 5, elements=finite)


@given(vectors, vectors)
def test_cosine(one, other):
    if not one.any() or not other.any():
        with pytest.raises(Undefined):
            cosine(one, other)
        return
    value = cosine(one, other)
    assert -1 <= value <= 1 and value == cosine(other, one)
    assert value == pytest.approx(1 - distance.cosine(np.float64(one), np.float64(other)), abs=1e-9)
    assert cosine(one, one) == 1 and cosine(one, -one) == -1
    assert cosine(one * np.float32(4), other) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-40, 1e-20, 1, 1e37])
def test_cosine_of_very_small_and_very_large_vectors(scale):
    one = np.float32([3, 4]) * np.float32(scale)
    assert cosine(one, np.float32([1, 0])) == pytest.approx(0.6, abs=1e-4)
    assert cosine(one, one) == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_cosine_of_what_is_not_finite(bad):
    with pytest.raises(Undefined, match="not finite"):
        cosine(np.float32([bad, 1]), np.float32([1, 1]))


def test_a_change_as_small_as_roundings_is_none():
    vector = np.float32([3, 4])
    with pytest.raises(Undefined, match="sees no difference"):
        change(vector + np.float32(1e-5), vector)
    # The same direction, however long: no edit.
    with pytest.raises(Undefined, match="sees no difference"):
        change(vector * np.float32(1.5), vector)
    assert change(np.float32([5, 12]), vector) == pytest.approx([5 / 13 - 0.6, 12 / 13 - 0.8])


@pytest.fixture(autouse=True, scope="module")
def _no_advice() -> Iterator[None]:
    """transformers says that torchvision is missing; its Pillow form is meant."""
    import logging

    logger = logging.getLogger("transformers")
    level = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(level)


def test_dual_encoders_share_by_what_they_are(clip, subjects):
    """The same weights under two names are one network; the names stay."""
    one = semantic_metric("isim", DualEncoder(str(clip), name="one", device="cpu"))
    two = semantic_metric("isim", DualEncoder(str(clip), name="two", device="cpu"))
    assert np.array_equal(values(one, subjects), values(two, subjects))
    assert one.name != two.name
    assert one.extractor is two.extractor  # type: ignore[attr-defined]
    assert two.extractor.extracted == 9  # type: ignore[attr-defined]
