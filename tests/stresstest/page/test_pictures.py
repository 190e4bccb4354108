"""The pictures of edits: what is drawn is what was changed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from skimage.color import rgb2lab

from medebench.images.picture import read_picture
from medebench.page.page_folder import Folder
from medebench.stresstest.page.edit_images import (
    EDIT_LINE,
    FULL_CHANGE,
    KEEP_LINE,
    colour_change,
    mean_changes,
    outlines_svg,
    signed_change,
    write_pictures,
)
from medebench.stresstest.page.figures import colours_of
from medebench.stresstest.stress_outcome import StressOutcome
from tests.stresstest.page.made_up import MadeUp


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.booleans(), st.booleans())
def test_mean_changes_are_those_of_plain_loops(seed: int, masked: bool, kept: bool) -> None:
    rng = np.random.default_rng(seed)
    before, after = rng.integers(0, 256, (2, 5, 6, 3), dtype=np.uint8)
    edit = rng.random((5, 6)) < 0.5 if masked else None
    keep = rng.random((5, 6)) < 0.4 if kept else None
    sums: dict[str, list[float]] = {"edit": [], "keep": [], "rest": []}
    for y in range(5):
        for x in range(6):
            lost = abs(sum(int(after[y, x, c]) - int(before[y, x, c]) for c in range(3))) / 3 / 255
            if keep is not None and keep[y, x]:
                sums["keep"].append(lost)
            elif edit is None or edit[y, x]:
                sums["edit"].append(lost)
            else:
                sums["rest"].append(lost)
    found = mean_changes(signed_change(before, after, 255), edit, keep)
    for one, values in zip(found, sums.values(), strict=True):
        assert (one is None) == (not values)
        if one is not None:
            assert one == pytest.approx(sum(values) / len(values), abs=1e-6)


def test_difference_is_signed_and_can_be_read_in_grey() -> None:
    steps = np.linspace(-FULL_CHANGE, FULL_CHANGE, 101, dtype=np.float32)[None]
    colours = colour_change(steps)
    lightness = rgb2lab(colours)[0, :, 0]
    assert (np.diff(lightness) > 0).all()
    assert np.ptp(colours[0, 50].astype(int)) == 0  # no change is grey
    assert (colour_change(steps * 9)[0, [0, 100]] == colours[0, [0, 100]]).all()
    light, dark = np.full((2, 2, 3), 60, np.uint8), np.full((2, 2, 3), 20, np.uint8)
    assert signed_change(light, dark, 255)[0, 0] == pytest.approx(-40 / 255)
    deep = np.full((2, 2, 3), 1000, np.uint16)
    assert signed_change(deep, deep + 2095, 4095)[0, 0] == pytest.approx(2095 / 4095)


def test_outlines_differ_in_lightness_and_pattern_and_follow_the_mask() -> None:
    first, second = (
        rgb2lab(np.array([[[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)]]]))[0, 0, 0]
        for c in (EDIT_LINE[0], KEEP_LINE[0])
    )
    assert first - second > 35
    assert bool(EDIT_LINE[2]) != bool(KEEP_LINE[2])
    mask = np.zeros((40, 60), np.bool_)
    mask[10:20, 15:50] = True
    svg = outlines_svg([(mask, EDIT_LINE)])
    points = {
        (int(x), int(y))
        for x, y in re.findall(r"[ML](\d+) (\d+)", re.findall(r'd="([^"]+)"', svg)[0])
    }
    assert points == {(15, 10), (49, 10), (49, 19), (15, 19)}
    assert 'viewBox="-.5 -.5 60 40"' in svg


def test_every_edit_is_opened_once_and_pictures_are_shared(
    segmented: MadeUp, tmp_path: Path
) -> None:
    outcome, files = segmented.outcome, replace(segmented.pictures, opened=0)
    folder = Folder(tmp_path / "page")
    shown = write_pictures(outcome, files, folder, colours_of(outcome))
    assert files.opened == len(outcome.edits) == len(shown)
    one, other = shown["s000-consolidation"], shown["s000-pacemaker"]
    assert one.before == other.before and one.after != other.after
    assert one.changes[1] == 0.0 and one.changes[0] is not None and one.changes[0] > 0.01
    assert set(one.predicted) == {"weak", "strong"}
    view = read_picture(tmp_path / "page" / f"assets/pictures/{one.after}.webp")
    true = read_picture(files.outputs["s000-consolidation"])
    assert view.shape == true.shape
    assert np.abs(view.astype(int) - true).mean() < 3  # lossy, but the same picture
    assert not (tmp_path / "page" / "assets" / "small").exists()


def _of(outcome: StressOutcome, count: int) -> StressOutcome:
    return replace(outcome, edits=outcome.edits[:count])


def test_large_pictures_have_small_twins(classified: MadeUp, tmp_path: Path) -> None:
    outcome = _of(classified.outcome, 1)
    files = replace(classified.pictures, outputs=dict(classified.pictures.outputs))
    sample = outcome.edits[0].intended.sample
    grey = read_picture(sample.image)[..., 0]
    wide = cv2.resize(grey, (900, 600)).astype(np.uint16) * 16
    cv2.imwrite(str(tmp_path / "deep.png"), wide)
    intended = replace(
        outcome.edits[0].intended, sample=replace(sample, image=tmp_path / "deep.png", bits=12)
    )
    edit = replace(outcome.edits[0], intended=intended)
    folder = Folder(tmp_path / "page")
    outcome = replace(outcome, edits=(edit,))
    one = write_pictures(outcome, files, folder, colours_of(outcome))[intended.id]
    assert (one.width, one.height) == (900, 600)
    for kind, size in (("pictures", (512, 341)), ("small", (256, 170))):
        for key in (one.before, one.after, one.difference):
            with Image.open(tmp_path / "page" / f"assets/{kind}/{key}.webp") as view:
                assert view.size == size
    # Twelve bits are shown in their own range, not in that of sixteen.
    shown = read_picture(tmp_path / "page" / f"assets/pictures/{one.before}.webp")
    assert abs(float(shown.mean()) - float(wide.mean()) * 255 / 4095) < 3


def test_what_cannot_be_read_is_a_reason(classified: MadeUp, tmp_path: Path) -> None:
    outcome = _of(classified.outcome, 5)
    first, second = outcome.edits[0].intended.id, outcome.edits[1].intended.id
    files = replace(
        classified.pictures,
        lost={first},
        outputs={**classified.pictures.outputs, second: tmp_path / "gone.png"},
    )
    shown = write_pictures(outcome, files, Folder(tmp_path / "page"), colours_of(outcome))
    assert shown[first].before == "" and "no such file" in shown[first].trouble
    assert shown[second].before and not shown[second].after and not shown[second].difference
    assert shown[second].changes == (None, None, None)
    assert "gone.png" in shown[second].trouble
    failed = next(edit for edit in outcome.edits if edit.score is None)
    assert not shown[failed.intended.id].after and not shown[failed.intended.id].trouble
