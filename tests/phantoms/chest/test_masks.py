"""Masks are exact: with and without a thing, pictures are alike outside its mask and not inside."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from medebench.phantoms.chest import ChestPhantom, ChestSpec, render
from medebench.phantoms.chest.chest_spec import DEVICES, FINDINGS, Look
from medebench.phantoms.chest.patients import (
    EVERYBODY,
    Population,
    draw_device,
    draw_finding,
    draw_patient,
)
from medebench.phantoms.drawings.noise import stream


def change(first: ChestPhantom, second: ChestPhantom) -> np.ndarray:
    return np.abs(first.picture.astype(int) - second.picture)


def having(spec: ChestSpec, name: str, seed: int) -> ChestSpec:
    rng = stream(seed, "thing")
    if name in FINDINGS:
        return spec.having(draw_finding(name, rng))
    return spec.having(draw_device(name, spec, rng))


@cache
def pair(name: str, hospital: str) -> tuple[ChestPhantom, ChestPhantom]:
    spec = draw_patient(21, FINDINGS.index(name) if name in FINDINGS else 9, Population())
    spec = ChestSpec(spec.seed, spec.anatomy, look=Look(hospital))
    return render(having(spec, name, 2)), render(spec)


@pytest.mark.parametrize("name", [*FINDINGS, *DEVICES])
def test_a_mask_holds_all_that_its_thing_changes_and_little_else(name):
    for hospital in ("A", "B"):
        ill, well = pair(name, hospital)
        gap = change(ill, well)
        inside = ill.masks[name]
        assert gap[~inside].max() <= 1
        # Rounding may swallow a change of one level, never one of two.
        assert (gap[inside] >= 1).mean() > 0.93
        assert gap[inside].max() >= 20
        assert name not in well.masks
        assert set(ill.cores) == {name}
        core = ill.cores[name] & ~ill.masks["border"]
        assert core.any() and (inside[core]).mean() > 0.8


@settings(max_examples=12, deadline=None, derandomize=True)
@given(some.integers(0, 10**6), some.integers(0, 2**31))
def test_each_thing_of_any_patient_can_be_taken_away(index, seed):
    spec = having(draw_patient(seed, index, EVERYBODY), "wires", seed)
    spec = having(spec, FINDINGS[index % 5], seed)
    whole = render(spec)
    for name in (*(one.name for one in spec.findings), *(one.name for one in spec.devices)):
        rest = render(spec.without(name))
        assert change(whole, rest)[~whole.masks[name]].max() <= 1
        assert np.array_equal(rest.masks["lungs"], whole.masks["lungs"])
    assert spec.without("wires").having(spec.device("wires")).device("wires") == spec.device(
        "wires"
    )


def test_masks_are_as_exact_on_a_finer_grid():
    spec = draw_patient(22, 1, Population())
    for name in ("pneumothorax", "wires"):
        ill, well = render(having(spec, name, 3), 256), render(spec, 256)
        assert change(ill, well)[~ill.masks[name]].max() <= 1


def test_findings_lie_in_the_lungs_they_are_said_to_be_in():
    for name in FINDINGS:
        ill, _ = pair(name, "A")
        (finding,) = ill.spec.findings
        lungs = ill.masks["lungs" if finding.side == "both" else f"{finding.side} lung"]
        # The picture is not quite sharp: two pixels beyond the lung it may still shine.
        near = cv2.dilate(lungs.astype(np.uint8), np.ones((7, 7), np.uint8)).astype(bool)
        assert not (ill.masks[name] & ~near).any(), name
        if finding.zone != "all":
            rows = np.nonzero(ill.cores[name])[0].mean()
            middle = np.nonzero(lungs)[0].mean()
            assert (rows < middle) == (finding.zone == "upper"), name


def test_air_has_no_vessels_and_is_darker():
    ill, well = pair("pneumothorax", "A")
    air = cv2.erode(ill.cores["pneumothorax"].astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    assert air.sum() > 50
    assert ill.picture[air].mean() < well.picture[air].mean() - 5


def test_the_letter_and_the_border():
    for hospital in ("A", "B", "C"):
        spec = ChestSpec(3, look=Look(hospital))
        drawn = render(spec)
        border, letter = drawn.masks["border"], drawn.masks["marker"]
        assert border.any() == (hospital != "A")
        assert (drawn.picture[border & ~letter] == 5).all()
        assert 5 < letter.sum() < 400
        assert drawn.picture[letter].max() > 200
        # Another patient in the same hospital: the same letter, the same border.
        other = render(ChestSpec(4, look=Look(hospital)))
        assert np.array_equal(other.masks["marker"], letter)
        assert np.array_equal(other.masks["border"], border)
