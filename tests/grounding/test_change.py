"""Change maps: blind to what is no edit, sharp for what is one."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

import medebench as mb
from medebench.grounding import GROUNDING_METRICS, change_map, change_of, iou
from medebench.metrics import Undefined
from medebench.phantoms.drawings import render, sample

MEASURES = {metric.name: metric for metric in GROUNDING_METRICS}


def _resampled(picture):
    half = cv2.resize(picture, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    return cv2.resize(half, picture.shape[1::-1], interpolation=cv2.INTER_CUBIC)


def _moved(picture, right=0.0, down=0.0, zoom=1.0, turn=0.0):
    height, width = picture.shape[:2]
    motion = cv2.getRotationMatrix2D((width / 2, height / 2), turn, zoom)
    motion[:, 2] += right, down
    return cv2.warpAffine(picture, motion, (width, height), borderMode=cv2.BORDER_REFLECT)


def _jpeg(picture, quality=60):
    _, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return cv2.imdecode(data, cv2.IMREAD_COLOR)


def _noisy(picture, sigma=8):
    noise = np.random.default_rng(0).normal(0, sigma, picture.shape)
    return np.clip(picture + noise, 0, 255).round().astype(np.uint8)


def _toned(picture):
    return np.clip(picture * [1.06, 0.97, 0.9] + [8, -2, -6], 0, 255).astype(np.uint8)


DISTURBANCES = {
    "tone": _toned,
    "gamma": lambda picture: (255 * (picture / 255.0) ** 0.8).astype(np.uint8),
    "blur": lambda picture: cv2.GaussianBlur(picture, (0, 0), 1.5),
    "strong blur": lambda picture: cv2.GaussianBlur(picture, (0, 0), 4),
    "resampling": _resampled,
    "shift": lambda picture: _moved(picture, 2, -2),
    "zoom": lambda picture: _moved(picture, 3, 1, 1.04, 1),
    "jpeg": _jpeg,
    "noise": _noisy,
    "all": lambda picture: _jpeg(_toned(_moved(cv2.GaussianBlur(picture, (0, 0), 1), 2, 1))),
}


@pytest.fixture(scope="module")
def phantoms():
    return [render(sample(index)) for index in range(8)]


@pytest.fixture(scope="module")
def painted(phantoms):
    """A disc in an unlike colour on each, and where it is."""
    done = []
    for number, phantom in enumerate(phantoms):
        generator = np.random.default_rng(number)
        centre = tuple(int(c) for c in generator.integers(70, 186, 2))
        mask = np.zeros(phantom.previous.shape[:2], np.uint8)
        cv2.circle(mask, centre, 24, 1, -1)
        mean = phantom.previous[mask > 0].mean(axis=0)
        picture = phantom.previous.copy()
        picture[mask > 0] = np.where(mean > 127, mean - 110, mean + 110).astype(np.uint8)
        done.append((picture, mask > 0))
    return done


def test_nothing_changed_is_an_empty_region_not_an_error(phantoms):
    for phantom in phantoms:
        change = change_map(phantom.previous, phantom.previous.copy())
        assert not change.region.any() and change.map.max() < 0.01
        assert change.global_shift < 0.01 and change.moved.distance < 1e-3
        assert change.kept == 1 and change.detail == pytest.approx(1)


@pytest.mark.parametrize("name", DISTURBANCES)
def test_what_is_no_edit_leaves_the_region_empty(phantoms, name):
    for phantom in phantoms:
        change = change_map(phantom.previous, DISTURBANCES[name](phantom.previous))
        assert change.region.mean() < 0.01, phantom.spec.task


@pytest.mark.parametrize("name", ["none", *DISTURBANCES])
def test_a_painted_disc_is_found(phantoms, painted, name):
    disturb = DISTURBANCES.get(name, lambda picture: picture)
    least = 0.45 if name in ("strong blur", "all") else 0.7
    for phantom, (picture, disc) in zip(phantoms, painted, strict=True):
        change = change_map(phantom.previous, disturb(picture))
        assert iou(change.region, disc) > least, phantom.spec.task
        assert change.region[disc].mean() > 0.9


def test_texture_of_the_same_mean_colour_is_a_change():
    previous = np.full((128, 128, 3), 128, np.uint8)
    y, x = np.mgrid[:128, :128]
    stripes = 128 + 60 * np.sign(np.sin(x / 1.5)).astype(int)
    disc = (y - 64) ** 2 + (x - 64) ** 2 < 30**2
    output = previous.copy()
    output[disc] = stripes[disc, None]
    assert iou(change_map(previous, output).region, disc) > 0.8


def test_what_was_taken_away_is_told(phantoms):
    picture = phantoms[0].previous
    lighter = np.clip(picture.astype(int) + 20, 0, 255).astype(np.uint8)
    assert 3 < change_map(picture, lighter).global_shift < 12
    zoomed = change_map(picture, _moved(picture, zoom=1.05))
    assert zoomed.moved.scale == pytest.approx(1.05, abs=0.01)
    assert change_map(picture, cv2.GaussianBlur(picture, (0, 0), 4)).detail < 0.33
    assert change_map(picture, _noisy(picture, 38)).detail > 2.2


def test_the_reference_changes_inside_the_roi(phantoms):
    for phantom in phantoms:
        roi = phantom.roi > 127
        region = change_map(phantom.previous, phantom.reference, roi=roi).region
        assert region[~roi].mean() < 0.01
        # The ROI of a phantom has a margin, so a perfect region does not reach 1.
        assert iou(region, roi) > 0.2


def test_another_picture_is_a_repainted_one(phantoms):
    for number, phantom in enumerate(phantoms):
        other = phantoms[(number + 3) % len(phantoms)].previous
        change = change_map(phantom.previous, other)
        assert change.kept < 0.15 and change.region.mean() > 0.5
        assert change.global_shift == 0


@pytest.mark.parametrize("colour", [(60, 60, 60), (160, 190, 230), (150, 0, 0)])
def test_a_flat_picture_is_not_a_shift_of_tone(phantoms, colour):
    for phantom in phantoms:
        flat = np.full_like(phantom.previous, colour)
        assert change_map(phantom.previous, flat).region.mean() > 0.5


def test_a_bar_at_the_edge_is_no_edit(phantoms):
    picture = phantoms[2].previous
    padded = picture.copy()
    padded[-7:] = 0
    assert not change_map(picture, padded).region.any()


@pytest.mark.parametrize("shape", [(7, 7, 3), (1, 1, 3), (300, 20, 3), (40, 600, 3)])
def test_odd_sizes(shape):
    generator = np.random.default_rng(0)
    first, second = generator.integers(0, 256, (2, *shape), dtype=np.uint8)
    change = change_map(first, second)
    assert change.map.shape == change.region.shape == shape[:2]
    assert np.isfinite(change.map).all() and np.isfinite(change.detail)


def test_sixteen_bits_give_what_eight_give(phantoms, painted):
    previous, (output, _) = phantoms[0].previous, painted[0]
    deep = change_map(previous.astype(np.uint16) * 257, output.astype(np.uint16) * 257, 65535)
    assert iou(deep.region, change_map(previous, output).region) > 0.99


def _measure(case, output):
    found = {}
    for name, metric in MEASURES.items():
        try:
            found[name] = metric(case, output)
        except Undefined as reason:
            found[name] = str(reason)
    return found


@pytest.fixture
def case(small_set):
    return mb.open_case(mb.load_cases(small_set)["1"])


def test_measures_by_hand(case):
    output = case.previous.copy()
    output[12:28, 16:36] = 255 - output[12:28, 16:36]
    found, change = _measure(case, output), change_of(case, output)
    both = change.region & case.roi
    assert found["change_iou"] == iou(change.region, case.roi) > 0.3
    assert found["change_cover"] == pytest.approx(both.sum() / case.roi.sum())
    assert found["change_area"] == pytest.approx(change.region.mean())
    outside = change.region & ~case.roi
    assert found["change_context"] == pytest.approx(outside.sum() / (~case.roi).sum())
    strength = change.map.astype(float)
    share = strength[outside].sum() / strength[change.region].sum()
    assert found["change_spill"] == pytest.approx(share)


def test_measures_of_nothing(case):
    found = _measure(case, case.previous.copy())
    assert found["change_spill"] == "nothing changed"
    assert found["change_iou"] == found["change_cover"] == found["change_area"] == 0


def test_a_picture_changed_in_place_is_compared_again(case):
    output = case.previous.copy()
    assert not change_of(case, output).region.any()
    output[10:40, 10:50] = 255 - output[10:40, 10:50]
    assert change_of(case, output).region.any()


def test_values_stay_in_the_stated_range(case):
    generator = np.random.default_rng(1)
    output = generator.integers(0, 256, case.previous.shape, dtype=np.uint8)
    for name, value in _measure(case, output).items():
        assert MEASURES[name].low <= value <= MEASURES[name].high
