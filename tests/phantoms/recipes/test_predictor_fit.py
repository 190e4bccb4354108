"""TrainSettings: the same weights each time, from pictures that were varied as they should be."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.torch import load
from scipy import ndimage

from medebench.phantoms.recipes.predictor_fit import _blurred, _moved, _pace, train_network
from medebench.phantoms.recipes.predictor_networks import (
    ClassifierNetwork,
    SegmenterNetwork,
    as_batch,
)
from medebench.phantoms.recipes.recipe_predictors import TrainSettings

QUICK = TrainSettings(patients=24, epochs=6, batch=8, shift=1)


def discs(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Noise, with a bright disc in every second picture, and where the disc is."""
    rng = np.random.default_rng(5)
    pictures = rng.integers(80, 120, (count, 32, 32), dtype=np.uint8)
    rows, columns = np.mgrid[:32, :32]
    masks = np.zeros(pictures.shape, np.bool_)
    for index in range(0, count, 2):
        y, x = rng.integers(10, 22, 2)
        masks[index] = (rows - y) ** 2 + (columns - x) ** 2 < 50
    pictures[masks] += 100
    return pictures, masks


def test_a_classifier_learns_what_it_is_shown():
    pictures, masks = discs(24)
    there = masks.any((1, 2))
    threads = torch.get_num_threads()
    before = torch.random.get_rng_state()
    weights = train_network(ClassifierNetwork, pictures, there, QUICK, 3)
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.random.get_rng_state(), before)
    assert train_network(ClassifierNetwork, pictures, there, QUICK, 3) == weights
    network = ClassifierNetwork()
    network.load_state_dict(load(weights))
    with torch.inference_mode():
        logits = network.eval()(as_batch(list(pictures))).numpy()
    assert logits[there].min() > logits[~there].max()


def test_a_segmenter_learns_what_it_is_shown():
    pictures, masks = discs(24)
    steps = []
    weights = train_network(
        SegmenterNetwork, pictures, masks, QUICK, 0, lambda done, total: steps.append((done, total))
    )
    assert steps == [(step, QUICK.steps) for step in range(1, QUICK.steps + 1)]
    network = SegmenterNetwork()
    network.load_state_dict(load(weights))
    with torch.inference_mode():
        logits = network.eval()(as_batch(list(pictures))).numpy()
    assert logits.shape == masks.shape
    assert logits[masks].mean() > logits[~masks].mean() + 1


def test_pictures_grey_and_in_colour_go_in_alike():
    grey = np.arange(256, dtype=np.uint8).reshape(16, 16)
    colour = np.repeat(grey[..., None], 3, axis=2)
    one, other = as_batch([grey, grey]), as_batch([colour, colour])
    assert torch.equal(one, other) and one.shape == (2, 1, 16, 16)
    assert (one.min(), one.max()) == (-1.0, 1.0)


@pytest.mark.parametrize("deviation", [0.4, 1.0])
def test_blur_is_gaussian(deviation):
    picture = np.random.default_rng(1).random((20, 24)).astype(np.float32)
    own = _blurred(torch.from_numpy(picture)[None, None], deviation)[0, 0].numpy()
    wanted = ndimage.gaussian_filter(picture, deviation, mode="nearest", radius=3)
    assert np.abs(own - wanted).max() < 1e-6


def test_moving_repeats_the_edge():
    picture = np.random.default_rng(1).random((9, 7)).astype(np.float32)
    own = _moved(torch.from_numpy(picture)[None], 2, -3)[0].numpy()
    assert (own == ndimage.shift(picture, (2, -3), order=0, mode="nearest")).all()


def test_the_rate_rises_and_falls_to_nothing():
    paces = [_pace(done) for done in np.linspace(0.01, 1, 100)]
    assert max(paces) == pytest.approx(1, abs=1e-3) and paces.index(max(paces)) == 9
    assert paces[-1] == pytest.approx(0, abs=1e-9) and min(paces) >= 0
