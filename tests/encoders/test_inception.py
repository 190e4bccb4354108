"""Our Inception against the published one: the TorchScript file, and torch-fidelity's network."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from medebench.encoders.encoder_lookup import find_encoder
from medebench.encoders.extractor import Extractor
from medebench.encoders.inception import InceptionEncoder
from medebench.encoders.inception_weights import NAMES, read_inception
from medebench.errors import InputError, NotReadyError
from medebench.images.picture import read_picture
from tests.conftest import draw
from tests.references import FOLDER, run_reference


@pytest.fixture(scope="module")
def script(real_weights):
    return real_weights("inception.pt")


@pytest.fixture(scope="module")
def encoder(script):
    return InceptionEncoder(str(script), device="cpu", batch=4)


@pytest.fixture(scope="module")
def pictures(excerpt):
    files = sorted((excerpt / "generated_images").glob("*/*.png"))[::20]
    assert len(files) == 4
    return [read_picture(file) for file in files]


@pytest.fixture(scope="module")
def module(script):
    """The published network itself, which takes pictures of 299 x 299 in -1 ... 1."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return torch.jit.load(str(script), map_location="cpu").eval()


@pytest.fixture(scope="module")
def state_dict(module, tmp_path_factory):
    """The same weights in the layout of pytorch-fid and torch-fidelity."""
    import torch

    given = {name.removeprefix("net.layers."): one for name, one in module.state_dict().items()}
    state = {"fc.weight": torch.zeros(1008, 2048), "fc.bias": torch.zeros(1008)}
    for name, script in NAMES.items():
        state[f"{name}.conv.weight"] = given[f"{script}.weight"]
        state[f"{name}.bn.weight"] = torch.ones_like(given[f"{script}.beta"])
        state[f"{name}.bn.bias"] = given[f"{script}.beta"]
        state[f"{name}.bn.running_mean"] = given[f"{script}.mean"]
        state[f"{name}.bn.running_var"] = given[f"{script}.var"]
        state[f"{name}.bn.num_batches_tracked"] = torch.tensor(0)
    path = tmp_path_factory.mktemp("inception") / "pt_inception-2015-12-05.pth"
    torch.save(state, path)
    return path


def difference(found, expected):
    """The largest, as a share of the largest number."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def test_vectors_are_those_of_the_published_network(encoder, module, pictures):
    import torch

    prepared = [encoder.prepare(one, 255) for one in pictures]
    shown = torch.from_numpy(np.stack(prepared)).permute(0, 3, 1, 2).contiguous()
    with torch.inference_mode():
        expected = module((shown - 128) / 128).numpy()
    found = encoder.encode(prepared)
    assert found.shape == (4, 2048) and found.dtype == np.float32
    assert difference(found, expected) < 1e-5


REFERENCE = """
from torch_fidelity.feature_extractor_inceptionv3 import FeatureExtractorInceptionV3
network = FeatureExtractorInceptionV3("network", ["2048"], given["weights"])
pictures = torch.from_numpy(given["pictures"]).permute(0, 3, 1, 2)
with torch.inference_mode():
    answer["vectors"] = network(pictures)[0].numpy()
