"""Files of networks: TorchScript, ONNX, and models of transformers, all real and tiny."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medebench.errors import InputError
from medebench.stresstest.predictors import PredictorError, PredictorSpec, find_predictor
from medebench.stresstest.predictors.checked_answers import ask
from tests.conftest import draw
from tests.stresstest.predictors.tiny_onnx import linear_model

torch = pytest.importorskip("torch")

PICTURES = [draw(1), draw(2, 40, 40), draw(3), draw(4, 31, 90)]
IDS = ["a", "b", "c", "d"]


def script(path: Path, network: Any, channels: int = 3, side: int = 32) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.trace(network.eval(), torch.zeros(2, channels, side, side)).save(str(path))
    return path


def classifier(outputs: int, channels: int = 3, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Conv2d(channels, 4, 3, stride=2),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(16, outputs),
    ).eval()


def spec(path: Path, **settings: Any) -> PredictorSpec:
    return PredictorSpec(model=str(path), settings=settings)


def pixels(picture: Any, side: int, top: float = 255.0) -> Any:
    """The picture as torch resizes it."""
    tensor = torch.from_numpy(picture.astype(np.float64) / top).permute(2, 0, 1)[None]
    resized = torch.nn.functional.interpolate(
        tensor, (side, side), mode="bilinear", antialias=True, align_corners=False
    )
    return resized.float()


def test_torchscript_as_torch_itself_has_it(tmp_path):
    network = classifier(3)
    path = script(tmp_path / "net.pt", network)
    mean, std = [0.5, 0.4, 0.3], [0.2, 0.3, 0.25]
    predictor = find_predictor(
        spec(path, output="logits", index=2, size=32, mean=mean, std=std, batch=3),
        "classification",
    )
    assert predictor.problem() is None and predictor.batch == 3
    found = ask(predictor, IDS, PICTURES)
    for one, value in zip(PICTURES, found, strict=True):
        shifted = (pixels(one, 32) - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(std).view(
            3, 1, 1
        )
        with torch.no_grad():
            expected = torch.softmax(network(shifted), 1)[0, 2]
        assert value == pytest.approx(float(expected), abs=2e-6)
    predictor.close()
    assert ask(predictor, IDS, PICTURES) == found, "it loads again"


@pytest.mark.parametrize(("output", "to"), [("logit", torch.sigmoid), ("probability", abs)])
def test_one_channel_own_size_sixteen_bits(tmp_path, output, to):
    network = classifier(1, channels=1)
    if output == "probability":
        network = torch.nn.Sequential(network, torch.nn.Sigmoid()).eval()
    path = script(tmp_path / "net.ts", network, 1)
    deep = [np.repeat(one[..., :1], 3, 2).astype(np.uint16) * 16 for one in PICTURES]
    predictor = find_predictor(
        spec(path, output=output, channels=1, scale=[-1, 1]), "classification"
    )
    found = ask(predictor, IDS, deep, [12] * 4)
    for one, value in zip(deep, found, strict=True):
        tensor = torch.from_numpy(one[None, None, ..., 0].astype(np.float64) / 4095 * 2 - 1)
        with torch.no_grad():
            assert value == pytest.approx(float(to(network(tensor.float()))), abs=2e-5)


def test_masks_in_the_picture_s_own_size(tmp_path):
    torch.manual_seed(1)
    network = torch.nn.Conv2d(3, 3, 5, stride=4, padding=2)
    path = script(tmp_path / "net.pt", network)

    def made(**more: Any) -> Any:
        return find_predictor(spec(path, size=64, **more), "segmentation")

    logits = [network(pixels(one, 64)).detach() for one in PICTURES]
    large = [
        torch.nn.functional.interpolate(one, p.shape[:2], mode="bilinear", align_corners=False)[0]
        for one, p in zip(logits, PICTURES, strict=True)
    ]
    large[1] = torch.nn.functional.interpolate(
        logits[1], PICTURES[1].shape[:2], mode="bilinear", align_corners=False, antialias=True
    )[0]
    for mask, one in zip(
        ask(made(output="logits", index=[0, 2]), IDS, PICTURES), large, strict=True
    ):
        assert (mask == np.isin(one.argmax(0).numpy(), [0, 2])).mean() > 0.999
    for mask, one in zip(ask(made(output="logit", index=1), IDS, PICTURES), large, strict=True):
        assert (mask == (one[1] >= 0).numpy()).mean() > 0.999


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "output: is missing"),
    ({"output": "logit", "sise": 3}, "no setting 'sise'; it has: output, index, size"),
    ({"output": "softmax"}, "output: Input should be 'logit', 'logits' or 'probability'"),
    ({"output": "logit", "std": 0}, "std: "),
    ({"output": "logit", "mean": [1, 2]}, "mean: expected one number"),
    ({"output": "logit", "size": 0}, "size: expected pixels, such as 224"),
    ({"output": "logit", "scale": [1, 1]}, "scale: expected two numbers"),
    ({"output": "logit", "index": -1}, "index: "),
    ({"output": "logit", "index": [1, 2]}, "index: a classifier has one positive class"),
    ({"output": "logit", "device": "tpu"}, "device: expected one of auto, cpu, cuda, mps"),
]


@pytest.mark.parametrize(("settings", "words"), WRONG, ids=[one[1][:40] for one in WRONG])
def test_settings_that_make_no_sense(settings, words):
    with pytest.raises(InputError) as caught:
        find_predictor(spec(Path("net.pt"), **settings), "classification")
    assert str(caught.value).startswith(f"predictor net: {words}")


def test_files_that_are_no_torchscript(tmp_path):
    def problem(path: Path) -> str:
        return find_predictor(spec(path, output="logit"), "classification").problem() or ""

    assert problem(tmp_path / "no.pt") == f"predictor no: {tmp_path / 'no.pt'}: no such file"
    torch.save(classifier(1).state_dict(), tmp_path / "state.pt")
    (tmp_path / "bad.pt").write_bytes(b"PK\3\4 broken")
    for name in ("state", "bad"):
        said = problem(tmp_path / f"{name}.pt")
        assert f"{name}.pt: not a TorchScript file" in said and "torch.jit.trace" in said
        assert "\n" not in said


def test_outputs_that_do_not_fit_the_settings(tmp_path):
    path = script(tmp_path / "net.pt", classifier(2))
    one = script(tmp_path / "one.pt", classifier(1))

    def said(path: Path, **settings: Any) -> str:
        predictor = find_predictor(spec(path, **settings), "classification")
        with pytest.raises(PredictorError) as caught:
            ask(predictor, IDS, PICTURES)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "predictor net: index: the network gives 2 classes" in said(path, output="logits")
    assert "index: 2 is not among the network's 2" in said(path, output="logits", index=2)
    assert "predictor one: output: the network has a single output" in said(one, output="logits")
    assert "picture a: raised RuntimeError" in said(path, output="logit", index=0, channels=1)
    assert "which is not a probability" in said(path, output="probability", index=1, mean=50)


def test_identity_tells_weights_and_settings_apart_but_not_how(tmp_path):
    path = script(tmp_path / "net.pt", classifier(1))
    other = script(tmp_path / "other.pt", classifier(1, seed=1))

    def identity(path: Path, **settings: Any) -> str:
        return find_predictor(spec(path, output="logit", **settings), "classification").identity

    assert identity(path) == identity(path, batch=2, device="cpu")
    assert len({identity(path), identity(other), identity(path, size=9)}) == 3


# ONNX.


def test_onnx_as_numpy_has_it(tmp_path):
    pytest.importorskip("onnxruntime")
    generator = np.random.default_rng(0)
    weights = generator.normal(size=(3 * 8 * 8, 2)).astype(np.float32) / 9
    path = tmp_path / "net.onnx"
    path.write_bytes(linear_model(weights, (None, 3, 8, 8)))
    predictor = find_predictor(spec(path, output="logits", index=1), "classification")
    assert predictor.problem() is None
    found = ask(predictor, IDS, PICTURES)
    for one, value in zip(PICTURES, found, strict=True):
        logits = pixels(one, 8).numpy().reshape(-1) @ weights.astype(np.float64)
        assert value == pytest.approx(1 / (1 + np.exp(logits[0] - logits[1])), abs=2e-6)
    path.write_bytes(linear_model(weights, (1, 3, 8, 8)))
    alone = find_predictor(spec(path, output="logits", index=1), "classification")
    assert alone.problem() is None and alone.batch == 1
    assert ask(alone, IDS, PICTURES) == pytest.approx(found, abs=1e-6)


@pytest.mark.parametrize("beside", ["net.onnx.data", "net.onnx_data"])
def test_onnx_weights_beside_the_file_are_part_of_it(tmp_path, beside):
    (tmp_path / "net.onnx").write_bytes(b"graph")

    def identity() -> str:
        return find_predictor(
            spec(tmp_path / "net.onnx", output="logit"), "classification"
        ).identity

    alone = identity()
    (tmp_path / "other.onnx.data").write_bytes(b"of another")
    assert identity() == alone
    (tmp_path / beside).write_bytes(b"one")
    first = identity()
    (tmp_path / beside).write_bytes(b"two")
    assert len({alone, first, identity()}) == 3


def test_onnx_files_that_cannot_be_used(tmp_path):
    pytest.importorskip("onnxruntime")
    path = tmp_path / "net.onnx"
    weights = np.ones((3 * 8 * 8, 1), np.float32)

    def problem(data: bytes, **settings: Any) -> str:
        path.write_bytes(data)
        found = find_predictor(spec(path, output="logit", **settings), "classification").problem()
        assert found is not None and "\n" not in found
        return found

    good = linear_model(weights, (None, 3, 8, 8))
    assert "net.onnx: cannot be loaded" in problem(b"nonsense")
    assert "net.onnx: cannot be loaded" in problem(good[:-20])
    assert "channels: the file wants 3, not 1" in problem(good, channels=1)
    assert "size: the file wants 8 x 8; leave it out" in problem(good, size=16)
    assert "takes exactly 4 pictures" in problem(linear_model(weights, (4, 3, 8, 8)))


def test_without_onnxruntime_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("medebench.stresstest.predictors.network_files.find_spec", lambda _: None)
    predictor = find_predictor(spec(tmp_path / "net.onnx", output="logit"), "classification")
    assert predictor.problem() == (
        "predictor net needs onnxruntime; install with: pip install 'medebench[onnx]'"
    )


# transformers.


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    transformers = pytest.importorskip("transformers")
    from medebench.quiet import quiet

    made: dict[str, Path] = {}

    def make(kind: str) -> Path:
        if kind in made:
            return made[kind]
        torch.manual_seed(3)
        names = ["normal", "Pneumothorax", "oedema"]
        if kind == "seg":
            names = ["background", "left lung", "right lung"]
        labels = {
            "id2label": dict(enumerate(names)),
            "label2id": {n: i for i, n in enumerate(names)},
        }
        size = {"height": 32, "width": 32}
        if kind == "seg":
            config = transformers.SegformerConfig(
                depths=[1] * 4,
                hidden_sizes=[8] * 4,
                num_attention_heads=[1] * 4,
                decoder_hidden_size=8,
                **labels,
            )
            network = transformers.SegformerForSemanticSegmentation(config)
            processor = transformers.SegformerImageProcessor
        else:
            config = transformers.ViTConfig(
                hidden_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=16,
                image_size=32,
                patch_size=8,
                problem_type="multi_label_classification" if kind == "many" else None,
                **labels,
            )
            network = transformers.ViTForImageClassification(config)
            processor = transformers.ViTImageProcessor
        with torch.no_grad():
            for name, weight in network.named_parameters():
                if weight.ndim > 1 or "classifier" in name:
                    weight.normal_(0, 0.3)
        folder = made[kind] = tmp_path_factory.mktemp(kind)
        with quiet("transformers"):
            network.save_pretrained(folder)
            processor(size=size).save_pretrained(folder)
        return folder

    return make


def test_a_classifier_of_transformers(saved):
    import transformers
    from PIL import Image

    from medebench.quiet import quiet

    folder = saved("one")
    predictor = find_predictor(spec(folder), "classification", "pneumothorax")
    assert predictor.problem() is None
    found = ask(predictor, IDS, PICTURES)
    with quiet("transformers"):
        network = transformers.ViTForImageClassification.from_pretrained(folder).eval()
        own = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
        for one, value in zip(PICTURES, found, strict=True):
            with torch.no_grad():
                logits = network(**own(Image.fromarray(one), return_tensors="pt")).logits
            assert value == pytest.approx(float(logits.softmax(1)[0, 1]), abs=1e-6)
    assert len({round(one, 3) for one in found}) > 1  # type: ignore[arg-type]


def test_what_transformers_prints_is_kept_from_standard_output(saved, capfd, monkeypatch):
    import transformers

    load, run = (
        transformers.AutoImageProcessor.from_pretrained,
        transformers.ViTForImageClassification.forward,
    )

    def loud(what: Any, *args: Any, **more: Any) -> Any:
        print("loud")
        return what(*args, **more)

    monkeypatch.setattr(
        transformers.AutoImageProcessor, "from_pretrained", lambda *a, **m: loud(load, *a, **m)
    )
    monkeypatch.setattr(
        transformers.ViTForImageClassification, "forward", lambda *a, **m: loud(run, *a, **m)
    )
    predictor = find_predictor(spec(saved("one"), label="oedema"), "classification")
    assert predictor.problem() is None
    ask(predictor, ["a"], PICTURES[:1])
    out, err = capfd.readouterr()
    assert out == "" and err.split() == ["loud", "loud"]


def test_a_classifier_with_many_labels_and_deep_pictures(saved):
    predictor = find_predictor(spec(saved("many"), label="oedema"), "classification", "fluid")
    shallow = ask(predictor, IDS, PICTURES)
    deep = [one.astype(np.uint16) * 257 for one in PICTURES]
    assert ask(predictor, IDS, deep) == pytest.approx(shallow, abs=1e-7)
    softmax = find_predictor(spec(saved("one"), label="oedema"), "classification")
    assert ask(softmax, IDS, PICTURES) != pytest.approx(shallow, abs=1e-3)


def test_a_segmenter_of_transformers(saved):
    import transformers
    from PIL import Image

    from medebench.quiet import quiet

    folder = saved("seg")
    labels = ["left lung", "Right Lung"]
    predictor = find_predictor(spec(folder, label=labels), "segmentation")
    assert predictor.problem() is None
    found = ask(predictor, IDS, PICTURES)
    with quiet("transformers"):
        network = transformers.SegformerForSemanticSegmentation.from_pretrained(folder).eval()
        own = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
        for one, mask in zip(PICTURES, found, strict=True):
            with torch.no_grad():
                said = network(**own(Image.fromarray(one), return_tensors="pt"))
            (classes,) = own.post_process_semantic_segmentation(said, [one.shape[:2]])
            assert (mask == np.isin(classes.numpy(), [1, 2])).mean() > 0.999
    assert any(0 < one.mean() < 1 for one in found)  # type: ignore[union-attr]


def test_models_of_transformers_that_cannot_be_used(saved, tmp_path):
    def problem(path: Any, task: Any, positive: str = "", **settings: Any) -> str:
        made = PredictorSpec(model=str(path), settings=settings)
        found = find_predictor(made, task, positive).problem()
        assert found is not None and "\n" not in found
        return found

    there = "there are: normal, Pneumothorax, oedema"
    assert f"the model has no class 'tumour'; {there}" in problem(
        saved("one"), "classification", "tumour"
    )
    assert "settings.label: is missing" in problem(saved("seg"), "segmentation")
    assert "one positive class" in problem(
        saved("one"), "classification", label=["normal", "oedema"]
    )
    assert "is not a segmentation model" in problem(saved("one"), "segmentation", label="normal")
    assert "no/where: the weights are not on this machine" in problem("no/where", "classification")
    (tmp_path / "folder").mkdir()
    assert "there are no weights" in problem(tmp_path / "folder", "classification")


def test_a_number_of_channels_may_stand_in_the_short_form():
    found = find_predictor("net.pt:output=logit,channels=1", "classification")
    assert found.settings.channels == 1
