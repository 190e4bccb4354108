"""FID and KID as metrics of sets, with the published Inception and real pictures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import sqrtm

import medebench as mb
from medebench.encoders.extractor import Extractor
from medebench.encoders.inception import InceptionEncoder
from medebench.errors import InputError
from medebench.images.picture import read_picture
from medebench.metrics import SetMetric, find_metrics, metric_info
from medebench.metrics.realism import fid, fid_metric, kid, kid_metric
from medebench.metrics.realism.set_metrics import INFOS, KID_BELOW, LEAST, info, make
from tests.encoders.plain import PlainEncoder
from tests.metrics.test_fid import features

COUNT = 12
NOISE = (0, 6, 20, 50, 110)


@pytest.fixture(scope="module")
def noisy(real_weights, tmp_path_factory):
    """Inception's vectors of phantoms, with more and more noise."""
    cases = mb.load_cases(f"phantoms:count={COUNT}")
    pictures = [read_picture(case.files()["reference"]) for case in cases]
    extractor = Extractor(
        InceptionEncoder(str(real_weights("inception.pt"))), tmp_path_factory.mktemp("features")
    )
    generator = np.random.default_rng(0)
    found = []
    for level in NOISE:
        spoiled = [
            np.clip(one + generator.normal(0, 1, one.shape) * level, 0, 255).astype(np.uint8)
            for one in pictures
        ]
        found.append(extractor.features([extractor.show(one, 255) for one in spoiled]))
    extractor.close()
    return found


def test_more_noise_is_further_away(noisy):
    groups = np.arange(COUNT)
    fids = [fid(one, noisy[0]) for one in noisy]
    kids = [kid(one, noisy[0], groups, groups).value for one in noisy]
    assert fids[0] < 1e-6 and kids[0] == 0.0
    assert all(step > 1 for step in np.diff(fids))
    assert all(step > 1e-4 for step in np.diff(kids))


def test_order_of_pictures_does_not_matter(noisy):
    groups, order = np.arange(COUNT), np.random.default_rng(1).permutation(COUNT)
    clean, spoiled = noisy[0], noisy[2]
    assert fid(spoiled[order], clean) == pytest.approx(fid(spoiled, clean), rel=1e-10)
    moved = kid(spoiled[order], clean, groups[order], groups).value
    assert moved == pytest.approx(kid(spoiled, clean, groups, groups).value, rel=1e-10)


def test_real_vectors_give_what_the_square_root_gives(noisy):
    """In as many of the 2048 dimensions as the covariances of so few pictures can fill."""
    everything = np.concatenate(noisy).astype(float)
    varied = np.argsort(everything.std(axis=0))[::-1][:20]
    first, second = everything[:30][:, varied], everything[30:][:, varied]
    a, b = (np.cov(one, rowvar=False) for one in (first, second))
    away = first.mean(0) - second.mean(0)
    expected = away @ away + np.trace(a) + np.trace(b) - 2 * np.trace(sqrtm(a @ b)).real
    assert fid(first, second) == pytest.approx(expected, rel=1e-6)


@pytest.fixture
def sets():
    references = features(40, 50, 1)
    return np.maximum(0, references + features(40, 50, 2) - 0.4), references


@pytest.fixture(params=["fid", "kid"])
def metric(request):
    return {"fid": fid_metric, "kid": kid_metric}[request.param](PlainEncoder())


def test_a_score_comes_with_its_sizes_and_its_interval(metric, sets):
    groups = np.arange(40) // 2
    score = metric.measure(*sets, groups, groups)
    assert score.reason is None and score.interval[0] < score.value < score.interval[1]
    found = {name: score.detail[name] for name in ("n", "references", "sources")}
    assert found == {"n": 40, "references": 40, "sources": 20}
    assert score.detail["se"] > 0
    plain = {"fid": fid(*sets), "kid": kid(*sets, groups, groups).value}
    assert score.value == pytest.approx(plain[metric.name.split("_")[0]], rel=1e-9)


def test_fid_names_its_bias(sets):
    groups = np.arange(40)
    score = fid_metric(PlainEncoder()).measure(*sets, groups, groups)
    assert 0 < score.detail["floor"] < score.value
    assert "biased upwards: 40 images are fewer than 2048" in score.detail["note"]
    assert "prefer kid_plain" in score.detail["note"]
    many = features(KID_BELOW, 3, 1), features(KID_BELOW, 3, 2)
    score = fid_metric(PlainEncoder()).measure(*many, np.arange(KID_BELOW), np.arange(KID_BELOW))
    assert "note" not in score.detail and score.detail["floor"] < 0.01


def test_kid_below_zero_is_explained():
    groups = np.arange(40)
    scores = [
        kid_metric(PlainEncoder()).measure(
            features(40, 50, seed), features(40, 50, seed + 1), groups, groups + 40
        )
        for seed in range(0, 20, 2)
    ]
    negative = [one for one in scores if one.value < 0]
    assert negative and len(negative) < 10
    assert all("below 0" in one.detail["note"] for one in negative)
    assert all(one.interval[0] < 0 < one.interval[1] for one in negative)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (LEAST - 1, LEAST), (LEAST, LEAST - 1)])
def test_too_few_pictures_are_a_reason(metric, n, m):
    score = metric.measure(features(n, 5, 1), features(m, 5, 2), np.arange(n), np.arange(m))
    assert score.value is None and score.interval is None
    what = "1 output" if n == 1 else "9 outputs" if n < m else "9 references"
    assert score.reason == f"too few: {what}, {LEAST} are needed"
    assert (score.detail["n"], score.detail["references"]) == (n, m)


def test_many_pictures_of_few_sources_are_too_few(metric):
    groups = np.arange(30) % 4
    score = metric.measure(features(30, 5, 1), features(30, 5, 2), groups, groups)
    assert score.reason == "too few: 4 source images, 10 are needed"


def test_a_vector_that_is_not_finite_is_a_reason(metric, sets):
    bad = sets[0].copy()
    bad[3, 4] = np.nan
    groups = np.arange(40)
    score = metric.measure(bad, sets[1], groups, groups)
    assert score.value is None and score.reason == "a feature is not a finite number"


def test_metrics_are_known_by_encoder_and_algorithm(real_weights, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_WEIGHTS", str(real_weights("inception.pt").parent))
    made = find_metrics(["fid_inception", "kid_inception"], batch=5)
    assert all(isinstance(one, SetMetric) for one in made)
    assert [one.name for one in made] == ["fid_inception", "kid_inception"] == list(INFOS)
    assert [one.encoder.batch for one in made] == [5, 5]
    first, second = (one.variant for one in made)
    assert first == f"fid-1 {made[0].encoder.identity}" and first != second
    assert fid_metric(PlainEncoder(identity="other")).variant == "fid-1 other"


def test_what_the_numbers_mean_needs_no_weights(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path))
    monkeypatch.delenv("MEDEBENCH_WEIGHTS", raising=False)
    one = metric_info("kid_inception")
    assert one is info("kid_inception") and one.better == "lower" and one.low == -np.inf
    assert INFOS["fid_inception"].low == 0 and INFOS["fid_inception"].high == np.inf
    assert "medebench weights get inception" in make("fid_inception").problem()
    with pytest.raises(InputError, match="'fid_clip': is not FID or KID"):
        make("fid_clip")
