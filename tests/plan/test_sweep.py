"""Sweeps: tried on one part of the cases, reported on the other."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.audit.related_cases import kin
from medebench.errors import InputError
from medebench.plan import load_plan, run_plan

BUILT_IN = """
cases: phantoms:count=13,seed=5
out: results
editors:
  - {editor: phantom-editor, name: tuned, settings: {attention: false}, sweep: {steps: [1, 6]}}
  - identity
metrics: [cp, missed]
choose: {metric: missed, share: 0.4, seed: 2}
ground: false
"""

CONTROLS = """
cases: {set}
out: results
editors:
  - {editor: blur, name: soft, sweep: {sigma: [8, 2, 4]}}
  - identity
metrics: [change_outside, cp]
choose: {metric: change_outside, share: 0.5}
ground: false
"""


@pytest.fixture
def plan_of(tmp_path, small_set):
    def write(text):
        path = tmp_path / "plan.yaml"
        path.write_text(text.replace("{set}", str(small_set)), encoding="utf-8")
        return load_plan(str(path))

    return write


def test_the_built_in_model_is_tuned_on_one_split_and_reported_on_the_other(plan_of, tmp_path):
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    plan = plan_of(BUILT_IN)
    done = run_plan(plan)
    tuned, identity = done.runs
    sweep = mb.open_run(tmp_path / "results" / "sweeps" / "tuned")

    chosen_on, reported_on = set(sweep.frame()["case"]), set(tuned.frame()["case"])
    assert chosen_on and reported_on and not chosen_on & reported_on
    assert len(chosen_on | reported_on) == 13 and set(identity.frame()["case"]) == reported_on

    # Each setting is a k of the sweep, with its settings in the ledger and on the same noise.
    assert sweep.info.sweep == [{"steps": 1}, {"steps": 6}] and sweep.info.outputs_per_case == 2
    with sweep.ledger() as ledger:
        rows = ledger.outputs()
    assert {(k, row.detail["settings"]["steps"]) for (_, k), row in rows.items()} == {
        (0, 1),
        (1, 6),
    }
    assert all(rows[case, 0].seed == rows[case, 1].seed for case, _ in rows)

    # The choice is what the sweep's own numbers say.
    found = tuned.info.tuned
    frame = sweep.frame().filter(metric="edit_residual").drop_nulls("value")
    means = {k: part["value"].mean() for (k,), part in frame.group_by("k")}
    assert found.best == min(means, key=means.get)
    assert [one.mean for one in found.tried] == pytest.approx([means[0], means[1]])
    assert tuned.info.settings["steps"] == [1, 6][found.best]
    assert set(sweep.frame()["metric"]) == {"edit_residual"}

    page = done.report.index.read_text("utf-8")
    assert "chosen" in page and f"{len(chosen_on)} other cases" in page

    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*_?.png")}
    again = run_plan(plan)
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*_?.png")} == before
    assert again.runs[0].info.tuned == found


def test_lower_is_better_where_the_metric_says_so(plan_of, tmp_path):
    done = run_plan(plan_of(CONTROLS))
    assert done.runs[0].info.settings == {"sigma": 2.0}
    tuned = json.loads((tmp_path / "results/runs/soft/run.json").read_text())["tuned"]
    assert tuned["best"] == 1 and not tuned["higher_is_better"]
    assert [one["settings"] for one in tuned["tried"]] == [{"sigma": s} for s in (8, 2, 4)]


def test_kin_do_not_stand_on_both_sides(plan_of, tmp_path, small_set):
    """All but one case show the same picture: they stay together, whatever the share says."""
    first = small_set / "editing/previous/1.png"
    for number in (2, 3):
        Image.open(first).save(small_set / f"editing/previous/{number}.png")
    groups = kin(mb.load_cases(small_set))
    assert groups["1"] == groups["2"] == groups["3"] != groups["4"]
    done = run_plan(plan_of(CONTROLS))
    sweep = mb.open_run(tmp_path / "results/sweeps/soft")
    sides = [{groups[c] for c in run.frame()["case"]} for run in (sweep, done.runs[0])]
    assert not sides[0] & sides[1]


def test_a_sweep_on_three_pictures_has_a_word_in_place_of_intervals(plan_of, tmp_path):
    done = run_plan(plan_of(CONTROLS))
    tuned = done.runs[0].info.tuned
    assert tuned.cases < 4
    word = f"no interval: {tuned.cases} source image{'s' * (tuned.cases > 1)}"
    for one in tuned.tried:
        assert (one.interval, one.why) == (None, word)
    page = next((tmp_path / "results").rglob("index.html")).read_text("utf-8")
    section = page[page.index("were chosen among 3") :].partition("</table>")[0]
    assert section.count(word) == 3


def test_a_set_of_one_picture_cannot_be_split(plan_of, small_set):
    for path in (small_set / "editing/previous").iterdir():
        Image.open(small_set / "editing/previous/1.png").save(path)
    with pytest.raises(InputError, match=r"cannot be split in two at 0\.5"):
        run_plan(plan_of(CONTROLS))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("choose: {metric: change_outside, share: 0.5}", "", "choose: a sweep needs it"),
        ("change_outside, share", "psnr, share", "'psnr' is not computed; there are: change_out"),
        ("change_outside, share", "change_inside, share", "'change_inside' is not computed"),
        ("[8, 2, 4]", "[2, 2]", "two combinations are the same"),
        ("[8, 2, 4]", "[]", "sigma: name at least one value"),
        ("[8, 2, 4]", "[8, -1]", "editor 'blur': sigma"),
        ("sigma: [8, 2, 4]", "strength: [1]", "no setting 'strength'"),
        ("name: soft,", "name: soft, settings: {sigma: 3},", "'sigma' is in settings too"),
        ("share: 0.5", "share: 1.5", "choose.share: input should be less than 1"),
        (", sweep: {sigma: [8, 2, 4]}", "", "no system has a sweep"),
        ("[8, 2, 4]", str(list(range(1, 103))), "102 combinations; at most 100"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_writes_nothing(plan_of, tmp_path, old, new, words):
    with pytest.raises(InputError, match=words):
        run_plan(plan_of(CONTROLS.replace(old, new)))
    assert not (tmp_path / "results").exists()


def test_a_setting_that_fails_altogether_is_not_chosen(tmp_path, plan_of):
    (tmp_path / "mine.py").write_text(
        "import medebench as mb\n"
        "class S(mb.Settings):\n    a: int = 0\n"
        "class Mine:\n    summary = ''\n    Settings = S\n    sees = ()\n    control = False\n"
        "    def __init__(self, settings):\n        self.a = settings.a\n"
        "    def edit(self, request):\n"
        "        if self.a == 0:\n            raise mb.Refused('never')\n"
        "        return request.case.previous // self.a\n"
    )
    text = CONTROLS.replace("editor: blur", "editor: mine.py:Mine").replace(
        "sigma: [8, 2, 4]", "a: [0, 1, 2]"
    )
    done = run_plan(plan_of(text))
    tuned = done.runs[0].info.tuned
    assert tuned.best == 1 and tuned.tried[0].mean is None and tuned.tried[0].scored == 0
    assert np.isfinite([one.mean for one in tuned.tried[1:]]).all()


FAILING = """
import medebench as mb
class S(mb.Settings):
    a: int = 0
