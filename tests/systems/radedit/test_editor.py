"""RadEdit as an editor: masks from everywhere, batches, refusals, and what the ledger is told."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.errors import InputError
from medebench.systems import find_system
from tests.conftest import draw, write_set
from tests.systems.conftest import same_image
from tests.systems.radedit.conftest import QUICK, box, save_mask

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")

from tests.tiny_pipelines import QUIET  # noqa: E402

pytestmark = QUIET


@pytest.fixture(scope="module")
def model(made):
    return made("stable_diffusion")


@pytest.fixture
def call(model):
    """An editor; those of other settings work with the pipeline that is loaded already."""
    return lambda more="": _shared(f"radedit:{model},{QUICK}{more and ','}{more}")


_loaded = []


def _shared(call):
    one = find_system(call).system
    if not (_loaded and one.share(_loaded[0])):
        one.prepare()
        _loaded[:] = [one]
    return one


def decoded(one, requests):
    """The pictures before they are rounded."""
    frames = [one._frame(request) for request in requests]
    return one._call(list(requests), frames)[0].images


def test_without_guidance_it_is_the_reconstruction(call, request_for):
    """What the autoencoder makes of the input, whatever the masks; observed: no difference."""
    request = request_for("one", 32, 32, edit=(8, 8, 24, 24), keep=(0, 14, 32, 16))
    network = call("guidance=0")._network
    with torch.inference_mode():
        picture = Image.fromarray(request.case.previous)
        plain = network.decode(network.encode([picture]))[0]
    expected = np.round(plain * 255).astype(np.uint8)
    for more in ("", ",masks=none", ",masks=edit,skip=0.5", ",masks=complement"):
        assert np.array_equal(call(f"guidance=0{more}").edit(request).image, expected)
    assert not np.array_equal(call("guidance=9").edit(request).image, expected)


def test_a_batch_is_what_each_case_is_alone(call, request_for):
    """Of the range 0..1. Observed: none in 64 bits, 1.4e-5 in 32."""
    requests = [
        request_for("a", seed=1),
        request_for("b", seed=2, edit=(0, 0, 20, 64), keep=None, prompt="whiten the teeth"),
        request_for("c", seed=3, edit=(40, 40, 64, 64)),
    ]
    one = call("guidance=3,batch=3")
    pipe = one._loaded.pipe
    pipe.to(torch.float64)  # a network of random weights makes much of the last bits of 32
    try:
        together = decoded(one, requests)
        alone = [decoded(one, [request])[0] for request in requests]
    finally:
        pipe.to(torch.float32)
    assert np.abs(together - alone).max() < 1e-6
    assert np.abs(together[0] - together[1]).max() > 0.01
    rounded = [decoded(one, [request])[0] for request in requests]
    assert np.abs(rounded - decoded(one, requests)).max() < 1e-3


def test_seeds(call, request_for):
    one = call("guidance=5")
    first, again, other = (
        one.edit(mb.Request(request_for().case, 0, seed)).image for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_sizes_greys_and_depths_in_one_batch(call, request_for):
    grey = draw(5, 61, 97)[..., 0]
    deep = grey.astype(np.uint16) * 257
    line = (0, 40, 61, 42)
    requests = [
        request_for("colour"),
        request_for("grey", 97, 61, edit=(10, 10, 50, 60), keep=line, pixels=grey),
        request_for("deep", 97, 61, edit=(10, 10, 50, 60), keep=line, pixels=deep),
        request_for("none", edit=None),
        request_for("other", seed=4),
    ]
    results = call("guidance=2,batch=4,paste=true").edit_batch(requests)
    assert isinstance(results[3], mb.Refused) and "no edit mask" in str(results[3])
    for request, result in zip(requests, results, strict=True):
        if isinstance(result, mb.Refused):
            continue
        assert result.image.shape == request.case.previous.shape
        assert result.image.dtype == np.uint8
        kept = request.case.keep
        given = request.case.previous
        given = given if given.dtype == np.uint8 else np.round(given / 257).astype(np.uint8)
        assert np.array_equal(result.image[kept], given[kept])
        assert not np.array_equal(result.image, given)
        assert result.detail["radedit"]["pasted"] is True
    assert results[1].detail["frame"]["canvas"] == [40, 24]
    # Rows of a batch are not computed in the same order of additions.
    assert same_image(results[1].image, results[2].image)


def test_modes_are_baselines_through_the_same_code(call, request_for):
    """Guidance everywhere, under the mask, and with all else put back; each keeps less or more."""
    request = request_for(edit=(24, 24, 40, 40), keep=(24, 30, 40, 32))
    told = {}
    for mode in ("both", "edit", "complement", "none"):
        one = call(f"guidance=9,masks={mode}")
        told[mode] = one.edit(request).detail["radedit"]
        assert find_system(f"radedit:x,masks={mode}").system.sees == {
            "both": ("roi", "keep"),
            "none": (),
        }.get(mode, ("roi",))
    assert told["both"] == {
        "steps": 2,
        "skip": 0.0,
        "guidance": 9.0,
        "base": "",
        "masks": "both",
        "edit_mask": "case",
        "keep_mask": "case",
        "edited": 2 / 64,
        "kept": 2 / 64,
    }
    assert (told["edit"]["kept"], told["edit"]["keep_mask"]) == (0, "none")
    assert told["complement"]["kept"] == 60 / 64 and told["complement"]["edited"] == 4 / 64
    assert told["none"]["masks"] == "none" and "edited" not in told["none"]


@pytest.mark.parametrize(
    ("masks", "more", "reason"),
    [
        ({"edit": None}, "", "no edit mask: the case has no ROI; give one, or use masks=none"),
        ({"edit": np.zeros((64, 64), bool)}, "", "edit mask is empty: nothing may change"),
        ({"keep": np.ones((64, 64), bool)}, "", "keep mask is the whole picture"),
        ({"keep": (10, 10, 50, 50)}, "", "keep mask covers the edit mask"),
        ({"edit": np.ones((64, 64), bool)}, "masks=complement", None),
        ({"edit": None}, "masks=edit", "no edit mask"),
        ({"edit": None, "keep": None}, "masks=none", None),
        ({"keep": None}, "", None),
        ({}, "base=caption", "base=caption: the case has no caption"),
        ({"caption": "the teeth"}, "base=caption", None),
    ],
)
def test_what_cannot_be_edited(masks, more, reason, call, request_for):
    (result,) = call(more).edit_batch([request_for(**masks)])
    if reason is None:
        assert isinstance(result, mb.Output)
    else:
        assert isinstance(result, mb.Refused) and reason in str(result)


def test_the_base_prompt_is_that_of_the_inversion(call, request_for):
    request = request_for(caption="whiten the stained teeth")  # the prompt's own words
    own = call("guidance=9,base=caption").edit(request)
    plain = call("guidance=0").edit(request)
    # Where the base says what the text says, guidance has nothing to add.
    assert same_image(own.image, plain.image)
    assert own.detail["radedit"]["base"] == "whiten the stained teeth"
    assert not np.array_equal(call("guidance=9").edit(request).image, plain.image)


SEGMENTER = """
import numpy as np

