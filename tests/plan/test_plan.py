"""Plans: checked before anything is written, run again they continue."""

from __future__ import annotations

import json

import pytest
from PIL import Image
from typer.testing import CliRunner

from medebench.cli import app
from medebench.errors import InputError
from medebench.plan import builtin_plans, load_plan, run_plan


@pytest.fixture
def write_plan(tmp_path, small_set):
    def write(text):
        path = tmp_path / "plan.yaml"
        path.write_text(text.replace("{set}", str(small_set)), encoding="utf-8")
        return path

    return write


GOOD = """
cases: set
out: results
seed: 3
editors:
  - identity
  - blur:sigma=2
  - {editor: noise, name: grain, settings: {sigma: 0.05}, outputs: 2}
adopt:
  - {folder: theirs, name: their-model}
metrics: [cp, psnr]
judge: offline
report: {headline: cp_published, title: "Prüfung"}
"""


def test_a_plan_runs_everything_and_continues(write_plan, tmp_path, small_set):
    (tmp_path / "theirs").mkdir()
    Image.open(small_set / "editing/previous/1.png").save(tmp_path / "theirs" / "1.png")
    path = write_plan(GOOD)
    done = run_plan(load_plan(str(path)))
    assert [run.name for run in done.runs] == ["identity", "blur-sigma=2", "grain", "their-model"]
    assert done.failed == 0 and done.report.index == tmp_path / "results/report/index.html"
    assert "Prüfung" in done.report.index.read_text("utf-8")
    grain = done.runs[2]
    assert grain.info.settings == {"sigma": 0.05} and grain.info.seed == 3
    assert grain.frame()["k"].n_unique() == 2
    named = {"cp", "psnr", "intended_offline", "vq_offline"}
    assert named | {"success", "change_iou"} <= set(grain.frame()["metric"])
    assert [column.name for column in done.report.table.columns] == [
        *("intended_offline", "cp", "vq_offline", "psnr"),
    ]
    times = {p: p.stat().st_mtime_ns for p in tmp_path.glob("results/runs/*/edits/*.png")}
    run_plan(load_plan(str(path)))
    assert len(times) == 4 + 4 + 8 + 1
    assert all(p.stat().st_mtime_ns == times[p] for p in times)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("editors: [identity]", "cases: field required"),
        ("cases: {set}", "systems: name at least one"),
        ("cases: {set}\neditors: [identity]\nmetricks: [cp]", "metricks: no such field; there are"),
        (
            "cases: {set}\neditors: [{editor: blur, setings: {}}]",
            "editors.0.setings: no such field",
        ),
        ("cases: {set}\neditors: [{editor: blur, settings: {sigma: x}}]", "editor 'blur': sigma"),
        ("cases: {set}\neditors: [idenity]", "did you mean 'identity'"),
        ("cases: {set}\neditors: identity", "editors"),
        ("cases: {set}\neditors: [identity]\noutputs: 0", "outputs: input should be greater"),
        ("cases: {set}\neditors: [identity]\nreport: {headline: ssim}", "report.headline"),
        (
            "cases: {set}\neditors: [identity]\nground: {thresholds: {good: 1}}",
            "ground.thresholds: no setting 'good'",
        ),
        ("cases: {set}\neditors: [identity]\nground: {limits: 1}", "ground.limits: no such field"),
        ("cases: {set}\neditors: [identity]\nmetrics: [nope]", "no metric 'nope'"),
        ("cases: {set}\neditors: [identity]\njudge: judy", "no judge 'judy'"),
        ("cases: {set}\neditors: [blur, blur]", "two runs are called 'blur'"),
        ("cases: {set}\neditors: [{editor: blur, name: ../x}]", "name: '../x'"),
        ("cases: {set}\nadopt: [{folder: nowhere}]", "nowhere: no such folder"),
        ("cases: nowhere\neditors: [identity]", "nowhere: no such folder or file"),
        ("cases: [unclosed", "line 1"),
        ("- a\n- b", "expected fields"),
        ("cases: {set}\neditors: [identity]\norgans: [Nose]", "no case of organ nose"),
        ("a: &a [*a]", "a value that contains itself"),
    ],
)
def test_a_bad_plan_is_one_line_and_nothing_is_written(write_plan, tmp_path, text, words):
    path = write_plan(text)
    before = sorted(p for p in tmp_path.rglob("*"))
    with pytest.raises(InputError) as caught:
        run_plan(load_plan(str(path)))
    assert words in str(caught.value) and "\n" not in str(caught.value)
    assert sorted(p for p in tmp_path.rglob("*")) == before


def test_grounding_can_be_left_out_or_adjusted(write_plan):
    plan = "cases: {set}\nlimit: 1\neditors: [identity]\nmetrics: [cp]\nreport: false\nout: %s\n"
    done = run_plan(load_plan(str(write_plan(plan % "without" + "ground: false"))))
    assert set(done.runs[0].frame()["metric"]) == {"cp"}
    given = "ground: {thresholds: {nothing_area: 0}}"
    done = run_plan(load_plan(str(write_plan(plan % "with" + given))))
    found = done.runs[0].frame().filter(done.runs[0].frame()["metric"] == "success")
    assert found["finding"].item() != "nothing"


def test_not_utf8(tmp_path):
    (tmp_path / "p.yaml").write_bytes(b"cases: \xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        load_plan(str(tmp_path / "p.yaml"))


def test_built_in_plans_are_valid(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "demo" in builtin_plans()
    for name in builtin_plans():
        assert load_plan(name).out == tmp_path / f"medebench-{name}"


def test_without_a_report(write_plan):
    done = run_plan(load_plan(str(write_plan("cases: {set}\neditors: [identity]\nreport: false"))))
    assert done.report is None and len(done.runs) == 1


def test_command_prints_table_and_page(write_plan, tmp_path):
    path = write_plan("cases: {set}\neditors: [identity, blur]\njudge: offline")
    result = CliRunner().invoke(app, ["run", str(path), "--out", str(tmp_path / "o")])
    assert result.exit_code == 0, result.output
    assert "identity" in result.stdout and "index.html" in result.stderr
    result = CliRunner().invoke(app, ["run", str(path), "--out", str(tmp_path / "o"), "--json"])
    assert json.loads(result.stdout)["failed"] == 0
