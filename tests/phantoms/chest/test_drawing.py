"""Chest phantoms: the same patient, the same pixels, on any grid; hospitals look different.

The pixels of some patients are pinned in `golden_chests.json`: the built-in models were trained on
them. After a deliberate change (a higher `VERSION`, models made again) write the file anew with

    python -m tests.phantoms.chest.test_drawing
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from medebench.errors import InputError
from medebench.phantoms.chest import ChestSpec, render
from medebench.phantoms.chest.captions import any_caption
from medebench.phantoms.chest.chest_spec import HOSPITALS, Device, Finding, Look
from medebench.phantoms.chest.patients import (
    EVERYBODY,
    Population,
    draw_device,
    draw_look,
    draw_patient,
)
from medebench.phantoms.drawings.noise import stream
from medebench.phantoms.training.model_recipes import CHEST

GOLDEN = Path(__file__).with_name("golden_chests.json")


def pinned(index: int) -> dict[str, str]:
    spec = draw_patient(CHEST.seed, index, EVERYBODY)
    drawn = render(spec)
    cores = b"".join(core.tobytes() for _, core in sorted(drawn.cores.items()))
    return {
        "picture": hashlib.sha256(drawn.picture.tobytes()).hexdigest(),
        "cores": hashlib.sha256(cores).hexdigest(),
        "caption": any_caption(spec, np.random.default_rng(index)),
    }


def test_what_the_models_learned_from_is_still_drawn():
    assert [pinned(index) for index in range(8)] == json.loads(GOLDEN.read_text())


def test_a_patient_is_drawn_twice_the_same_whatever_was_drawn_between():
    specs = [draw_patient(4, index, EVERYBODY) for index in range(3)]
    first = [render(spec).picture for spec in specs]
    again = [render(spec).picture for spec in reversed(specs)][::-1]
    for one, other in zip(first, again, strict=True):
        assert one.dtype == np.uint8
        assert np.array_equal(one, other)
    assert not np.array_equal(first[0], first[1])


def test_every_size_shows_the_same_patient():
    nodule = Finding("nodule", "right", "upper", 1.0)
    spec = draw_patient(11, 0, Population()).having(nodule).having(Device("pacemaker", "left"))
    drawn = {size: render(spec, size) for size in (128, 192, 256, 512)}
    for size, one in drawn.items():
        assert one.picture.shape == (size, size)
        assert all(mask.shape == (size, size) for mask in one.masks.values())
        small = cv2.resize(one.picture, (64, 64), interpolation=cv2.INTER_AREA).ravel()
        wanted = cv2.resize(drawn[128].picture, (64, 64), interpolation=cv2.INTER_AREA).ravel()
        assert np.corrcoef(small, wanted)[0, 1] > 0.98
        for name in ("left lung", "right lung", "heart", "body", "pacemaker", "nodule"):
            shares = [picture.masks[name].mean() for picture in (one, drawn[128])]
            assert shares[0] == pytest.approx(shares[1], rel=0.15, abs=0.002), (size, name)
    with pytest.raises(InputError, match="at least 64"):
        render(spec, 48)


def test_the_left_lung_is_on_the_right_of_the_picture():
    for index in range(3):
        masks = render(draw_patient(12, index, EVERYBODY)).masks
        columns = {side: np.nonzero(masks[f"{side} lung"])[1].mean() for side in ("left", "right")}
        assert columns["right"] < 64 < columns["left"]
        assert not (masks["left lung"] & masks["right lung"]).any()
        assert np.array_equal(masks["lungs"], masks["left lung"] | masks["right lung"])
        assert (masks["lungs"] & ~masks["body"]).sum() < 0.02 * masks["lungs"].sum()


def test_lungs_do_not_depend_on_what_is_in_them_or_on_the_hospital():
    healthy = draw_patient(13, 0, Population())
    wanted = render(healthy).masks["lungs"]
    for changed in (
        healthy.having(Finding("consolidation", "left", "lower", 1.0)),
        healthy.having(Finding("pneumothorax", "right", extent=1.0)),
        healthy.having(Device("wires", "both")),
        replace(healthy, look=Look("C", 1.0, -1.0, 1.0)),
    ):
        assert np.array_equal(render(changed).masks["lungs"], wanted)


def statistics(picture: np.ndarray) -> np.ndarray:
    """What needs no knowledge of chests: greys, contrast, the edge of the picture, fine noise."""
    fine = picture - cv2.blur(picture.astype(np.float32), (3, 3))
    rows, columns = picture[:4], picture[:, :4]
    low, high = np.percentile(picture, (10, 90))
    return np.array([low, high, picture.std(), rows.std(), columns.mean(), np.abs(fine).mean()])


def test_hospitals_can_be_told_apart_by_a_trivial_statistic():
    def seen(start: int) -> tuple[np.ndarray, np.ndarray]:
        body = [draw_patient(14, start + k, Population()) for k in range(8)]
        taken = [
            replace(spec, look=draw_look(hospital, stream(k, hospital)))
            for k, spec in enumerate(body)
            for hospital in HOSPITALS
        ]
        facts = np.array([statistics(render(spec).picture) for spec in taken])
        return facts, np.tile(np.arange(len(HOSPITALS)), len(body))

    known, truth = seen(0)
    spread = known.std(0)
    centres = np.array([known[truth == k].mean(0) for k in range(len(HOSPITALS))])
    facts, wanted = seen(100)
    away = np.linalg.norm((facts[:, None] - centres) / spread, axis=-1)
    assert (away.argmin(1) == wanted).mean() >= 0.95


def test_a_drain_lies_where_the_air_is():
    for side in ("left", "right"):
        spec = ChestSpec(5, findings=(Finding("pneumothorax", side),))
        for number in range(4):
            device = draw_device("chest drain", spec, stream(number, "side"))
            assert device.side == side
        masks = render(spec.having(device)).masks
        assert (masks["chest drain"] & masks[f"{side} lung"]).sum() > 30
        other = "right" if side == "left" else "left"
        assert not (masks["chest drain"] & masks[f"{other} lung"]).any()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Finding("cold", "left"),
        lambda: Finding("nodule", "middle"),
        lambda: Finding("nodule", "left", "lower", 1.5),
        lambda: Finding("nodule", "left", "lower", float("nan")),
        lambda: Device("chest drain", "both"),
        lambda: Device("spoon", "left"),
        lambda: Look("D"),
        lambda: ChestSpec(0, findings=(Finding("nodule", "left"), Finding("nodule", "right"))),
    ],
)
def test_what_cannot_be_drawn_is_refused(make):
    with pytest.raises(InputError):
        make()


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps([pinned(index) for index in range(8)], indent=1) + "\n")
