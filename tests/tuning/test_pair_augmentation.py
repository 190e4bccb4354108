"""Both images of a pair and its ROI are changed alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from medebench.tuning.pair_augmentation import LEAST, augmented
from medebench.tuning.pairs import TrainPair
from tests.tuning.tiny_training import tiny_pairs


def marked() -> TrainPair:
    """A pair whose images show nothing but the ROI: white in the one, black in the other."""
    pair = tiny_pairs()[1]
    assert pair.roi is not None
    shown = np.repeat((pair.roi * 255).astype(np.uint8)[:, :, None], 3, 2)
    return replace(pair, previous=shown, target=255 - shown)


@pytest.mark.parametrize("how", ["flip", "crop", "flip+crop"])
def test_images_and_roi_stay_on_each_other(how):
    pair, seen = marked(), set()
    for seed in range(40):
        made = augmented(pair, how, np.random.default_rng(seed))
        assert made.previous.shape == pair.previous.shape == made.target.shape
        assert made.roi is not None and made.roi.dtype == np.bool_
        # Where pixels lie across its border both images are grey, and add up all the same.
        total = made.previous.astype(int) + made.target
        assert np.abs(total - 255).max() <= 2
        inside = made.previous[..., 0] > 127
        assert (inside != made.roi).mean() < 0.01
        assert (made.prompt, made.id) == (pair.prompt, pair.id)
        seen.add(made.previous.tobytes())
    assert len(seen) == 2 if how == "flip" else len(seen) > 30


def test_a_mirror_image_is_exact_and_as_often_as_not():
    pair = tiny_pairs()[0]
    assert pair.roi is not None
    mirrored = 0
    for seed in range(200):
        made = augmented(pair, "flip", np.random.default_rng(seed))
        if np.array_equal(made.target, pair.target):
            continue
        mirrored += 1
        for name in ("previous", "target", "roi"):
            assert np.array_equal(getattr(made, name), getattr(pair, name)[:, ::-1])
    assert 70 < mirrored < 130


def test_crops_are_large_and_within():
    """A crop of a ramp begins and ends within it, and has at least its share."""
    ramp = np.repeat(np.linspace(0, 255, 64).round().astype(np.uint8)[None, :, None], 64, 0)
    ramp = np.repeat(ramp, 3, 2)
    pair = TrainPair("a", ramp, ramp, "x")
    spans = []
    for seed in range(100):
        made = augmented(pair, "crop", np.random.default_rng(seed)).target[32, :, 0].astype(int)
        spans.append(made[-1] - made[0])
    assert min(spans) > 255 * LEAST * 0.97 and max(spans) <= 255
    assert max(spans) - min(spans) > 255 * (1 - LEAST) * 0.7


def test_none_changes_nothing():
    pair = tiny_pairs()[0]
    assert augmented(pair, "none", np.random.default_rng(0)) is pair
