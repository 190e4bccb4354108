"""NIQE and BRISQUE against other people's programs, and what they promise by themselves."""

from __future__ import annotations

import pickle
from pathlib import PurePath

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.io import savemat
from scipy.stats import gennorm

from medebench.cases import load_cases, open_case
from medebench.errors import InputError, NotReadyError
from medebench.metrics import Subject, Undefined, find_metrics
from medebench.metrics.quality import brisque as brisque_module
from medebench.metrics.quality.brisque import brisque, find_brisque, read_brisque
from medebench.metrics.quality.natural_statistics import fit, grey, mscn, neighbours
from medebench.metrics.quality.niqe import NiqeParameters, halve, niqe, patch_features, read_niqe
from medebench.metrics.quality.quality_metrics import INFOS, make
from tests.conftest import draw
from tests.references import FOLDER, run_reference

#: Real outputs and inputs; only in the last are there flat places, four whole patches of them.
PICTURES = (
    "generated_images/paint-by-inpaint/53_0.png",
    "generated_images/paint-by-inpaint/752_0.png",
    "editing/previous/998.png",
    "editing/previous/560.png",
)


@pytest.fixture(scope="module")
def pictures(excerpt):
    return [np.asarray(Image.open(excerpt / name).convert("RGB")) for name in PICTURES]


@pytest.fixture(scope="module")
def natural(real_weights):
    return read_niqe(real_weights("niqe.npz"))


@pytest.fixture(scope="module")
def trained(real_weights):
    return real_weights("brisque.txt"), real_weights("brisque-ranges.pickle")


def textured(seed, height=208, width=240):
    """Grain, edges and a slope: every patch of it varies."""
    generator = np.random.default_rng(seed)
    grain = cv2.GaussianBlur(generator.normal(0, 60, (height, width)), (0, 0), 0.8)
    shapes = 60.0 * (cv2.GaussianBlur(generator.normal(0, 1, (height, width)), (0, 0), 6) > 0)
    plane = 60 + grain + shapes + np.linspace(0, 40, width)
    return np.repeat(plane.clip(0, 255).astype(np.uint8)[..., None], 3, axis=2)


def worse(picture):
    """More and more noise, and more and more blur."""
    grain = np.random.default_rng(0).standard_normal(picture.shape)
    noisy = [picture + spread * grain for spread in (20, 40, 80)]
    blurred = [cv2.GaussianBlur(picture, (0, 0), sigma) for sigma in (1.5, 3, 6)]
    return [one.clip(0, 255).astype(np.uint8) for one in noisy], blurred


# What both of them are made of


#: scikit-video divides by a deviation that it computes in single precision.
SCIKIT_VIDEO = """
import math, pathlib
namespace = {"__name__": "parts"}
for name in ("mscn", "stats"):
    source = pathlib.Path(given["folder"], "skvideo", "utils", name + ".py").read_text()
    exec(source.replace("float32", "float64"), namespace)
for edge, mode in (("repeat", "nearest"), ("black", "constant")):
    answer[edge] = namespace["compute_image_mscn_transform"](given["plane"], extend_mode=mode)[0]
patch = answer["repeat"][:96, :96]
products = namespace["paired_product"](patch)
answer["products"] = np.stack(products)
answer["fits"] = np.array([namespace["aggd_features"](one.copy()) for one in (patch, *products)])
"""


def test_coefficients_products_and_fits_equal_scikit_video():
    plane = grey(textured(1))
    told = run_reference(SCIKIT_VIDEO, plane=plane, folder=str(FOLDER))
    np.testing.assert_allclose(mscn(plane, repeat=True), told["repeat"], rtol=0, atol=1e-7)
    np.testing.assert_allclose(mscn(plane, repeat=False), told["black"], rtol=0, atol=1e-7)
    patch = mscn(plane, repeat=True)[:96, :96]
    products = neighbours(patch, around=True)
    np.testing.assert_allclose(products, told["products"], rtol=0, atol=1e-6)
    for values, wanted in zip((patch, *products), told["fits"], strict=True):
        one = fit(values, stepped=True)
        found = one.shape, one.mean, one.ratio * one.left, one.ratio * one.right
        np.testing.assert_allclose(found, wanted[:4], rtol=0, atol=1e-6)
        assert fit(values).shape == pytest.approx(one.shape, abs=5.1e-4)


