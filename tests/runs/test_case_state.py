"""A case that changes after its outputs were scored: no score of before is shown as one of now."""

from __future__ import annotations

import json
import os

import numpy as np
import polars as pl
import pytest
from PIL import Image
from typer.testing import CliRunner

import medebench as mb
from medebench.cli import app
from medebench.reporting.collect import collect
from medebench.runs.ledger import STALE, STALE_CASE, STALE_SET
from tests.runs.test_learned import Distance, Grey
from tests.runs.test_own_attention import looker

METRICS = ["cp", "ssim"]


def files(small_set, role, case):
    return small_set / f"editing/{role}/{case}.png"


def invert(path):
    Image.fromarray(255 - np.asarray(Image.open(path))).save(path)


def tell(small_set, case, **texts):
    path = small_set / "editing/editing_metadata.json"
    told = json.loads(path.read_text())
    for sample in told["samples"]:
        if str(sample["id"]) == case:
            sample |= texts
    path.write_text(json.dumps(told))


def made(small_set, tmp_path, editor, name=""):
    return mb.edit(small_set, editor, out=tmp_path / (name or editor))


def fresh(small_set, tmp_path, editor, metrics=METRICS, judge=None):
    """The scores of a run that never saw the old case."""
    run = made(small_set, tmp_path, editor, "fresh")
    return mb.score(run, metrics, judge).frame()


def of(frame, case):
    return frame.filter(case=case).select("metric", "value", "reason")


@pytest.mark.parametrize("role", ["changed", "previous_mask"])
def test_a_changed_reference_or_mask_is_scored_again(small_set, tmp_path, role):
    run = mb.score(made(small_set, tmp_path, "blur"), METRICS, "offline")
    before = run.frame()
    invert(files(small_set, role, "1"))
    assert set(of(run.frame(), "1")["reason"]) == {STALE_CASE}
    assert of(run.frame(), "2").equals(of(before, "2"))
    mb.score(run, METRICS, "offline")
    expected = fresh(small_set, tmp_path, "blur", METRICS, "offline")
    assert run.frame().drop("run").equals(expected.drop("run"))
    assert not of(run.frame(), "1").equals(of(before, "1"))


