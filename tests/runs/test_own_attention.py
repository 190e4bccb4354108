"""Attention that a user's own editor hands over: measured like any other, or a reason."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.grounding.attention_floors import FLOORS

LOOKER = """
import numpy as np
from medebench.systems import Edit

class Looker:
    def __init__(self, settings):
        pass

    def edit(self, request):
        return Edit(request.case.previous, attention={attention})
"""


def looker(folder, attention):
    path = folder / "looker.py"
    path.write_text(LOOKER.replace("{attention}", attention), "utf-8")
    return f"{path}:Looker"


def scores(run, metric):
    with run.ledger() as ledger:
        return {row.case_id: row for row in ledger.scores() if row.metric == metric}


@pytest.fixture
def cases():
    return mb.load_cases("phantoms:count=2,seed=1")


def test_a_map_of_an_own_editor_is_measured(cases, tmp_path):
    run = mb.edit(cases, looker(tmp_path, "request.case.roi.astype(np.float32)"), tmp_path / "run")
    mb.ground(run)
    assert [row.value for row in scores(run, "attention_pointing").values()] == [1.0, 1.0]
    # The stored map is the ROI itself.
    assert all(row.value > 0.99 for row in scores(run, "attention_iou").values())


def test_the_command_tells_the_floors_too(cases, tmp_path):
    run = mb.edit(cases, looker(tmp_path, "request.case.roi.astype(np.float32)"), tmp_path / "run")
    done = CliRunner().invoke(app, ["ground", str(run.path), "--json"])
    floors = json.loads(done.stdout)["attention_floors"]
    rois = [mb.open_case(case).roi for case in cases]
    assert list(floors) == list(FLOORS.values())
    assert floors["whole frame"] == pytest.approx(np.mean([roi.mean() for roi in rois]))
    shown = CliRunner().invoke(app, ["ground", str(run.path)], env={"COLUMNS": "250"}).stdout
    assert "floor: centred blob" in shown


@pytest.mark.parametrize(
    "attention", ["np.zeros((4, 4, 3))", "np.full((4, 4), np.nan)", "np.full((4, 4), 7.0)", "'map'"]
)
def test_a_map_that_is_none_becomes_a_reason(attention, cases, tmp_path):
    run = mb.edit(cases, looker(tmp_path, attention), tmp_path / "run")
    with run.ledger() as ledger:
        outputs = list(ledger.outputs().values())
    assert all("attention" in row.reason for row in outputs)
    assert not list((tmp_path / "run").glob("attention/*.png"))


def test_a_replaced_output_loses_its_attention_at_once(cases, tmp_path):
    run = mb.edit(cases, looker(tmp_path, "request.case.roi.astype(np.float32)"), tmp_path / "run")
    mb.ground(run)
    shutil.copy(run.output_path("2", 0), run.output_path("1", 0))
    mb.ground(run)
    found = scores(run, "attention_iou")
    assert found["1"].value is None and found["1"].reason
    assert found["2"].value is not None


def test_without_a_chance_level_there_is_no_iou(small_set, tmp_path):
    mask = next((small_set / "editing" / "previous_mask").glob("*.png"))
    from PIL import Image

    with Image.open(mask) as image:
        Image.new("L", image.size, 0).save(mask)
    run = mb.edit(small_set, looker(tmp_path, "np.eye(9, dtype=np.float32)"), tmp_path / "run")
    mb.ground(run)
    for case, row in scores(run, "attention_iou").items():
        chance = scores(run, "attention_iou_chance")[case]
        assert (row.value is None) == (chance.value is None)
    assert any(row.value is None for row in scores(run, "attention_iou").values())
    assert np.isfinite([r.value for r in scores(run, "attention_iou").values() if r.value]).all()