@settings(max_examples=30, deadline=None)
@given(st.floats(0.5, 4), st.floats(0.1, 3), st.floats(0.1, 3), st.integers(0, 2**32 - 1))
def test_a_fit_finds_what_values_were_drawn_from(shape, left, right, seed):
    drawn = np.abs(gennorm.rvs(shape, size=60_000, random_state=seed)) / gennorm.std(shape)
    # An asymmetric one has its sides in proportion to their scales.
    below = np.random.default_rng(seed).random(60_000) < left / (left + right)
    values = np.where(below, -left * drawn, right * drawn)
    found = fit(values)
    assert found.shape == pytest.approx(shape, rel=0.1)
    assert (found.left, found.right) == pytest.approx((left, right), rel=0.1)
    other = fit(-values)
    assert other == pytest.approx((found.shape, found.right, found.left), rel=1e-9)
    assert other.mean == pytest.approx(-found.mean, abs=1e-9)
    # Nothing on either side changes neither side.
    padded = fit(np.concatenate([values, np.zeros(1000)]))
    assert (padded.left, padded.right) == pytest.approx((found.left, found.right))


def test_flat_places_are_exactly_zero_whatever_their_grey():
    for level in (0, 1, 77, 128, 254, 255):
        plane = np.full((40, 50), float(level))
        assert not mscn(plane, repeat=True).any()
        assert not mscn(plane, repeat=False)[3:-3, 3:-3].any()
    assert fit(np.zeros((5, 5))) is None


def test_depth_and_equal_channels_do_not_matter():
    picture = textured(2)
    deep = picture.astype(np.uint16) * 257
    np.testing.assert_array_equal(grey(picture), picture[..., 0])
    np.testing.assert_array_equal(grey(deep, 65535), grey(picture))


# NIQE


#: BasicSR's NIQE, as it is, and in double precision with flat places exactly 0. Its package
#: imports a part of torchvision that is gone, so that its files are taken one by one.
BASICSR = """
import pathlib, scipy.ndimage, torch
folder = pathlib.Path(given["folder"], "basicsr")
def program(change):
    resizing, scoring = {"__name__": "resizing"}, {"__name__": "scoring"}
    exec(change((folder / "utils" / "matlab_functions.py").read_text()), resizing)
    lines = (folder / "metrics" / "niqe.py").read_text().splitlines()
    lines = [one for one in lines if not one.startswith(("from basicsr", "@METRIC_REGISTRY"))]
    source = "\\n".join(lines).replace("scipy.ndimage.filters", "scipy.ndimage")
    scoring["imresize"] = resizing["imresize"]
    exec(change(source), scoring)
    return scoring["niqe"]
def double(source):
    source = source.replace(".float()", ".double()").replace("FloatTensor", "DoubleTensor")
    zero = "img_nomalized[np.abs(img_nomalized) < 1e-7] = 0"
    return source.replace("        feat = []", "        " + zero + "\\n        feat = []")
parameters = np.load(folder / "metrics" / "niqe_pris_params.npz")
names = ("mu_pris_param", "cov_pris_param", "gaussian_window")
planes = [one for name, one in sorted(given.items()) if name.startswith("plane")]
for name, change in (("plain", lambda source: source), ("double", double)):
    torch.set_default_dtype(torch.float64 if name == "double" else torch.float32)
    answer[name] = [program(change)(one, *(parameters[n] for n in names)) for one in planes]
"""


def test_niqe_equals_basicsr(pictures, natural):
    if not (FOLDER / "basicsr").is_dir():
        pytest.skip("BasicSR is not installed (make test installs it)")
    planes = {f"plane{n}": grey(one) for n, one in enumerate(pictures)}
    told = run_reference(BASICSR, folder=str(FOLDER), **planes)
    found = [niqe(one, 255, natural) for one in pictures]
    np.testing.assert_allclose(found[:3], told["plain"][:3], rtol=0, atol=1e-4)
    np.testing.assert_allclose(found[:3], told["double"][:3], rtol=0, atol=1e-9)
    # There patches in which nothing varies count, with the least shape that is looked for.
    assert found[3] - told["double"][3] > 0.5


def test_niqe_is_a_distance_in_units_of_both_covariances():
    picture = textured(3, 300, 400)
    features = patch_features(grey(picture))
    assert features.shape == (3 * 4, 36)
    factor = np.random.default_rng(0).normal(size=(36, 36))
    covariance = factor @ factor.T + np.eye(36)
    own = features.mean(axis=0)
    assert niqe(picture, 255, NiqeParameters(own, covariance)) == pytest.approx(0, abs=1e-9)
    away = np.linspace(-1, 1, 36)
    both = (np.cov(features.T) + covariance) / 2
    wanted = np.sqrt(away @ np.linalg.inv(both) @ away)
    assert niqe(picture, 255, NiqeParameters(own - away, covariance)) == pytest.approx(wanted)
    # What is beyond the last whole patch does not count.
    assert niqe(picture[:288, :384], 255, NiqeParameters(own, covariance)) < 1e-9


def test_halving_is_bicubic_with_smoothing():
    plane = grey(textured(4))
    image = Image.fromarray(plane.astype(np.float32))
    wanted = np.asarray(image.resize((120, 104), Image.Resampling.BICUBIC))
    # At the rim Pillow cuts its filter off and we mirror, as MATLAB does.
    np.testing.assert_allclose(halve(plane)[2:-2, 2:-2], wanted[2:-2, 2:-2], rtol=0, atol=1e-3)


