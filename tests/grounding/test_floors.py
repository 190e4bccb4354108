"""Floors of attention: maps that never saw the picture, by hand and on sets of cases."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.grounding import chance, hot_region, iou
from medebench.grounding.attention_floors import DRAWN, Floor, blob, case_floors, floors
from medebench.metrics import Undefined
from tests.conftest import REPOSITORY, draw, write_set


def box(shape, top, left, height, width):
    roi = np.zeros(shape, bool)
    roi[top : top + height, left : left + width] = True
    return roi


@pytest.mark.parametrize("shape", [(512, 512), (246, 512), (512, 336), (63, 64)])
def test_the_blob_is_an_ellipse_in_the_middle(shape):
    region = hot_region(blob(*shape))
    assert region.mean() == pytest.approx(0.22, abs=0.01)
    np.testing.assert_array_equal(region, region[::-1, ::-1])
    rows, columns = (np.nonzero(region.any(axis))[0] for axis in (1, 0))
    assert np.ptp(rows) / shape[0] == pytest.approx(np.ptp(columns) / shape[1], abs=0.03)
    # The formula of the docs at an arbitrary pixel.
    y, x = shape[0] // 5, shape[1] // 3
    away = [(y - (shape[0] - 1) / 2) / (shape[0] / 4), (x - (shape[1] - 1) / 2) / (shape[1] / 4)]
    assert blob(*shape)[y, x] == pytest.approx(np.exp(-(away[0] ** 2 + away[1] ** 2) / 2))


def test_measures_by_hand():
    roi = box((40, 60), 0, 0, 20, 30)
    other = box((20, 30), 0, 0, 10, 30)  # the upper half, once stretched
    nothing = box((40, 60), 30, 40, 10, 20)
    found = floors(roi, [other, nothing])
    assert found["frame"] == Floor(0.25, 0.25, 0.25)
    assert found["other"] == Floor(0.25, 0.25, 0.25)  # (600 / 1200 + 0) / 2 each
    assert found["blob"].iou == iou(hot_region(blob(40, 60)), roi)
    # The maximum is shared by the four pixels in the middle, one of which is inside.
    assert found["blob"].pointing == 0.25
    assert found["blob"].energy == pytest.approx(0.25)
    assert "other" not in floors(roi)
    with pytest.raises(Undefined, match="whole image"):
        floors(np.ones((4, 5), bool))


def test_central_rois_make_floors_that_chance_does_not_see():
    roi = box((64, 64), 16, 16, 32, 32)
    region = hot_region(blob(64, 64))
    assert floors(roi)["blob"].iou > 0.7 > 2 * chance(region, roi).iou


def test_another_case_is_one_of_another_input(tmp_path):
    root = write_set(tmp_path / "set", 4)
    # 2 shows what 1 shows; the ROIs of 3 and 4 are known.
    first, twin = (root / "editing" / "previous" / f"{n}.png" for n in (1, 2))
    twin.write_bytes(first.read_bytes())
    cases = {case.id: case for case in mb.load_cases(root)}
    found = case_floors(cases)
    rois = {key: mb.open_case(case).roi for key, case in cases.items()}
    for key, apart in {"1": "34", "2": "34", "3": "124", "4": "123"}.items():
        mean = np.mean([iou(rois[one], rois[key]) for one in apart])
        assert found[key]["other"].iou == pytest.approx(mean)
    assert case_floors(cases, ["3"]) == {"3": found["3"]}
    backwards = case_floors(dict(reversed(cases.items())), workers=1)
    assert {key: backwards[key] for key in cases} == found


def test_large_sets_are_drawn_from_and_flaws_are_reasons(tmp_path):
    root = write_set(tmp_path / "set", DRAWN + 6)
    masks = root / "editing" / "previous_mask"
    for number in range(1, DRAWN + 7):
        roi = box((48, 64), number % 20, number % 30, 20, 25)
        Image.fromarray(roi.astype(np.uint8) * 255).save(masks / f"{number}.png")
    Image.fromarray(np.zeros((48, 64), np.uint8)).save(masks / "1.png")
    (masks / "2.png").write_bytes(b"no picture")
    cases = {case.id: case for case in mb.load_cases(root)}
    found = case_floors(cases)
    assert found["1"] == "the ROI is empty" and "2.png" in found["2"]
    known = {key: one for key, one in found.items() if key not in ("1", "2")}
    assert len(known) == DRAWN + 4 and all("other" in one for one in known.values())


def shown(source):
    ran = subprocess.run(
        [sys.executable, REPOSITORY / "tools" / "attention_floors.py", source],
        check=True,
        capture_output=True,
        text=True,
    )
    return ran.stdout


def test_the_command_gives_means_by_organ(tmp_path):
    root = write_set(tmp_path / "set", 5)
    text = shown(root)
    assert "5 of 5 cases have floors" in text and "MedEBench Table 4" in text
    cases = list(mb.load_cases(root))
    shares = [mb.open_case(case).roi.mean() for case in cases]
    [line] = [line for line in text.splitlines() if line.startswith("all cases")]
    assert f"{np.mean(shares):.3f}" in line


def test_on_the_excerpt_seeing_nothing_is_no_worse_than_the_paper_in_many_organs(excerpt):
    """Why the floors are there: IoU far above chance, and near Table 4."""
    text = shown(excerpt)
    [(reached, organs)] = re.findall(r"reach the published IoU in (\d+) of (\d+)", text)
    assert int(organs) == 13 and int(reached) >= 5
    found = case_floors({case.id: case for case in mb.load_cases(excerpt)})
    known = [one for one in found.values() if not isinstance(one, str)]
    rois = [mb.open_case(case).roi for case in mb.load_cases(excerpt)]
    levels = [chance(hot_region(blob(*roi.shape)), roi).iou for roi in rois]
    assert np.mean([one["blob"].iou for one in known]) > np.mean(levels) + 0.05


def test_pictures_are_not_looked_at(tmp_path):
    root = write_set(tmp_path / "set", 3)
    cases = {case.id: case for case in mb.load_cases(root)}
    before = case_floors(cases)
    for number in (1, 2, 3):
        path: Path = root / "editing" / "previous" / f"{number}.png"
        Image.fromarray(draw(100 + number)).save(path)
    assert case_floors(cases) == before