def both(picture):
    edit = np.zeros(picture.shape[:2], bool); edit[8:24, 8:24] = True
    keep = np.zeros(picture.shape[:2], np.float32); keep[:, 12:14] = 0.9
    return edit, keep

class EditOnly:
    def __call__(self, picture):
        return np.uint8(both(picture)[0]) * 255, None

def raises(picture):
    raise RuntimeError("no lungs here")

def one(picture):
    return picture[..., 0] > 0

def shape(picture):
    return np.ones((3, 3)), None

def nan(picture):
    return np.full(picture.shape[:2], np.nan), None

number = 3
"""


@pytest.fixture
def segmenter(tmp_path):
    path = tmp_path / "segmenter.py"
    path.write_text(SEGMENTER)
    return lambda name: f"segmenter={path}:{name}"


def test_masks_of_a_segmenter_come_first(call, request_for, segmenter, tmp_path):
    request = request_for()
    save_mask(tmp_path / "edits" / "one.png", box(64, 64, 0, 0, 8, 8))
    save_mask(tmp_path / "keeps" / "one.png", box(64, 64, 60, 60, 64, 64))
    folders = f"edit_masks={tmp_path / 'edits'},keep_masks={tmp_path / 'keeps'}"

    def told(more):
        made = call(more).edit(request).detail["radedit"]
        cells = [round(64 * made[key]) for key in ("edited", "kept")]
        return [made["edit_mask"], made["keep_mask"], *cells]

    assert told("") == ["case", "case", 12, 8]
    assert told(folders) == ["folder", "folder", 1, 1]
    assert told(f"{folders},{segmenter('both')}") == ["segmenter"] * 2 + [2, 8]
    assert told(f"{folders},{segmenter('EditOnly')}") == ["segmenter", "folder", 4, 1]
    assert told(segmenter("EditOnly"))[:2] == ["segmenter", "case"]
    (tmp_path / "edits" / "one.png").unlink()
    assert told(folders)[:2] == ["case", "folder"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("raises", "the segmenter raised RuntimeError: no lungs here"),
        ("one", "the segmenter returned ndarray; (edit, keep) is needed"),
        ("shape", "the segmenter returned a mask of shape (3, 3), float64; numbers of shape"),
        ("nan", "a mask containing NaN"),
    ],
)
def test_what_a_segmenter_does_wrong(name, reason, call, request_for, segmenter):
    (result,) = call(segmenter(name)).edit_batch([request_for()])
    assert isinstance(result, mb.Refused) and reason in str(result)


def test_a_mask_of_another_size_loses_nothing(call, request_for, tmp_path):
    """A line of one pixel in a mask four times as large as the picture."""
    line = np.zeros((256, 256), bool)
    line[:, 101] = True
    save_mask(tmp_path / "keeps" / "one.png", line)
    made = call(f"keep_masks={tmp_path / 'keeps'},paste=true,guidance=9").edit(request_for())
    assert made.detail["radedit"]["kept"] == 8 / 64
    assert np.array_equal(made.image[:, 25], draw(1, 64, 64)[:, 25])


def test_what_is_missing_is_told_before_any_work(model, tmp_path, segmenter):
    absent = tmp_path / "nowhere"
    lines = find_system(
        f"radedit:{model},edit_masks={absent},{segmenter('number')}"
    ).system.problems()
    assert lines[0] == f"edit_masks={absent}: no such folder"
    assert "is not callable" in lines[1] and len(lines) == 2
    (line,) = find_system(f"radedit:{model},{segmenter('missing')}").system.problems()
    assert line.endswith("has no 'missing'")
    (line,) = find_system(f"radedit:{absent}").system.problems()
    assert "no such folder or file" in line


def test_identity_is_that_of_weights_and_masks(model, tmp_path, segmenter):
    path = save_mask(tmp_path / "edits" / "one.png", box(8, 8, 0, 0, 4, 4))
    call = f"radedit:{model},edit_masks={path.parent},{segmenter('both')}"
    before = find_system(call).system.identity()
    assert "edit_masks sha256" in before and "segmenter segmenter.py" in before
    save_mask(path, box(8, 8, 0, 0, 5, 4))
    assert find_system(call).system.identity() != before


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("scheduler=ddim", "has no effect, steps are taken by RadEdit itself"),
        ("negative_prompt=x", "base is what guidance leads away from"),
        ("image_guidance=2", "has no effect"),
        ("skip=1", "skip: Input should be less than 1"),
        ("guidance=none", "guidance: "),
        ("masks=two", "masks: Input should be 'both', 'edit', 'complement' or 'none'"),
        ("offload=sequential", "use offload=model"),
    ],
)
def test_settings_that_are_refused(given, words):
    with pytest.raises(InputError, match=words):
        find_system(f"radedit:model,{given}")


def test_it_must_be_told_a_model():
    with pytest.raises(InputError, match="name a model, such as radedit:microsoft/radedit"):
        find_system("radedit")


def test_where_it_looked(call, request_for):
    made = call("attention=true,guidance=3").edit(request_for())
    assert made.attention is not None and made.attention.shape == (64, 64)
    # The passes of the base prompt are not counted.
    assert made.detail["attention"]["steps"] == 2
    plain = call("guidance=3").edit(request_for())
    assert np.array_equal(made.image, plain.image) and plain.attention is None


def test_a_run_with_masks_from_everywhere(model, tmp_path, segmenter):
    """The public call, on a set whose records name the second mask and what is shown."""
    said = {"keep_mask": "editing/keep.png", "caption": "a mole"}
    source = write_set(tmp_path / "set", 3, **said)
    save_mask(source / "editing" / "keep.png", box(64, 48, 0, 20, 48, 22))
    save_mask(tmp_path / "edits" / "2.png", box(64, 48, 0, 0, 20, 20))
    base = f"radedit:{model},steps=2,size=32,guidance=2,batch=2,base=caption"
    given = ("", f",edit_masks={tmp_path / 'edits'}", f",{segmenter('both')}")
    origins = []
    for number, more in enumerate(given):
        run = mb.edit(source, base + more, out=tmp_path / str(number), seed=1)
        with run.ledger() as ledger:
            told = {one: row.detail["radedit"] for (one, _), row in ledger.outputs().items()}
        assert sorted(told) == ["1", "2", "3"] and told["1"]["base"] == "a mole"
        origins.append([told["1"]["edit_mask"], told["2"]["edit_mask"], told["2"]["keep_mask"]])
        assert len(list(run.edits.iterdir())) == 3
    assert origins == [["case"] * 3, ["case", "folder", "case"], ["segmenter"] * 3]
    info = json.loads((run.path / "run.json").read_text())
    assert info["sees"] == ["roi", "keep", "caption"] and "segmenter.py" in info["origin"]
    save_mask(tmp_path / "edits" / "2.png", box(64, 48, 0, 0, 20, 30))
    with pytest.raises(InputError, match="holds another run"):
        mb.edit(source, base + given[1], out=tmp_path / "1", seed=1)