def test_niqe_rises_with_noise_and_blur(pictures, natural):
    for picture in pictures[1:3]:
        for line in worse(picture):
            scores = [niqe(one, 255, natural) for one in (picture, *line)]
            assert scores == sorted(scores) and scores[-1] > scores[0] + 3


# BRISQUE


#: The package as it is but for an array of one that NumPy takes for no number any more; and with
#: flat places exactly 0 and on neither side, as zeros are in the authors' own programs.
BRISQUE = """
import pathlib, sys, cv2, scipy.ndimage
sys.modules.setdefault("scipy.ndimage.filters", scipy.ndimage)
source = pathlib.Path(given["folder"], "brisque", "brisque.py").read_text()
plain = source.replace("/ ((filtered_values.shape))", "/ filtered_values.size")
flat = plain.replace("z >= 0", "z > 0").replace(
    "return (image - local_mean) / (local_var + C)",
    "c = (image - local_mean) / (local_var + C); c[np.abs(c) < 1e-7] = 0; return c",
)
assert source != plain != flat
planes = [one for name, one in sorted(given.items()) if name.startswith("plane")]
for name, one in (("plain", plain), ("flat", flat)):
    space = {"__name__": "package"}
    exec(one, space)
    scorer = space["BRISQUE"]()
    answer[name] = [scorer.score(np.repeat(plane[..., None], 3, axis=2)) for plane in planes]
    features = [scorer.calculate_brisque_features(plane / 255) for plane in planes]
    answer[name + " features"] = np.array(features, float)
"""


