"""`chest-phantoms` as a set of cases: references exact, masks as promised, texts true."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage
from typer.testing import CliRunner

import medebench
from medebench.audit import audit
from medebench.audit.fix import fix
from medebench.cases import load_cases, open_case
from medebench.cli import app
from medebench.errors import InputError
from medebench.phantoms.case_sets import ChestSettings
from medebench.phantoms.chest.captions import caption
from medebench.phantoms.chest.chest_edit import SEAM, SHIFTS, chest_edit, member
from medebench.phantoms.chest.chest_files import write_chest_phantoms
from medebench.phantoms.chest.chest_spec import DEVICES, FINDINGS, Device

SET = "chest-phantoms:count=16"


@pytest.fixture(scope="module")
def edits():
    return [chest_edit(index) for index in range(16)]


@pytest.fixture
def cases():
    return load_cases(SET)


def test_every_thing_is_removed_and_added_once(edits):
    done = {(edit.kind, edit.thing.name) for edit in edits}
    assert done == {(k, n) for k in ("removal", "addition") for n in (*FINDINGS, *DEVICES)}
    for edit in edits:
        ill, well = edit.before.spec, edit.after.spec
        if edit.kind == "addition":
            ill, well = well, ill
        assert ill.without(edit.thing.name) == well != ill


def test_all_that_changes_may_change(edits):
    for edit in edits:
        gap = np.abs(edit.before.picture.astype(int) - edit.after.picture)
        assert gap[~edit.edit].max() <= 1
        assert gap[edit.edit].max() >= 20
        assert 0.005 < edit.edit.mean() < 0.7


def test_what_must_stay_is_kept_and_what_must_change_is_not(edits):
    for edit in edits:
        having = edit.before if edit.kind == "removal" else edit.after
        changed = having.masks[edit.thing.name]
        staying = np.zeros_like(changed)
        for device in edit.before.spec.devices:
            if device.name != edit.thing.name:
                staying |= edit.before.cores[device.name]
        fixed = having.masks["marker"] | having.masks["border"]
        far = ndimage.distance_transform_edt(~edit.edit) > SEAM
        if isinstance(edit.thing, Device):
            assert not (edit.keep & changed).any()
            assert np.array_equal(edit.keep, ((fixed | staying) & ~changed) | far)
        else:
            assert np.array_equal(edit.keep, fixed | staying | far)
            assert not (edit.keep & changed & ~staying & ~fixed).any()
        assert edit.keep.any()


def test_the_shifts_of_stress_tests():
    for shift in SHIFTS:
        asked = [edit for index in range(6) for edit in member(shift, 5, index).edits]
        for index in range(3):
            edit = chest_edit(index, 5, shift)
            assert edit.before.spec == asked[index].before.spec
            assert edit.after.spec == asked[index].after.spec
            assert np.array_equal(edit.keep, asked[index].keep)
    assert {chest_edit(index, 5, "removal").kind for index in range(9)} == {"removal"}
    known = get_args(ChestSettings.model_fields["shift"].annotation)
    assert known == ("all", "removal", "addition", *SHIFTS)


def test_cases_hold_what_the_edits_are(cases, edits):
    assert len(cases) == 16
    for case, edit in zip(cases, edits, strict=True):
        opened = open_case(case)
        assert np.array_equal(opened.previous[..., 0], edit.before.picture)
        assert np.array_equal(opened.reference[..., 0], edit.after.picture)
        assert np.array_equal(opened.roi, edit.edit)
        assert opened.keep is not None and np.array_equal(opened.keep, edit.keep)
        assert case.prompt == caption(edit.after.spec, hospital=True)
        assert case.caption == caption(edit.before.spec, hospital=True) != case.prompt
        assert (case.organ, case.modality) == ("Chest", "radiograph")
        assert case.task == edit.title and case.task.endswith(case.key_concept)
        assert case.key_concept in case.rephrased_prompt
        assert case.rephrased_prompt.startswith(case.task.split()[0])
        assert "{" not in case.description and len(case.description.split()) > 12


def test_the_set_is_drawn_once(cases):
    file = cases.root / "editing" / "editing_metadata.json"
    written = file.stat().st_mtime_ns
    assert load_cases(SET).fingerprint == cases.fingerprint
    assert file.stat().st_mtime_ns == written
    assert load_cases("chest-phantoms:count=1,seed=1").fingerprint != cases.fingerprint


def test_the_same_set_whatever_the_threads(tmp_path, cases):
    write_chest_phantoms(tmp_path / "one", 3, workers=1)
    one = load_cases(tmp_path / "one")
    assert [one.digests[str(k)] for k in (1, 2, 3)] == [cases.digests[str(k)] for k in (1, 2, 3)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chest-phantoms:shift=sideways", "shift"),
        ("chest-phantoms:size=100", "size"),
        ("chest-phantoms:count=0", "count"),
        ("chest-phantoms:colour=red", "no setting 'colour'"),
        ("chest-phantom", "chest-phantoms, medgen-phantoms, phantoms"),
    ],
)
def test_what_cannot_be_drawn(text, message):
    with pytest.raises(InputError, match=message):
        load_cases(text)


def test_a_larger_size():
    (case,) = load_cases("chest-phantoms:count=1,size=160")
    opened = open_case(case)
    assert opened.previous.shape == (160, 160, 3)
    assert opened.keep is not None and opened.keep.shape == (160, 160)


def test_the_audit_accepts_it(cases):
    found = audit(cases)
    assert found.files == 64
    assert [one.code for one in found.findings if one.code != "near-duplicate"] == []


def test_the_audit_reads_a_keep_mask_as_a_mask(cases, tmp_path):
    first, second, third = cases.cases[:3]
    grey = tmp_path / "grey.png"
    Image.fromarray(np.full((128, 128), 200, np.uint8)).save(grey)
    nothing = tmp_path / "nothing.png"
    Image.fromarray(np.zeros((64, 64), np.uint8)).save(nothing)
    changed = (replace(first, keep=grey), replace(second, keep=nothing), third)
    codes = {one.code: one.cases for one in audit(replace(cases, cases=changed)).findings}
    assert codes["mask-greys"] == (first.id,)
    assert codes["keep-empty"] == codes["mask-size"] == (second.id,)
    assert "roi-empty" not in codes

    report = fix(replace(cases, cases=changed), tmp_path / "fixed")
    assert report.cases == 3 and not report.left_out
    again = load_cases(tmp_path / "fixed")
    assert [case.caption for case in again] == [case.caption for case in changed]
    assert [case.keep is not None for case in again] == [True, False, True]
    assert open_case(again.cases[0]).keep.all()
    assert np.array_equal(open_case(again.cases[2]).keep, open_case(third).keep)


def test_editors_and_commands_take_it(cases, tmp_path):
    run = medebench.edit(cases.select(limit=2), "reference", out=tmp_path / "run")
    medebench.score(run, metrics=["cp"])
    assert run.frame()["value"].drop_nulls().min() > 0.99

    call = CliRunner().invoke
    shown = call(app, ["cases", "show", SET, "1", "--json"])
    assert json.loads(shown.output)["caption"] == cases["1"].caption
    made = call(
        app, ["cases", "make", "chest-phantoms", "--count", "1", "--out", str(tmp_path / "made")]
    )
    assert made.exit_code == 0
    assert load_cases(tmp_path / "made").digests["1"] == cases.digests["1"]
