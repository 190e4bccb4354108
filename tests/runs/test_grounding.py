"""`ground`: measured once, settled anew, and never a number where there is none."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.errors import BusyError
from medebench.grounding import FAILURE_TYPES, GROUNDING_METRICS, chance, hot_region, iou
from medebench.grounding.attention_files import read_map, read_region, write_map
from medebench.reporting import build_report
from medebench.runs.ledger import ScoreRow
from medebench.runs.stages import attention_scores, change_scores
from medebench.runs.stages.attention_scores import SCORES
from medebench.runs.stages.run_diagnosis import FINDING


def rows(run, metric):
    with run.ledger() as ledger:
        return {(row.case_id, row.k): row for row in ledger.scores() if row.metric == metric}


def types(run):
    return [row.detail.get("type") for row in rows(run, FINDING).values()]


@pytest.fixture(scope="module")
def edited(tmp_path_factory):
    """Where the runs on three phantoms lie that all tests copy."""
    return tmp_path_factory.mktemp("edited")


@pytest.fixture
def runs(edited, tmp_path):
    cases = mb.load_cases("phantoms:count=3,seed=1")
    if not any(edited.iterdir()):
        made = [mb.edit(cases, name, out=edited / name) for name in ("identity", "reference")]
        mb.score(made, judge="offline")
    return [
        mb.open_run(shutil.copytree(edited / name, tmp_path / name))
        for name in ("identity", "reference")
    ]


def test_every_output_has_a_finding(runs):
    mb.ground(runs)
    assert types(runs[0]) == ["nothing"] * 3
    assert types(runs[1]) == ["success"] * 3
    row = rows(runs[1], FINDING)["1", 0]
    assert row.value == 1.0 and row.detail["judge"] is None and row.detail["why"]
    assert row.detail["evidence"]["intended"] == 1.0 and len(row.detail["variant"]) == 16
    assert {metric.name for metric in GROUNDING_METRICS} <= set(runs[0].frame()["metric"])
    assert "attention_iou" not in set(runs[0].frame()["metric"])


def test_the_export_names_the_type(runs):
    mb.ground(runs)
    frame = runs[1].frame()
    found = dict(frame.select("metric", "finding").unique().drop_nulls().iter_rows())
    assert found == {FINDING: "success"}


def test_the_region_lies_beside_the_run(runs):
    mb.ground(runs)
    roi = mb.open_case(runs[1].cases["2"]).roi
    changed = read_region(runs[1].change_path("2", 0), *roi.shape)
    found = rows(runs[1], "change_iou")["2", 0].value
    assert found > 0.2 and iou(changed, roi) == pytest.approx(found, abs=0.02)
    assert not read_region(runs[0].change_path("2", 0), *roi.shape).any()


def test_a_second_time_nothing_is_computed(runs, monkeypatch):
    mb.ground(runs)
    before = runs[0].path.joinpath("change/1_0.png").stat().st_mtime_ns
    monkeypatch.setattr(change_scores, "measure", lambda *_: pytest.fail("measured again"))
    mb.ground(runs)
    assert runs[0].path.joinpath("change/1_0.png").stat().st_mtime_ns == before


def test_a_lost_region_is_made_again(runs):
    mb.ground(runs)
    path = runs[1].change_path("3", 0)
    kept = path.read_bytes()
    path.unlink()
    mb.ground(runs)
    assert path.read_bytes() == kept


def test_a_replaced_picture_is_grounded_again(runs):
    mb.ground(runs)
    runs[0].output_path("1", 0).write_bytes(runs[1].output_path("1", 0).read_bytes())
    frame = mb.ground(runs)[0].frame()
    assert frame.filter((frame["case"] == "1") & (frame["metric"] == FINDING))["value"].item() == 1


def test_thresholds_decide_and_are_told(runs):
    mb.ground(runs, thresholds=mb.Thresholds(nothing_area=0, good_structure=1.0))
    assert set(types(runs[0])) == {"weak"}
    detail = rows(runs[0], FINDING)["1", 0].detail
    assert detail["thresholds"] == {"nothing_area": 0, "good_structure": 1.0}
    mb.ground(runs)
    assert "thresholds" not in rows(runs[0], FINDING)["1", 0].detail


def put(run, metric, value, **detail):
    with run.locked() as ledger:
        for (case_id, k), row in ledger.outputs().items():
            ledger.write(ScoreRow(case_id, k, metric, row.sha256, value, None, detail))


def test_a_model_judges_before_the_stand_in(runs):
    mb.ground(runs)
    put(runs[1], "ea_openai:some-model", 0.1, judge="openai:some-model", stand_in=False)
    put(runs[1], "vq_openai:some-model", 0.9, judge="openai:some-model", stand_in=False)
    mb.ground(runs)
    assert set(types(runs[1])) == {"weak"}
    detail = rows(runs[1], FINDING)["1", 0].detail
    assert detail["judge"] == "openai:some-model" and detail["evidence"]["ea"] == 0.1


def test_scores_of_another_picture_do_not_count(runs):
    with runs[1].locked() as ledger:
        ledger.write(ScoreRow("1", 0, "ea_model", "0" * 64, 0.0, None, {"judge": "model"}))
    mb.ground(runs)
    assert rows(runs[1], FINDING)["1", 0].detail["judge"] is None


def test_without_a_judge_pixels_decide(tmp_path):
    cases = mb.load_cases("phantoms:count=3,seed=1").select(limit=1)
    run = mb.edit(cases, "reference", out=tmp_path / "run")
    mb.ground(run)
    row = rows(run, FINDING)["1", 0]
    assert row.detail["type"] == "success" and row.detail["judge"] is None


def test_what_cannot_be_found_is_a_reason(small_set, tmp_path):
    text = small_set / "editing/editing_metadata.json"
    samples = json.loads(text.read_text())
    del samples["samples"][0]["previous_mask"]
    text.write_text(json.dumps(samples))
    run = mb.edit(small_set, "blur", out=tmp_path / "run")
    run.output_path("2", 0).unlink()
    run.output_path("3", 0).write_bytes(b"no picture")
    mb.ground(run)
    found = rows(run, FINDING)
    assert found["1", 0].reason == "without an ROI there is no right place"
    assert found["2", 0].reason == "the output file is missing"
    assert found["3", 0].reason.startswith("unreadable output")
    assert found["4", 0].value == 0.0


def test_a_busy_run_is_refused(runs):
    with runs[1].locked(), pytest.raises(BusyError):
        mb.ground(runs)


def attended(run, cases, skip=()):
    """Maps that point at the ROI, as an editor would have left them."""
    with run.locked() as ledger:
        for (case_id, k), row in ledger.outputs().items():
            told = {"concept": "mole", "source": "given", "token": "mole", "layers": 2, "steps": 3}
            if case_id in skip:
                told = {"reason": "the prompt does not say 'mole'"}
            else:
                roi = mb.open_case(cases[case_id]).roi
                heat = np.where(roi, 0.9, 0.0).astype(np.float32)
                heat[tuple(np.argwhere(roi)[0])] = 1.0
                write_map(run.attention_path(case_id, k), heat)
            ledger.write(replace(row, detail=row.detail | {"attention": told}))


def test_attention_is_measured_against_chance(runs):
    run = runs[0]
    attended(run, run.cases, skip=("3",))
    mb.ground(runs)
    frame = run.frame()
    values = {name: rows(run, name) for name in SCORES}
    assert set(SCORES) <= set(frame["metric"])
    roi = mb.open_case(run.cases["1"]).roi
    region = hot_region(read_map(run.attention_path("1", 0), *roi.shape))
    expected = chance(region, roi)
    one = values["attention_iou"]["1", 0]
    assert one.value == pytest.approx(iou(region, roi))
    assert one.detail["chance"] == pytest.approx(expected.iou)
    assert one.detail["concept"] == "mole" and one.detail["token"] == "mole"
    assert values["attention_iou_chance"]["1", 0].value == pytest.approx(expected.iou)
    assert values["attention_pointing"]["1", 0].value == 1.0
    assert values["attention_pointing_chance"]["1", 0].value == pytest.approx(roi.mean())
    assert values["attention_energy"]["1", 0].value > 0.95
    refused = values["attention_energy_chance"]["3", 0]
    assert refused.reason == "no attention: the prompt does not say 'mole'"
    assert rows(runs[1], "attention_iou") == {}
    assert rows(run, FINDING)["1", 0].detail["evidence"]["attention_iou"] == one.value


def test_attention_is_measured_once_and_anew_for_another_map(runs, monkeypatch):
    run = runs[0]
    attended(run, run.cases)
    mb.ground(run)
    before = rows(run, "attention_iou")
    monkeypatch.setattr(attention_scores, "read_map", lambda *_: pytest.fail("measured again"))
    mb.ground(run)
    monkeypatch.undo()
    write_map(run.attention_path("2", 0), np.eye(64, dtype=np.float32))
    run.attention_path("3", 0).unlink()
    mb.ground(run)
    after = rows(run, "attention_iou")
    assert after["1", 0] == before["1", 0] and after["2", 0].value != before["2", 0].value
    assert after["3", 0].reason == "the attention map is missing; edit the case again"


def test_a_flat_map_is_a_reason(runs):
    run = runs[0]
    attended(run, run.cases)
    write_map(run.attention_path("1", 0), np.full((64, 64), 0.5, np.float32))
    mb.ground(run)
    assert rows(run, "attention_iou")["1", 0].reason == "the map is the same everywhere"
    assert rows(run, "attention_iou_chance")["1", 0].value is None


def test_the_63_real_outputs(excerpt, tmp_path):
    published = json.loads((excerpt / "published_scores.json").read_text())
    folders = sorted((excerpt / "generated_images").iterdir())
    runs = [mb.adopt(folder, excerpt, tmp_path / folder.name) for folder in folders]
    for run in runs:
        with run.locked() as ledger:
            for (case_id, k), row in ledger.outputs().items():
                one = published[run.name][case_id]
                for name, key in (("ea", "editing_accuracy"), ("vq", "visual_quality")):
                    value = one[f"gpt4o_{key}_detailed"] / 10
                    score = ScoreRow(case_id, k, f"{name}_published", row.sha256, value)
                    ledger.write(replace(score, detail={"judge": "published"}))
    mb.ground(runs)
    found = [kind for run in runs for kind in types(run)]
    assert len(found) == 63 and set(found) <= set(FAILURE_TYPES)
    assert len(set(found)) >= 4
    page = build_report(runs, tmp_path / "report").index.read_text(encoding="utf-8")
    assert "Of the 63 outputs of 7 models" in page


def test_the_command_names_the_ceiling(small_set, tmp_path):
    blur, reference = (
        str(mb.edit(small_set, name, out=tmp_path / name).path) for name in ("blur", "reference")
    )
    said = CliRunner().invoke(app, ["ground", blur]).stderr
    assert "no ceiling" in said and "`reference`" in said
    said = CliRunner().invoke(app, ["ground", blur, reference]).stderr
    assert "ceiling" in said and said.rstrip().endswith(": reference")
