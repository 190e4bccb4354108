"""Distances to targets: an output learned by heart is near, a change of tone alone is none."""

from __future__ import annotations

import numpy as np
import pytest

import medebench as mb
from medebench.tuning.nearest_target import nearest, targets_of, thumbnail


@pytest.fixture
def opened(make_set):
    return [mb.open_case(case) for case in mb.load_cases(make_set(6))]


def test_a_target_learned_by_heart_is_found(opened):
    cases = [one.case for one in opened]
    learned, other = targets_of(cases[:2]), targets_of(cases[2:5])
    heart = {"x": learned[1] + 0.0}
    (found,) = nearest(heart, learned, other)
    assert found.to_training == 0 and found.to_other > 0.05
    # Of three unused targets as many count as were learned from.
    (fewer,) = nearest(heart, learned[:1], [other[2], learned[1]])
    assert fewer.to_other > 0
    assert nearest(heart, learned, []) == []


def test_only_the_region_counts_and_not_its_tone(opened):
    case = opened[0]
    own = thumbnail(case, case.reference)
    assert own.shape == (32, 32) and abs(own.mean()) < 1e-6
    outside = case.reference.copy()
    outside[~case.roi] = 0
    box = np.argwhere(case.roi)
    top, left = box.min(axis=0)
    assert np.array_equal(thumbnail(case, outside), own)
    darker = (case.reference // 2).astype(np.uint8)
    assert not np.array_equal(thumbnail(case, darker), own)
    lighter = case.reference.clip(0, 235) + 20
    base = thumbnail(case, case.reference.clip(0, 235))
    assert np.allclose(thumbnail(case, lighter.astype(np.uint8)), base, atol=1e-5)
    changed = case.reference.copy()
    changed[top + 2, left + 2] = 255 - changed[top + 2, left + 2]
    assert not np.array_equal(thumbnail(case, changed), own)
