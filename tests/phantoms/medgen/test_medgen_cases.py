"""`medgen-phantoms`: all tasks, answers that follow from the pixels, the same set from a seed."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from scipy import ndimage

import medebench as mb
from medebench.cases import load_cases
from medebench.cases.caseset import hash_case
from medebench.cases.readers import plain_folder
from medebench.errors import InputError
from medebench.phantoms.medgen.edit_tasks import COLOUR_MAPS, coloured
from medebench.phantoms.medgen.medgen_files import draw_record
from medebench.phantoms.medgen.picture_styles import draw, place
from medebench.phantoms.medgen.questions import Quiz
from medebench.phantoms.medgen.scene import MODALITIES, THIRDS, sample_scene
from medebench.phantoms.medgen.terms import NUMBERS
from medebench.tasks.medgen import MEDGEN
from medebench.tasks.medgen_tasks import MEDGEN_TASKS, medgen_task

SET = "medgen-phantoms:count=96"


@pytest.fixture(scope="module")
def cases():
    return load_cases(SET)


def of_task(cases, name):
    return [case for case in cases if case.task == name]


def change(case):
    """Where input and reference differ, as rows and columns of the middle."""
    opened = mb.open_case(case)
    apart = np.abs(opened.previous.astype(int) - opened.reference).max(axis=2) > 8
    return tuple(float(axis.mean()) for axis in np.nonzero(apart))


def test_all_sixteen_tasks_in_turn(cases):
    assert cases.task == "medgen"
    assert Counter(case.task for case in cases) == dict.fromkeys(MEDGEN_TASKS, 6)
    for case in cases:
        kind = medgen_task(case)
        assert re.fullmatch(rf"{kind.format}-{case.task}-\d{{6}}", case.id)
        assert case.group("format") == kind.format
        assert MEDGEN.lacks(case) == ()
        asked = MEDGEN.of(case).gives
        assert (case.reference is not None) == ("image" in asked)
        assert bool(case.answer) == ("text" in asked)
        assert case.modality in MODALITIES
        assert case.extra["recorded_modality"].startswith("drawing ")
        assert case.extra["sample_id"].endswith(f":{case.task}:{case.id[-6:]}")


def test_every_picture_can_be_opened(cases):
    for case in cases:
        opened = mb.open_case(case)
        assert all(opened.image(role).dtype == np.uint8 for role in case.inputs())
        assert case.reference is None or opened.reference.shape == opened.previous.shape
        assert case.roi is None or 0 < opened.roi.mean() < 0.3


def test_the_same_seed_gives_the_same_set(cases, tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path))
    few = [hash_case(case).digest for case in load_cases("medgen-phantoms:count=16")]
    assert few == [hash_case(case).digest for case in list(cases)[:16]]
    other = [hash_case(case).digest for case in load_cases("medgen-phantoms:count=16,seed=1")]
    assert not {*few} & {*other}


def test_made_folders_are_read_by_the_plain_reader(cases):
    for again in (
        plain_folder.read(cases.root / "cases.jsonl", "medgen"),
        load_cases(cases.root, task="medgen"),
    ):
        assert again.fingerprint == cases.fingerprint and again.task == "medgen"
    sharper = of_task(cases, "resolution-editing")
    assert {case.grid for case in sharper} == {"reference"}
    assert {case.grid for case in cases} == {"previous", "reference"}


def test_a_wrong_grid_is_said(cases, tmp_path):
    table = tmp_path / "cases.jsonl"
    table.write_text('{"id": "1", "prompt": "x", "grid": "mine"}')
    with pytest.raises(InputError, match=r"case 1, field 'grid': expected previous or reference"):
        load_cases(table, task="medgen")


def test_several_records_share_a_source(cases):
    sources = Counter(mb.open_case(case).source for case in cases)
    assert max(sources.values()) >= 4 and len(sources) < len(cases)


def test_choices_are_repeated_and_one_is_right(cases):
    counts = set()
    for case in of_task(cases, "multiple-choice"):
        counts.add(len(case.choices))
        assert case.prompt.split("Options:\n")[1].split("\n") == list(case.choices)
        assert case.choices.count(case.answer) == 1
        assert [one[:3] for one in case.choices] == [
            f"{chr(65 + n)}. " for n in range(len(case.choices))
        ]
    assert min(counts) == 4 and max(counts) == 8
    several = [case for case in cases if len(case.images) == 3]
    assert several and all(case.task == "multiple-choice" for case in several)


def test_right_options_are_not_always_in_the_same_place():
    letters = Counter(
        draw_record("multiple-choice", number, seed=3).answer[0] for number in range(30)
    )
    assert letters.most_common(1)[0][1] < 15


def test_gaps_are_one_run_of_underscores(cases):
    for case in of_task(cases, "blank-filling"):
        assert len(re.findall(r"_{2,}", case.prompt)) == 1
        assert case.key == case.answer


@pytest.mark.parametrize("number", range(12))
def test_counts_and_places_follow_from_the_pixels(number):
    """What a picture shows is the difference to the same drawing without lesions."""
    scene = Quiz(5, number).scene
    drawn = draw(scene)
    solid = ndimage.binary_closing(np.pad(drawn.mask, 4), iterations=3)
    labels, found = ndimage.label(solid)
    assert found == scene.count
    report = draw_record("report-generation", number, seed=5)
    text = report.sections["findings"]
    counted = NUMBERS[found] if found != 1 else "a"
    assert text.startswith(("There is", "There are")) and f" {counted} " in text
    middles = ndimage.center_of_mass(solid, labels, range(1, found + 1))
    for _, column in middles:
        side = "left" if column - 4 < 128 else "right"
        lines = re.split(r" and the |\. ", text)
        assert any(side in line for line in lines)
    one_sided = {"left" if column - 4 < 128 else "right" for _, column in middles}
    said = re.findall(r"\b(left|right)\b", report.sections["impression"])
    assert said == (sorted(one_sided) if len(one_sided) == 1 else [])


@pytest.mark.parametrize(
    "task", ["organic-removal", "disease-prediction", "organic-reconstruction"]
)
def test_the_side_in_the_text_is_where_the_reference_differs(cases, task):
    for case in of_task(cases, task):
        _, column = change(case)
        assert case.key == ("left" if column < 128 else "right")
        assert f" {case.key} " in case.answer


def test_thirds_lie_one_above_the_other():
    for number in range(40):
        scene = sample_scene(9, f"t {number}", count=3)
        by_third = {one.third: place(scene, one)[1] for one in scene.lesions}
        heights = [by_third[third] for third in THIRDS if third in by_third]
        assert heights == sorted(heights)
        for one in scene.lesions:
            assert (place(scene, one)[0] < 128) == (one.side == "left")


def test_boxes_hold_what_changes(cases):
    for task in ("organic-removal", "disease-prediction", "anatomical-annotation"):
        for case in of_task(cases, task):
            opened = mb.open_case(case)
            wide, high = opened.previous.shape[1::-1]
            x, _, width, height = case.extra["metadata"]["bbox"]
            inside = opened.roi
            rows, columns = np.nonzero(inside)
            assert np.isclose((columns.min() + columns.max() + 1) / 2 / wide, x)
            assert np.isclose((rows.max() + 1 - rows.min()) / high, height)
            assert inside.sum() == round(width * wide) * round(height * high)
            if task != "anatomical-annotation":
                apart = (opened.previous != opened.reference).any(axis=2)
                assert apart[inside].sum() > 0.99 * (apart & near(inside, 12)).sum()


def near(mask, pixels):
    return ndimage.binary_dilation(mask, iterations=pixels)


def test_editing_references_are_the_clean_drawing(cases):
    for task in ("noise-reconstruction", "artifact-removal", "contrast-enhancement"):
        for case, sharp in zip(
            of_task(cases, task), of_task(cases, "resolution-editing"), strict=True
        ):
            assert (mb.open_case(case).reference == mb.open_case(sharp).compared().reference).all()


def test_a_style_is_the_colour_table_that_is_named(cases):
    for case in of_task(cases, "style-transfer"):
        style = case.extra["metadata"]["target_style"]
        opened = mb.open_case(case)
        assert (coloured(opened.previous, style) == opened.reference).all()
        assert (style in case.prompt) == (case.group("subtask") == "Programmatic style")
    assert len(COLOUR_MAPS) == 4


def test_slices_and_renderings_agree(cases):
    """Bright blobs of the sheet, red ones of the rendering, and the text count the same balls."""
    for case in of_task(cases, "2d-to-3d-reconstruction"):
        opened = mb.open_case(case)
        tiles = opened.previous[..., 0].copy()
        tiles[:14, :34] = tiles[:14, 128:162] = tiles[128:142, :34] = tiles[128:142, 128:162] = 0
        _, bright = ndimage.label(ndimage.binary_opening(tiles > 180, iterations=2))
        red = opened.reference[..., 0].astype(int) - opened.reference[..., 1] > 60
        labels, solid = ndimage.label(ndimage.binary_opening(red, iterations=2))
        assert case.key == NUMBERS[bright]
        assert solid <= bright
        sides = {
            ("left", "right")[int(x >= 128)]
            for _, x in ndimage.center_of_mass(red, labels, range(1, solid + 1))
        }
        assert sides == {*re.findall(r"\b(left|right)\b", case.answer)}
    for case in of_task(cases, "3d-to-2d-projection"):
        slice_ = mb.open_case(case).reference[..., 1].astype(int)
        ball = ndimage.binary_opening(slice_ > 190, iterations=3)
        side = (
            ("left" if np.nonzero(ball)[1].mean() < 128 else "right") if ball.any() else "no ball"
        )
        assert case.key == side


def test_settings_are_checked():
    with pytest.raises(InputError, match="count"):
        load_cases("medgen-phantoms:count=0")
