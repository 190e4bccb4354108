"""`file.py:Name`, and the one check that every predictor's answers go through."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medebench.errors import InputError
from medebench.stresstest.predictions import PredictionStore, predict_all
from medebench.stresstest.predictors import Predictor, PredictorError, PredictorSpec, find_predictor
from medebench.stresstest.predictors.checked_answers import ask
from tests.conftest import draw

PICTURES = [draw(i) for i in range(4)]
IDS = ["a", "b", "c", "d"]
#: Mean of red of the third picture, by which a predictor recognises it.
THIRD = float(PICTURES[2][..., 0].mean())


@pytest.fixture
def own(tmp_path: Path) -> Callable[..., Predictor]:
    def make(code: str, name: str = "P", task: Any = "classification", **more: Any) -> Predictor:
        (tmp_path / "own.py").write_text("import numpy as np\n" + code)
        return find_predictor(PredictorSpec(model=f"{tmp_path}/own.py:{name}", **more), task)

    return make


def test_a_class_a_function_and_settings(own):
    klass = own(
        "class P:\n"
        "    identity = 'weights 1'\n"
        "    batch = 3\n"
        "    def __init__(self, top=255): self.top = top\n"
        "    def predict(self, pictures): return [p.mean() / self.top for p in pictures]\n",
        settings={"top": 510},
    )
    assert klass.problem() is None
    assert (klass.name, klass.batch) == ("P", 3)
    expected = [float(one.mean()) / 510 for one in PICTURES]
    assert ask(klass, IDS, PICTURES) == pytest.approx(expected, abs=1e-15)
    assert "weights 1" in klass.identity
    function = own("def f(pictures, top): return np.array([[p.mean() / top] for p in pictures])",
                   "f", settings={"top": 255})  # fmt: skip
    assert function.problem() is None
    assert ask(function, IDS, PICTURES) == pytest.approx([2 * one for one in expected], abs=1e-15)


def test_identity_tells_code_and_settings_apart(own):
    code = "def f(pictures, top=1): return [0.5] * len(pictures)"
    same = {own(code, "f").identity, own(code, "f").identity}
    others = {own(code, "f", settings={"top": 2}).identity, own(code + "\n# x", "f").identity}
    assert len(same) == 1 and len(same | others) == 3


WEIGHED = (
    "from pathlib import Path\n"
    "class P:\n"
    "    def __init__(self, **given): pass\n"
    "    def predict(self, pictures): return [0.5] * len(pictures)\n"
)


@pytest.mark.parametrize("place", ["plan", "beside", "here", "whole"])
@pytest.mark.parametrize("nested", [False, True])
def test_identity_tells_the_files_that_settings_name_apart(
    own, tmp_path, monkeypatch, place, nested
):
    (tmp_path / "plan").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    folder = {"plan": tmp_path / "plan", "here": tmp_path / "here"}.get(place, tmp_path)
    named = str(folder / "net.bin") if place == "whole" else "net.bin"
    given = {"nets": [{"weights": named}]} if nested else {"weights": named}

    def identity() -> str:
        return own(WEIGHED, settings=given, folder=str(tmp_path / "plan")).identity

    without = identity()
    (folder / "net.bin").write_bytes(b"one")
    first = identity()
    assert first == identity() != without
    (folder / "net.bin").write_bytes(b"two")
    assert identity() not in (first, without)
    (folder / "net.bin").write_bytes(b"one")
    assert identity() == first


def test_settings_that_are_no_paths_do_no_harm(own):
    odd = {"a": "x" * 5000, "b": "nul\0byte", "c": "~nobody-of-this-name/x", "d": "", "e": "."}
    assert own(WEIGHED, settings=odd).problem() is None


def test_retrained_weights_that_nobody_named_are_noticed(own, tmp_path):
    code = (
        "from pathlib import Path\n"
        "class P:\n"
        "    def __init__(self):\n"
        "        self.w = float((Path(__file__).parent / 'w.txt').read_text())\n"
        "    def predict(self, pictures): return [self.w * p.mean() / 255 for p in pictures]\n"
    )
    shown = [(name, lambda one=one: one) for name, one in zip(IDS, PICTURES, strict=True)]
    for weight in (0.5, 0.75):
        (tmp_path / "w.txt").write_text(str(weight))
        with PredictionStore(tmp_path / "p.sqlite") as store:
            found = dict(predict_all(own(code), shown, store))
        expected = [weight * float(one.mean()) / 255 for one in PICTURES]
        assert list(found.values()) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("generator", [False, True])
def test_what_a_predictor_prints_is_kept_from_standard_output(own, capfd, generator):
    ending = "        for p in pictures:\n            print('six')\n            yield 0.5\n"
    code = (
        "print('one')\n"
        "class P:\n"
        "    def __init__(self): print('two')\n"
        "    @property\n"
        "    def identity(self):\n"
        "        print('three')\n"
        "        return 'x'\n"
        "    def close(self): print('four')\n"
        "    def predict(self, pictures):\n"
        "        print('five')\n"
    ) + (ending if generator else "        return [0.5] * len(pictures)\n")
    predictor = own(code)
    assert predictor.problem() is None
    assert ask(predictor, IDS, PICTURES) == [0.5] * 4
    predictor.close()
    out, err = capfd.readouterr()
    assert out == ""
    said = "one two three five" + " six" * 4 * generator + " four"
    assert err.split() == said.split()


def test_what_a_generator_raises_names_the_picture(own):
    predictor = own("def f(pictures):\n    yield 1 / 0", "f")
    with pytest.raises(PredictorError, match="picture a: raised ZeroDivisionError"):
        ask(predictor, ["a"], PICTURES[:1])


def test_tensors_with_gradients_are_taken(own):
    torch = pytest.importorskip("torch")
    tensor = own(
        "import torch\n"
        "def f(pictures):\n"
        "    x = torch.tensor([float(p.mean()) for p in pictures], requires_grad=True)\n"
        "    return torch.sigmoid(x / 100).unsqueeze(1)",
        "f",
    )
    expected = torch.sigmoid(torch.tensor([float(one.mean()) / 100 for one in PICTURES])).tolist()
    assert ask(tensor, IDS, PICTURES) == pytest.approx(expected, abs=1e-6)


ON_THIRD = f"abs(float(p[..., 0].mean()) - {THIRD}) < 1e-9"
WRONG = [
    (f"[1 / (0 if {ON_THIRD} else 2) for p in pictures]",
     "picture c: raised ZeroDivisionError: division by zero; "),
    (f"[float('nan') if {ON_THIRD} else 0.5 for p in pictures]",
     "picture c: returned NaN; return a list with one probability"),
    (f"[float('inf') if {ON_THIRD} else 0.5 for p in pictures]",
     "picture c: returned an infinite number"),
    (f"[3.25 if {ON_THIRD} else 0.5 for p in pictures]",
     "picture c: returned 3.25, which is not a probability"),
    (f"[-0.1 if {ON_THIRD} else 0.5 for p in pictures]", "picture c: returned -0.1, which is not"),
    (f"[None if {ON_THIRD} else 0.5 for p in pictures]", "picture c: returned nothing; return"),
    (f"['high' if {ON_THIRD} else 0.5 for p in pictures]", "picture c: returned 'high'; return"),
    ("[[0.5, 0.5]] * len(pictures)", "picture a: returned 2 numbers for one picture; return the"),
    ("[0.5, 0.5, 0.5]", "picture a: returned 3 answers for 1 picture; return a list with one"),
    ("[]", "picture a: returned 0 answers for 1 picture"),
    ("None", "picture a: returned nothing; return a list with one probability"),
    ("0.5", "picture a: returned an object of type float; return a list"),
    ("{'a': 1}", "picture a: returned an object of type dict"),
    ("exit(3)", "picture a: raised SystemExit: 3"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "words"), WRONG, ids=[one[1][:45] for one in WRONG])
def test_what_is_no_answer_is_one_line_that_names_the_picture(own, answer, words):
    predictor = own(f"def f(pictures): return {answer}", "f")
    with pytest.raises(PredictorError) as caught:
        ask(predictor, IDS, PICTURES)
    said = str(caught.value)
    assert said.startswith(f"predictor f: {words}") and "\n" not in said


def test_one_that_takes_one_picture_at_a_time_gets_them_so(own):
    predictor = own("def f(pictures):\n    (one,) = pictures\n    return [one.mean() / 255]", "f")
    expected = [float(one.mean()) / 255 for one in PICTURES]
    assert ask(predictor, IDS, PICTURES) == pytest.approx(expected, abs=1e-15)
    assert predictor.batch == 1


def test_a_predictor_cannot_change_the_pictures(own):
    predictor = own("def f(pictures):\n    pictures[0][:] = 0\n    return [0.5]", "f")
    picture = PICTURES[0].copy()
    picture.setflags(write=False)
    assert ask(predictor, ["a"], [picture]) == [0.5]
    assert (picture == PICTURES[0]).all()


@given(value=st.floats())
def test_nothing_but_probabilities_gets_past(value):
    class Fixed(Predictor):
        name, task, identity = "fixed", "classification", "fixed"

        def predict(self, pictures: Any) -> Any:
            return [value]

    try:
        (found,) = ask(Fixed(), ["a"], PICTURES[:1])
    except PredictorError:
        assert not 0 <= value <= 1
    else:
        assert 0 <= found <= 1 and abs(found - value) <= 1e-6


MASKS = [
    ("p[..., 0] > 99", lambda p: p[..., 0] > 99),
    ("(p[..., 0] > 99).astype(int)", lambda p: p[..., 0] > 99),
    ("(p[..., :1] > 99) * np.uint8(255)", lambda p: p[..., 0] > 99),
    ("p[None, ..., 0] / 255.0", lambda p: p[..., 0] / 255.0 >= 0.5),
]


@pytest.mark.parametrize(("code", "expected"), MASKS)
def test_masks(own, code, expected):
    predictor = own(f"def f(pictures): return [{code} for p in pictures]", "f", "segmentation")
    for mask, picture in zip(ask(predictor, IDS, PICTURES), PICTURES, strict=True):
        assert mask.dtype == np.bool_ and (mask == expected(picture)).all()  # type: ignore[union-attr]
        assert 0 < mask.mean() < 1  # type: ignore[union-attr]


WRONG_MASKS = [
    ("p[:40, :, 0] > 9", "a mask of 40 x 64 for a picture of 48 x 64; return a list with one mask"),
    ("p > 9", "a mask of 48 x 64 x 3 for a picture of 48 x 64"),
    ("0.5", "a mask of a single number for a picture of 48 x 64"),
    ("p[..., 0] * np.nan", "a mask with NaN or infinity"),
    ("p[..., 0] * 1.0", "a mask with values from"),
]


@pytest.mark.parametrize(("code", "words"), WRONG_MASKS)
def test_masks_that_are_none(own, code, words):
    predictor = own(f"def f(pictures): return [{code} for p in pictures]", "f", "segmentation")
    with pytest.raises(PredictorError, match=f"predictor f: picture a: returned {words}"):
        ask(predictor, IDS, PICTURES)


UNMADE = [
    ("x = 1", {}, "own.py: has no 'P'"),
    ("P = 3", {}, "is neither a class with predict(pictures) nor a function of pictures"),
    ("import nowhere", {}, "ModuleNotFoundError: No module named 'nowhere'"),
    (
        "class P:\n    def __init__(self): raise OSError('no weights')",
        {},
        "predictor P: cannot be created with no settings (OSError: no weights)",
    ),
    ("class P: pass", {"size": 3}, "cannot be created with size (TypeError"),
]


@pytest.mark.parametrize(("code", "settings", "words"), UNMADE)
def test_what_cannot_even_be_made(own, code, settings, words):
    said = own(code, settings=settings).problem()
    assert said is not None and words in said and "\n" not in said


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("no.py:P", "predictor P: no.py: no such file"),
        ("resnet", "no predictor 'resnet'"),
        ("no.py", "name what is in the file, as no.py:Name"),
    ],
)
def test_what_is_not_there(spec, words):
    said = find_predictor(spec, "classification").problem()
    assert said is not None and words in said and "\n" not in said


def test_a_spec_says_what_it_is():
    kinds = {
        "a/mine.py:Net": "python",
        "plugin": "python",
        "net.onnx": "onnx",
        "net.PT:output=logit": "torchscript",
        "owner/model": "transformers",
    }
    for text, kind in kinds.items():
        assert PredictorSpec.model_validate(text).what == kind
    with pytest.raises(
        InputError, match="predictor '': Value error, give exactly one of 'model' or 'command'"
    ):
        find_predictor("", "classification")
    with pytest.raises(InputError, match="is given twice"):
        PredictorSpec.model_validate("a.onnx:size=1,size=2")