"""


def test_vectors_are_those_of_torch_fidelity(encoder, state_dict):
    pictures = np.stack([draw(seed, 299, 299) for seed in range(3)])
    answer = run_reference(REFERENCE, weights=str(state_dict), pictures=pictures)
    # At this size there is nothing to resize, so preparation does not differ.
    found = encoder.encode([encoder.prepare(one, 255) for one in pictures])
    assert difference(found, answer["vectors"]) < 1e-5


def test_both_layouts_of_the_weights_are_the_same_network(script, state_dict):
    first, second = read_inception(script), read_inception(state_dict)
    assert list(first) == list(second) and len(first) == 94
    for name, one in first.items():
        np.testing.assert_allclose(second[name].kernel, one.kernel, rtol=1e-6)
        np.testing.assert_allclose(second[name].bias, one.bias, rtol=1e-6)


CLEAN = """
from cleanfid.resize import build_resizer
answer["prepared"] = np.stack([build_resizer("clean")(given[str(i)]) for i in range(3)])
"""


def test_pictures_are_prepared_as_by_clean_fid(encoder):
    if not (FOLDER / "cleanfid").is_dir():
        pytest.skip("clean-fid is not installed (make test installs it)")
    pictures = [draw(1, 512, 431), draw(2, 48, 64), (draw(3, 300, 100) > 127) * np.uint8(255)]
    answer = run_reference(CLEAN, **{str(i): one for i, one in enumerate(pictures)})
    for picture, expected in zip(pictures, answer["prepared"], strict=True):
        assert np.array_equal(encoder.prepare(picture, 255), expected)


def test_preparing_does_not_round_and_stays_in_range(encoder):
    hard = (draw(3, 60, 100) > 127) * np.uint8(255)
    prepared = encoder.prepare(hard, 255)
    assert prepared.shape == (299, 299, 3) and prepared.dtype == np.float32
    assert prepared.min() == 0 and prepared.max() == 255
    assert (prepared != np.rint(prepared)).mean() > 0.05
    same = draw(4, 299, 299)
    assert np.array_equal(encoder.prepare(same, 255), same)


def test_deep_pictures_are_scaled_by_their_range(encoder):
    picture = draw(5)
    expected = encoder.prepare(picture, 255)
    deep = encoder.prepare(picture.astype(np.uint16) * 257, 65535)
    np.testing.assert_allclose(deep, expected, atol=1e-3)
    # Values between those of 8 bits are kept: rounded, all of these would be 100.
    twelve = np.full((20, 20, 3), 1607, np.uint16)
    assert encoder.prepare(twelve, 4095)[0, 0, 0] == pytest.approx(1607 * 255 / 4095, rel=1e-6)


def test_grey_pictures_are_prepared_like_coloured_ones(encoder):
    grey = np.repeat(draw(6)[..., :1], 3, axis=2)
    other = grey.copy()
    other[..., 2] = 255 - other[..., 2]
    found = encoder.prepare(grey, 255)
    assert np.array_equal(found[..., 0], found[..., 2])
    assert np.array_equal(found[..., :2], encoder.prepare(other, 255)[..., :2])


def test_batch_and_order_do_not_matter(encoder):
    prepared = [encoder.prepare(draw(seed), 255) for seed in range(4)]
    together = encoder.encode(prepared)
    alone = np.concatenate([encoder.encode([one]) for one in prepared[::-1]])[::-1]
    assert difference(alone, together) < 1e-5
    assert difference(together[0], together[1]) > 0.05


def test_a_second_time_nothing_goes_through_the_network(script, tmp_path):
    pictures = [draw(seed) for seed in (1, 2, 1)]
    found = []
    for expected in (2, 0):
        extractor = Extractor(InceptionEncoder(str(script)), tmp_path)
        found.append(extractor.features([extractor.show(one, 255) for one in pictures]))
        assert extractor.extracted == expected
        extractor.close()
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0][0], found[0][2])


def test_closed_it_loads_again(script):
    encoder = InceptionEncoder(str(script))
    prepared = [encoder.prepare(draw(1), 255)]
    first = encoder.encode(prepared)
    encoder.close()
    assert np.array_equal(encoder.encode(prepared), first)


def test_it_is_known_by_weights_and_preparation(script, state_dict, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(script.parent))
    encoder = InceptionEncoder()
    assert encoder.problem() is None
    assert encoder.identity == InceptionEncoder(str(script)).identity
    assert encoder.identity != InceptionEncoder(str(state_dict)).identity
    assert "clean-1" in encoder.identity
    found = find_encoder("inception", batch=3)
    assert isinstance(found, InceptionEncoder)
    assert (found.name, found.batch, found.texts) == ("inception", 3, False)


def test_missing_weights_are_said_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path))
    monkeypatch.delenv("MEDEBENCH_WEIGHTS", raising=False)
    encoder = InceptionEncoder()
    assert "medebench weights get inception" in encoder.problem()
    with pytest.raises(NotReadyError, match="not on this machine"):
        _ = encoder.identity
    with pytest.raises(InputError, match="batch=0"):
        InceptionEncoder(batch=0)


def test_torchvisions_own_inception_is_refused(state_dict, tmp_path):
    import torch

    state = torch.load(state_dict, weights_only=True)
    state |= {"fc.weight": torch.zeros(1000, 2048), "fc.bias": torch.zeros(1000)}
    path = tmp_path / "inception_v3_google.pth"
    torch.save(state, path)
    with pytest.raises(InputError, match=r"google\.pth.*1000 classes instead of 1008"):
        read_inception(path)


def test_other_files_are_refused_with_their_name(script, state_dict, tmp_path):
    import torch

    with pytest.raises(InputError, match="is a folder"):
        read_inception(tmp_path)
    path = tmp_path / "weights.pt"
    path.write_bytes(script.read_bytes()[:1_000_000])
    with pytest.raises(InputError, match=r"weights\.pt: not the Inception of FID"):
        read_inception(path)
    state = torch.load(state_dict, weights_only=True)
    torch.save({"model": state}, path)
    with pytest.raises(InputError, match=r"lacks 'Conv2d_1a_3x3\.conv\.weight'"):
        read_inception(path)
    name = "Mixed_7c.branch1x1.bn.running_mean"
    torch.save(state | {name: torch.full((320,), torch.nan)}, path)
    with pytest.raises(InputError, match="not finite"):
        read_inception(path)
    name = "Mixed_7c.branch1x1.bn.running_var"
    torch.save(state | {name: torch.full((320,), -1.0)}, path)
    with pytest.raises(InputError, match="not finite"), warnings.catch_warnings():
        warnings.simplefilter("error")
        read_inception(path)
    name = "Mixed_5b.branch1x1"
    narrow = {f"{name}.conv.weight": torch.zeros(64, 191, 1, 1)}
    torch.save(state | narrow, path)
    with pytest.raises(InputError, match="number of weights"):
        read_inception(path)


class Evil:
    def __reduce__(self):
        return (Path.touch, (Path("touched"),))


def test_no_code_of_a_file_is_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stream = io.BytesIO()
    pickle.dump(Evil(), stream)
    path = tmp_path / "evil.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("top/data.pkl", stream.getvalue())
        archive.writestr("top/code/__torch__/net.py", "")
    with pytest.raises(InputError, match="only tensors are read"):
        read_inception(path)
    (tmp_path / "plain.pth").write_bytes(stream.getvalue())
    with pytest.raises(InputError, match="not the Inception of FID"):
        read_inception(tmp_path / "plain.pth")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("top/data.pkl", stream.getvalue())
        archive.writestr("top/version", "3\n")
    (tmp_path / "text.pt").write_text("hello" * 100)
    for name in ("evil.pt", "plain.pth", "text.pt"):
        with (
            warnings.catch_warnings(record=True) as warned,
            pytest.raises(InputError, match=r"\(would run code, or is not a file of tensors\)"),
        ):
            warnings.simplefilter("always")
            read_inception(tmp_path / name)
        assert warned == []
    assert not (tmp_path / "touched").exists()


def test_it_is_made_and_prepares_without_torch(script):
    code = (
        "import sys, numpy as np\n"
        "from medebench.metrics.realism.set_metrics import INFOS, make\n"
        "metric = make('fid_inception', sys.argv[1])\n"
        "metric.encoder.prepare(np.zeros((9, 9, 3), np.uint8), 255)\n"
        "assert metric.problem() is None and metric.variant\n"
        "print('torch' in sys.modules, 'scipy' in sys.modules)"
    )
    call = [sys.executable, "-c", code, str(script)]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