class Mine:
    summary, sees, control, Settings = "", (), False, S
    def __init__(self, settings):
        self.a = settings.a
    def edit(self, request):
        if self.a == 1 and request.case.case.id not in ("1", "2"):
            raise mb.Refused("not today")
        return request.case.previous // (1 + self.a)
"""


def test_a_setting_that_fails_often_does_not_win_by_what_it_gets_through(
    tmp_path, plan_of, make_set
):
    """Setting 1 is nearly perfect on the two cases that it manages, of six or so."""
    (tmp_path / "mine.py").write_text(FAILING)
    make_set(12, name="many")
    text = CONTROLS.replace("editor: blur", "editor: mine.py:Mine").replace("{set}", "many")
    done = run_plan(plan_of(text.replace("sigma: [8, 2, 4]", "a: [2, 1, 3]")))
    tuned = done.runs[0].info.tuned
    assert tuned.best == 0 and tuned.tried[1].mean is None
    assert tuned.tried[1].scored <= 2 < tuned.tried[1].asked == tuned.cases
    assert f"{tuned.tried[1].scored} of {tuned.cases}" in done.report.index.read_text("utf-8")


def test_another_way_to_choose_is_told_and_written_down(plan_of, tmp_path):
    first = run_plan(plan_of(CONTROLS)).runs[0].info.tuned
    text = CONTROLS.replace("metric: change_outside", "metric: cp")
    again = run_plan(plan_of(text))
    stored = mb.open_run(tmp_path / "results/runs/soft").info.tuned
    assert (first.metric, stored.metric) == ("change_outside", "cp")
    assert "highest mean CP" in again.report.index.read_text("utf-8")
    worst = text.replace("metric: cp", "metric: ea_offline") + "judge: offline\n"
    with pytest.raises(InputError, match=r"was made with sigma=2, and the sweep now chooses sigma"):
        run_plan(plan_of(worst))


def test_what_must_be_named_can_be_swept(plan_of, tmp_path):
    (tmp_path / "mine.py").write_text(FAILING.replace("a: int = 0", "a: int"))
    text = CONTROLS.replace("editor: blur", "editor: mine.py:Mine")
    done = run_plan(plan_of(text.replace("sigma: [8, 2, 4]", "a: [3, 2]")))
    assert done.runs[0].info.settings == {"a": 2}


def test_demonstrations_of_a_sweep_are_not_the_reported_cases(plan_of, tmp_path, make_set):
    (tmp_path / "mine.py").write_text(
        FAILING.replace("a: int = 0", "a: int = 0\n    demonstrations: int = 1")
        .replace("self.a = settings.a", "self.a = settings.a; self.demonstrations = 1")
        .replace("if self.a == 1 and", "if False and")
        .replace(
            "return request.case.previous // (1 + self.a)",
            "return mb.Edit(request.case.previous // (1 + self.a), "
            "{'shown': [one.case.id for one in request.demonstrations]})",
        )
    )
    make_set(16, name="many")
    text = CONTROLS.replace("editor: blur", "editor: mine.py:Mine").replace("{set}", "many")
    done = run_plan(plan_of(text.replace("sigma: [8, 2, 4]", "a: [1, 2]")))
    reported = set(done.runs[0].frame()["case"])
    with mb.open_run(tmp_path / "results/sweeps/soft").ledger() as ledger:
        shown = {one for row in ledger.outputs().values() for one in row.detail["shown"]}
    assert shown and not shown & reported


def test_an_address_with_a_password_is_no_name(plan_of, tmp_path):
    entry = "http:http://alice:hunter2secret@127.0.0.1:9/edit?key=hunter2secret"
    text = f"cases: {{set}}\nout: results\neditors:\n  - identity\n  - '{entry}'\n"
    done = run_plan(plan_of(text))
    assert [run.name for run in done.runs] == ["identity"] and len(done.stopped) == 1
    assert "not tried" in done.stopped[0] and done.report.index.is_file()
    for path in (tmp_path / "results").rglob("*"):
        assert "hunter2" not in path.name
        assert not path.is_file() or b"hunter2" not in path.read_bytes()
    assert "hunter2" not in done.stopped[0]