def test_a_file_of_the_same_size_and_time_is_noticed(small_set, tmp_path):
    path = tmp_path / "raw.bmp"
    for role in ("previous", "changed"):
        Image.open(files(small_set, role, "1")).save(path)
        files(small_set, role, "1").write_bytes(path.read_bytes())
    run = mb.score(made(small_set, tmp_path, "identity"), ["ssim"])
    reference = files(small_set, "changed", "1")
    was, data = reference.stat(), bytearray(reference.read_bytes())
    data[-3000:] = bytes(3000)
    reference.write_bytes(data)
    os.utime(reference, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert reference.stat().st_size == was.st_size
    assert of(run.frame(), "1")["reason"].to_list() == [STALE_CASE]


@pytest.mark.parametrize(
    ("editor", "role", "named"),
    [
        ("reference", "changed", "reference"),
        ("inpaint", "previous_mask", "ROI mask"),
        ("identity", "previous", "previous image"),
    ],
)
def test_what_the_editor_saw_must_not_change(small_set, tmp_path, editor, role, named):
    run = mb.score(made(small_set, tmp_path, editor), METRICS)
    before = run.frame()
    path = files(small_set, role, "1")
    whole = path.read_bytes()
    invert(path)
    assert of(run.frame(), "1")["value"].null_count() == 2
    mb.score(run, METRICS)
    reason = f"the case has changed since the edit ({named}); edit it again"
    assert set(of(run.frame(), "1")["reason"]) == {reason}
    # Put back, it is the case of before, and nobody has to ask for failures to be tried again.
    path.write_bytes(whole)
    mb.score(run, METRICS)
    assert run.frame().equals(before)


def test_texts_count_too(small_set, tmp_path):
    run = mb.score(made(small_set, tmp_path, "blur"), METRICS)
    before = run.frame()
    tell(small_set, "1", detailed_prompt="another description", Organ="Face")
    assert set(of(run.frame(), "1")["reason"]) == {STALE_CASE}
    mb.score(run, METRICS)
    assert of(run.frame(), "1").equals(of(before, "1"))
    assert set(run.frame().filter(case="1")["organ"]) == {"Face"}
    tell(small_set, "2", prompt="Do something else.")
    mb.score(run, METRICS)
    (reason,) = of(run.frame(), "2")["reason"].unique()
    assert reason == "the case has changed since the edit (instruction); edit it again"


def test_an_input_that_was_only_written_anew_is_the_same_input(small_set, tmp_path):
    run = mb.score(made(small_set, tmp_path, "blur"), METRICS)
    before = run.frame()
    path = files(small_set, "previous", "1")
    picture = Image.open(path)
    picture.load()
    picture.save(path, compress_level=0)
    mb.score(run, METRICS)
    assert run.frame().equals(before)


def test_an_adopted_output_is_scored_against_the_new_reference(small_set, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    for case in "1234":
        Image.open(files(small_set, "changed", case)).save(theirs / f"{case}_0.png")
    run = mb.score(mb.adopt(theirs, small_set, tmp_path / "run"), ["ssim"])
    assert set(run.frame()["value"]) == {1.0}
    invert(files(small_set, "changed", "1"))
    mb.score(run, ["ssim"])
    assert of(run.frame(), "1")["value"][0] < 0.9


def test_scores_of_sets_go_with_the_cases(small_set, tmp_path):
    run = mb.score(made(small_set, tmp_path, "blur"), [Distance(Grey())])
    before = run.sets()
    invert(files(small_set, "changed", "1"))
    assert set(run.sets()["reason"]) == {STALE_SET} and run.sets()["value"].is_null().all()
    assert collect([run]).outdated == (before.height, 1)
    again = Distance(Grey())
    mb.score(run, [again])
    assert again.groups and not run.sets().equals(before)
    assert run.sets()["reason"].is_null().all()
    # A case whose outputs are no longer its own is left out, and that is settled.
    invert(files(small_set, "previous", "2"))
    mb.score(run, [again])
    whole = run.sets().filter(part="")
    assert whole["n"][0] == 3 and whole["value"][0] is not None


def test_findings_and_attention_go_with_the_roi(tmp_path):
    cases = mb.load_cases("phantoms:count=3,seed=1")
    folder = tmp_path / "set"
    (folder / "editing").mkdir(parents=True)
    samples = []
    for case in cases:
        names = {"previous": case.previous, "changed": case.reference, "previous_mask": case.roi}
        for role, path in names.items():
            target = folder / "editing" / role / f"{case.id}.png"
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(path.read_bytes())
        samples.append({"id": case.id, "Organ": case.organ, "Task": case.task})
        samples[-1] |= {"prompt": case.prompt, "detailed_prompt": case.description}
        pictures = {"previous_image": "previous", "changed_image": "changed"}
        pictures |= {"previous_mask": "previous_mask"}
        samples[-1] |= {key: f"editing/{role}/{case.id}.png" for key, role in pictures.items()}
    (folder / "editing/editing_metadata.json").write_text(json.dumps({"samples": samples}))
    call = looker(tmp_path, "(request.case.previous.mean(axis=2) / 255).astype(np.float32)")
    run = mb.ground(mb.score(mb.edit(folder, call, tmp_path / "run"), ["cp"], "offline"))
    before, one = run.frame(), cases.cases[0].id
    roi = folder / f"editing/previous_mask/{one}.png"
    Image.fromarray(np.roll(np.asarray(Image.open(roi)), 40, axis=0)).save(roi)
    assert set(of(run.frame(), one)["reason"]) == {STALE_CASE}
    mb.ground(run)
    other = mb.edit(folder, call, tmp_path / "other")
    expected = mb.ground(mb.score(other, ["cp"], "offline")).frame()
    grounded = run.frame().filter(case=one, metric="attention_iou")["value"][0]
    assert grounded == expected.filter(case=one, metric="attention_iou")["value"][0]
    assert grounded != before.filter(case=one, metric="attention_iou")["value"][0]
    # The judge has not looked again, so the finding does not rest on what it said before.
    with run.ledger() as ledger:
        finding = next(r for r in ledger.scores() if (r.case_id, r.metric) == (one, "success"))
    assert finding.detail.get("judge") is None
    mb.score(run, ["cp"], "offline")
    mb.ground(run)
    assert run.frame().drop("run").equals(expected.drop("run"))


def test_report_and_export_say_so_and_end_with_1(small_set, tmp_path):
    run = mb.score(made(small_set, tmp_path, "blur"), METRICS, "offline")
    other = mb.score(made(small_set, tmp_path, "noise"), METRICS, "offline")
    invert(files(small_set, "changed", "1"))
    mb.score(other, METRICS, "offline")
    paths, report = [str(run.path), str(other.path)], tmp_path / "report"
    done = CliRunner().invoke(app, ["report", *paths, "--out", str(report)])
    words = "4 scores of 1 case are out of date and left out"
    assert done.exit_code == 1 and words in done.stderr and "medebench score" in done.stderr
    page = (report / "index.html").read_text()
    assert words in page and "runs/blur" in page and "other content" not in page
    material = collect([run, other])
    hidden = material.frame.filter(case="1", run="blur")
    assert hidden["value"].is_null().all() and material.outdated == (4, 1)
    assert not material.clashes
    table = tmp_path / "scores.csv"
    done = CliRunner().invoke(app, ["export", *paths, "--out", str(table)])
    assert done.exit_code == 1 and words in done.stderr
    written = pl.read_csv(table).filter(case=1, run="blur")
    assert written["value"].is_null().all() and set(written["reason"]) == {STALE_CASE}
    mb.score(run, METRICS, "offline")
    done = CliRunner().invoke(app, ["report", *paths, "--out", str(report), "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["out_of_date"] == {"scores": 0, "cases": 0}
    assert "out of date" not in (report / "index.html").read_text()


def test_an_output_replaced_by_hand_has_no_scores_until_it_is_scored(small_set, tmp_path):
    """Whoever reads scores looks at the outputs too, and says so."""
    run = mb.score(made(small_set, tmp_path, "blur"), [*METRICS, Distance(Grey())], "offline")
    before, report, table = run.frame(), tmp_path / "report", tmp_path / "scores.csv"
    invert(run.output_path("1", 0))
    run.output_path("2", 0).unlink()
    assert set(of(run.frame(), "1")["reason"]) == {STALE}
    # Nobody put another in the place of one that is gone.
    assert of(run.frame(), "2").equals(of(before, "2"))
    assert set(run.sets()["reason"]) == {STALE_SET}
    parts, words = run.sets().height, "of 1 case are out of date and left out: the output"
    assert collect([run]).outdated == (4 + parts, 1)
    done = CliRunner().invoke(app, ["report", str(run.path), "--out", str(report)])
    assert done.exit_code == 1 and words in done.stderr
    assert words in (report / "index.html").read_text()
    done = CliRunner().invoke(app, ["export", str(run.path), "--out", str(table)])
    assert done.exit_code == 1 and words in done.stderr
    assert pl.read_csv(table).filter(case=1)["value"].is_null().all()
    # Scored by one metric alone, the others are still those of the picture before.
    mb.score(run, ["cp"])
    left = run.frame().filter(case="1")
    assert left.filter(metric="cp")["value"][0] != before.filter(case="1", metric="cp")["value"][0]
    assert set(left.filter(pl.col("metric") != "cp")["reason"]) == {STALE}
    assert run.outdated(left)[0] >= 3


def test_a_case_that_is_settled_is_not_counted_again(small_set, tmp_path):
    metrics = [*METRICS, Distance(Grey())]
    run = mb.score(made(small_set, tmp_path, "blur"), metrics)
    tell(small_set, "1", prompt="Do something else.")
    mb.score(run, metrics)
    assert collect([run]).outdated is None
    invert(files(small_set, "changed", "2"))
    assert collect([run]).outdated == (2 + run.sets().height, 1)


def test_scores_can_be_exported_where_the_cases_are_not(small_set, tmp_path):
    run = mb.score(made(small_set, tmp_path, "blur"), METRICS)
    before = run.frame()
    small_set.rename(tmp_path / "elsewhere")
    assert mb.open_run(run.path).frame().equals(before)
    table = tmp_path / "scores.csv"
    done = CliRunner().invoke(app, ["export", str(run.path), "--out", str(table)])
    assert done.exit_code == 0 and "its cases are not at hand" in done.stderr


def test_a_real_reference_replaced_after_scoring(excerpt, tmp_path):
    cases = mb.load_cases(excerpt)
    ids = [case.id for case in cases][:3]
    folder = tmp_path / "set"
    told = json.loads((excerpt / "editing/editing_metadata.json").read_text())
    kept = [one for one in told["samples"] if str(one["id"]) in ids]
    (folder / "editing").mkdir(parents=True)
    (folder / "editing/editing_metadata.json").write_text(json.dumps({"samples": kept}))
    for case in cases.select(ids=ids):
        for path in case.files().values():
            target = folder / path.relative_to(excerpt)
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(path.read_bytes())
    run = mb.score(mb.edit(folder, "identity", tmp_path / "run"), ["ssim"])
    before = of(run.frame(), ids[0])["value"][0]
    invert(mb.load_cases(folder)[ids[0]].reference)
    assert of(run.frame(), ids[0])["value"][0] is None
    mb.score(run, ["ssim"])
    after = of(run.frame(), ids[0])["value"][0]
    expected = mb.score(mb.edit(folder, "identity", tmp_path / "again"), ["ssim"]).frame()
    assert after == of(expected, ids[0])["value"][0] and after < before - 0.1
