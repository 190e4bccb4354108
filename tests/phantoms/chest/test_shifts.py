"""The members of the test sets: labels, texts, masks and what the edit should look like."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import ndimage

from medebench.phantoms.chest import ChestSpec, render
from medebench.phantoms.chest.captions import caption
from medebench.phantoms.chest.chest_edit import ADDED, HEALTHY, REACH, SEAM, SHIFTS, grown, member
from medebench.phantoms.chest.chest_spec import Look
from medebench.phantoms.chest.patients import confounded, draw_patient
from medebench.phantoms.recipes.recipe_predictors import SEEDS, TEST, TRAINING, VALIDATION

#: Not a seed of any test set.
SEED = VALIDATION + 17


def words(drawn):
    return caption(drawn.spec, hospital=True)


def test_growing_is_all_within_a_distance():
    region = np.zeros((40, 50), np.bool_)
    region[12:15, 20:30] = region[30, 5] = True
    far = ndimage.distance_transform_edt(~region)
    for pixels in (0, 1, 3, 7):
        assert (grown(region, pixels) == (far <= pixels)).all()
    nothing = np.zeros((8, 8), np.bool_)
    assert not grown(nothing, 3).any()


@pytest.mark.parametrize("shift", SHIFTS)
def test_the_whole_change_may_be_made_and_a_seam_lies_between(shift):
    for index in (0, 2):
        one = member(shift, SEED, index)
        assert one.edits
        for edit in one.edits:
            assert (edit.edit & ~edit.keep).any() and edit.keep.any()
            seam = ~(edit.edit | edit.keep)
            assert 0 < seam.mean() < 0.35
            change = np.abs(edit.after.picture.astype(int) - one.drawn.picture) > 2
            assert change[edit.edit].mean() > 0.05 and not change[~edit.edit].any()
            # Hospital B's letter may stand before a lung, and the drain lies in the air.
            letter = render(ChestSpec(0, look=Look("B"))).masks["marker"]
            if shift != "manifestation":
                assert not (change & edit.keep & ~letter).any()


def test_acquisition_keeps_what_belongs_to_the_hospital():
    spec, sick = confounded(SEED, 0, "opacities", "B", 1.0)
    drawn, one = render(spec), member("acquisition", SEED, 0)
    assert sick and spec.look.hospital == "B" and one.label == "opacities"
    (edit,) = one.edits
    assert words(one.drawn) == "bilateral opacities, hospital B"
    assert words(edit.after) == "clear lungs, hospital B"
    assert (one.drawn.picture == drawn.picture).all()
    for kept in ("marker", "border"):
        assert edit.keep[drawn.masks[kept]].all()
    away = ndimage.distance_transform_edt(~drawn.masks["lungs"])
    assert edit.edit[away <= REACH].all()
    assert edit.keep[away > REACH + SEAM + 1].all()
    healthy = member("acquisition", SEED, 1)
    assert (healthy.label, words(healthy.drawn)) == ("clear", "clear lungs, hospital A")
    assert healthy.edits == ()


def test_manifestation_keeps_the_drain_and_edits_its_lung_alone():
    for index in (0, 2):
        spec, _ = confounded(SEED, index, "pneumothorax", "chest drain", 1.0)
        drawn, one = render(spec), member("manifestation", SEED, index)
        (edit,), (air,) = one.edits, spec.findings
        other = "left lung" if air.side == "right" else "right lung"
        assert edit.keep[drawn.cores["chest drain"]].all()
        assert (edit.edit & ~edit.keep)[drawn.masks[f"{air.side} lung"]].mean() > 0.7
        assert edit.keep[ndimage.binary_erosion(drawn.masks[other], iterations=6)].all()
        hospital = f"hospital {spec.look.hospital}"
        assert words(drawn) == f"{air.side} pneumothorax, {air.side} chest drain, {hospital}"
        assert words(edit.after) == f"clear lungs, {air.side} chest drain, {hospital}"
    assert member("manifestation", SEED, 1).label == "no pneumothorax"


def test_population_adds_to_the_healthy_and_leaves_their_lungs():
    spec = draw_patient(SEED, 0, HEALTHY)
    one = member("population", SEED, 0)
    assert not spec.findings and not spec.devices and spec.look.hospital == "A"
    assert one.drawn.spec == spec and one.label == ""
    assert tuple(edit.thing.name for edit in one.edits) == ADDED
    oedema, pacemaker, consolidation = one.edits
    assert words(oedema.after) == "bilateral oedema, hospital A"
    assert words(pacemaker.after) == "clear lungs, pacemaker, hospital A"
    side, zone, *rest = words(consolidation.after).split(" ", 2)
    assert side in ("left", "right") and zone in ("upper", "lower")
    assert rest == ["consolidation, hospital A"]
    for edit in one.edits:
        assert (edit.after.masks["lungs"] == one.drawn.masks["lungs"]).all()
    rows, columns = np.nonzero(pacemaker.after.cores["pacemaker"])
    assert pacemaker.edit[rows.min() : rows.max(), columns.min() : columns.max()].all()


def test_sides_and_zones_differ_between_patients():
    shown = {words(member("population", SEED, index).edits[2].after) for index in range(5)}
    assert len(shown) > 1


def test_seeds_of_training_validation_and_test_never_meet():
    starts = sorted((TRAINING, VALIDATION, TEST))
    assert all(b - a >= SEEDS for a, b in pairwise(starts))