def test_brisque_equals_the_package(pictures, trained):
    pictures = [one[:250, :300] for one in pictures]
    planes = {f"plane{n}": grey(one).astype(np.uint8) for n, one in enumerate(pictures)}
    told = run_reference(BRISQUE, folder=str(FOLDER), **planes)
    parameters = read_brisque(*trained)
    found = [brisque(one, 255, parameters) for one in pictures]
    features = [brisque_module.features(grey(one))[:18] for one in pictures]
    np.testing.assert_allclose(features, told["flat features"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(features[:3], told["plain features"][:3], rtol=0, atol=1e-6)
    np.testing.assert_allclose(found, told["flat"], rtol=0, atol=1e-3)
    np.testing.assert_allclose(found[:3], told["plain"][:3], rtol=0, atol=1e-3)
    assert abs(found[3] - told["plain"][3]) > 1


def test_brisque_rises_with_noise_and_blur(pictures, trained):
    parameters = read_brisque(*trained)
    for picture in pictures[1:3]:
        for line in worse(picture):
            scores = [brisque(one, 255, parameters) for one in (picture, *line)]
            assert scores == sorted(scores) and scores[-1] > scores[0] + 20


# As metrics


@pytest.fixture
def own_niqe(tmp_path):
    """Parameters in the authors' own format, of a picture drawn here."""
    features = patch_features(grey(textured(5, 480, 480)))
    covariance = np.cov(features.T) + 1e-3 * np.eye(36)
    path = tmp_path / "modelparameters.mat"
    savemat(path, {"mu_prisparam": features.mean(axis=0)[None], "cov_prisparam": covariance})
    return path


def test_metrics_measure_what_the_functions_do(make_set, own_niqe, trained, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(trained[0].parent))
    cases = [open_case(one) for one in load_cases(make_set(3))]
    outputs = [textured(n) for n in range(3)]
    subjects = [Subject(*pair) for pair in zip(cases, outputs, strict=True)]
    both = find_metrics([f"niqe:{own_niqe}", "brisque"])
    wanted = [
        [niqe(one, 255, read_niqe(own_niqe)) for one in outputs],
        [brisque(one) for one in outputs],
    ]
    for metric, values in zip(both, wanted, strict=True):
        assert metric.problem() is None and metric.info == INFOS[metric.name]
        prepared = [metric.prepare(one) for one in subjects]
        assert [one.value for one in metric.measure(prepared)] == values
        assert [one.value for one in metric.measure(prepared[::-1])] == values[::-1]
        assert len(set(values)) == 3


@pytest.mark.parametrize("name", ["niqe", "brisque"])
def test_too_small_or_flat_is_a_reason(name, make_set, own_niqe, trained, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(trained[0].parent))
    metric = make(name, str(own_niqe) if name == "niqe" else None)
    (case,) = load_cases(make_set(1))
    small = 190 if name == "niqe" else 31
    for picture, why in (
        (textured(1)[:small], "pixels are too few"),
        (np.full((200, 200, 3), 200, np.uint8), "flat"),
    ):
        with pytest.raises(Undefined, match=why):
            metric.prepare(Subject(open_case(case), picture))
    # One dot is something, however odd its statistics are.
    dotted = np.zeros((40, 50, 3), np.uint8)
    dotted[20, 20] = 255
    if name == "brisque":
        assert np.isfinite(metric.prepare(Subject(open_case(case), dotted)).value)


def test_parameters_that_are_not_there_are_named(tmp_path, monkeypatch):
    monkeypatch.delenv("MEDEBENCH_WEIGHTS", raising=False)
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    for name, function in (("niqe", niqe), ("brisque", brisque)):
        metric = make(name)
        assert name in str(metric.problem()) and "\n" not in str(metric.problem())
        with pytest.raises(NotReadyError, match=f"metric '{name}'"):
            find_metrics([name])
        with pytest.raises(NotReadyError):
            metric.prepare(None)
        with pytest.raises(NotReadyError):
            function(draw(1, 200, 200))


def test_files_of_niqe_that_do_not_fit(tmp_path):
    def said(suffix, write):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}{suffix}"
        write(path)
        with pytest.raises(InputError) as caught:
            read_niqe(path)
        assert str(path) in str(caught.value) and "\n" not in str(caught.value)
        return str(caught.value)

    mean, covariance = np.zeros(36), np.eye(36)
    assert "not the parameters" in said(".npz", lambda p: p.write_bytes(b"PK nothing"))
    assert "not the parameters" in said(".mat", lambda p: p.write_bytes(b"nothing"))
    # scikit-video's own, for features of its own.
    assert "pop_mu" in said(".mat", lambda p: savemat(p, {"pop_mu": mean, "pop_cov": covariance}))

    def save(m, c):
        return lambda path: np.savez(path, mu_pris_param=m, cov_pris_param=c)

    assert "36 features" in said(".npz", save(mean[1:], covariance))
    assert "covariance" in said(".npz", save(mean, -covariance))
    assert "covariance" in said(".npz", save(mean * np.nan, covariance))
    named = np.array([{}], dtype=object)
    assert "pickle" in said(".npz", lambda p: np.savez(p, mu_pris_param=named)).lower()


SVM = "svm_type epsilon_svr\nkernel_type rbf\ngamma 0.05\nnr_class 2\ntotal_sv 2\nrho -3\nSV\n"


@pytest.mark.parametrize(
    ("model", "ranges"),
    [
        ("brisque.txt", ["brisque-ranges.pickle"]),
        ("brisque.txt", ["brisque-ranges.pickle", "normalize.pickle"]),
        ("brisque.txt", ["normalize.pickle"]),
        ("svm.txt", ["brisque-ranges.pickle"]),
        ("svm.txt", ["normalize.pickle", "brisque-ranges.pickle"]),
    ],
)
def test_the_ranges_beside_a_file_of_brisque_have_either_name(tmp_path, model, ranges):
    """The package's names, and those that 'medebench weights get' gives."""
    (tmp_path / model).write_text(SVM + "1 1:0.5 36:-1 \n-2 2:0.25\n")
    for name in ranges:
        kept = {"min_": [0.0] * 36, "max_": [1.0] * 36}
        (tmp_path / name).write_bytes(pickle.dumps(kept))
    found, beside = find_brisque(str(tmp_path / model))
    assert (found.path, beside) == (tmp_path / model, tmp_path / ranges[0])
    assert make("brisque", str(tmp_path / model)).problem() is None


def test_files_of_brisque_that_do_not_fit(tmp_path):
    ranges = {"min_": [0.0] * 36, "max_": [1.0] * 36}

    def said(model, kept):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        (folder / "svm.txt").write_text(model)
        if kept is not None:
            (folder / "normalize.pickle").write_bytes(
                kept if isinstance(kept, bytes) else pickle.dumps(kept)
            )
        problem = make("brisque", str(folder / "svm.txt")).problem()
        assert problem is None or (str(folder) in problem and "\n" not in problem)
        return problem

    good = SVM + "1 1:0.5 36:-1 \n-2 2:0.25\n"
    assert said(good, ranges) is None
    assert "no such file" in said(good, None)
    assert "36 ranges" in said(good, ranges | {"max_": [1.0] * 35})
    assert "36 ranges" in said(good, ranges | {"max_": [0.0] * 36})
    assert "min_" in said(good, {"low": 1})
    # A class in a pickle is a way to run anything; it is not even looked up.
    assert "only numbers" in said(good, pickle.dumps(PurePath("x")))
    assert "1 of 2 lines" in said(good.rsplit("\n", 2)[0], ranges)
    assert "linear" in said(good.replace("rbf", "linear"), ranges)
    assert "feature 37" in said(good.replace("36:", "37:"), ranges)
    assert "not finite" in said(good.replace("0.25", "nan"), ranges)
    assert "not the parameters" in said("anything", ranges)
