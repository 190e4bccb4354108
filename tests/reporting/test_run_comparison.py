"""A run against a baseline: what is worse, what a failure costs, and what cannot be compared."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.stats import wilcoxon

import medebench as mb
from tests.cli.test_cli import call
from tests.conftest import draw, write_set

METRICS = "cp,ssim,psnr"


@pytest.fixture
def cases(tmp_path):
    return write_set(tmp_path / "set", 16)


@pytest.fixture
def adopted(cases, tmp_path):
    """A run whose outputs differ from the reference by so much noise; `broken` are by id."""

    def make(name, noise, broken=None, count=16, metrics=METRICS):
        folder = tmp_path / "outputs" / name
        folder.mkdir(parents=True)
        for number in range(1, count + 1):
            reference = np.asarray(Image.open(cases / f"editing/changed/{number}.png"))
            rng = np.random.default_rng(number)
            noisy = reference + noise * rng.standard_normal(reference.shape)
            path = folder / f"{number}_0.png"
            Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(path)
            if (how := (broken or {}).get(number)) == "missing":
                path.unlink()
            elif how is not None:
                path.write_bytes({"empty": b"", "text": b"hello"}.get(how, path.read_bytes()[:200]))
        return mb.score(mb.adopt(folder, cases, tmp_path / "runs" / name), metrics)

    return make


def change(found, name):
    return next(one for one in found.changes if one.score.name == name)


def test_a_worse_run_and_the_same_run(adopted):
    good, bad = adopted("good", 5), adopted("bad", 20)
    found = mb.compare(good, bad)
    assert found.worse == ["cp", "ssim", "psnr"] and found.cases == 16
    assert mb.compare(bad, good).worse == [] and mb.compare(good, good).worse == []
    values = [
        run.frame().filter(metric="ssim").sort("case")["value"].to_numpy() for run in (good, bad)
    ]
    one = change(found, "ssim")
    assert one.pair.difference == pytest.approx((values[1] - values[0]).mean())
    assert (one.baseline, one.run) == pytest.approx((values[0].mean(), values[1].mean()))
    assert one.pair.interval.high < 0
    # Another test agrees, and the correction is for all metrics of the table.
    assert wilcoxon(values[1], values[0]).pvalue < 0.05
    assert one.pair.p <= one.pair.p_holm <= len(found.changes) * one.pair.p
    assert "bad is significantly worse than good on cp, ssim and psnr" in found.verdict


def test_lower_may_be_better(adopted):
    good, bad = (adopted(n, x, metrics="change_outside,cp") for n, x in (("good", 2), ("bad", 20)))
    assert mb.compare(good, bad, metrics="change_outside").worse == ["change_outside"]
    assert mb.compare(bad, good, metrics="change_outside").worse == []


def test_failures_count_as_doing_nothing(adopted, cases, tmp_path):
    whole = adopted("whole", 5)
    broken = {2: "empty", 4: "text", 6: "cut", 8: "missing", 10: "empty", 12: "cut", 14: "missing"}
    broken |= {3: "empty", 5: "text"}
    failing = adopted("failing", 5, broken)
    found = mb.compare(whole, failing, metrics="ssim")
    nothing = mb.score(mb.edit(cases, "identity", tmp_path / "runs" / "identity"), METRICS)
    scored = {row["case"]: row["value"] for row in whole.frame().filter(metric="ssim").to_dicts()}
    idle = {row["case"]: row["value"] for row in nothing.frame().filter(metric="ssim").to_dicts()}
    expected = np.mean([idle[c] if int(c) in broken else scored[c] for c in scored])
    assert change(found, "ssim").run == pytest.approx(expected)
    assert change(found, "ssim").charged == len(broken)
    assert change(found, "delivered").run == pytest.approx(1 - len(broken) / 16)
    assert found.worse == ["delivered", "ssim"] and not found.notes
    # Given or computed, doing nothing has the same score.
    again = mb.compare(whole, failing, metrics="ssim", identity=nothing)
    assert change(again, "ssim").run == pytest.approx(expected)
    # Without them, the two are alike.
    left = mb.compare(whole, failing, metrics="ssim", failures="omit")
    assert left.worse == [] and [one.score.name for one in left.changes] == ["ssim"]
    assert left.changes[0].pair.n_cases == 16 - len(broken)


def test_a_judge_that_is_not_asked_again_is_said(adopted, cases, tmp_path):
    own = tmp_path / "own.py"
    own.write_text(
        "import medebench as mb\n"
        "class J:\n"
        "    name, summary, stand_in, scores = 'own-1', 'own', False, ('ea_own',)\n"
        "    def judge(self, case, output):\n"
        "        return {'ea_own': mb.Verdict(0.5)}\n"
    )
    runs = [adopted("whole", 5), adopted("failing", 5, dict.fromkeys(range(1, 9), "empty"))]
    mb.score(runs, [], judge=f"{own}:J")
    [note] = [n for n in mb.compare(*runs, metrics="ea_own").notes if "--identity" in n]
    assert "ea_own: doing nothing has no score on 8 of the cases" in note


def test_a_stored_baseline_is_the_run(adopted, tmp_path):
    good, bad = adopted("good", 5), adopted("bad", 20, {1: "empty", 2: "missing"})
    path = mb.save_baseline(good, tmp_path / "baseline.json")
    assert mb.compare(path, bad).to_json() == mb.compare(good, bad).to_json()
    assert str(tmp_path) not in path.read_text()
    mb.save_baseline(bad, path)  # A baseline is replaced, nothing else is.
    assert json.loads(path.read_text())["run"] == "bad"
    (tmp_path / "thesis.json").write_text("{}")
    with pytest.raises(mb.InputError, match="exists and is not a baseline"):
        mb.save_baseline(good, tmp_path / "thesis.json")


def test_cases_that_changed_are_no_shared_cases(adopted, cases, tmp_path):
    path = mb.save_baseline(adopted("good", 5), tmp_path / "baseline.json")
    Image.fromarray(draw(99)).save(cases / "editing/changed/1.png")
    bad = adopted("bad", 20)
    found = mb.compare(path, bad)
    assert found.cases == 15 and "1 case changed since the baseline" in found.notes[0]
    for number in range(2, 17):
        Image.fromarray(draw(90 + number)).save(cases / f"editing/changed/{number}.png")
    with pytest.raises(mb.InputError, match=r"shares no case.*16 cases of its ids have other"):
        mb.compare(path, mb.score(bad, METRICS))


def test_a_tolerance(adopted):
    good, bad = adopted("good", 5), adopted("bad", 7)
    size = {one.score.name: abs(one.pair.difference) for one in mb.compare(good, bad).changes}
    wide = {"cp": size["cp"] + 0.001, "psnr": size["psnr"] + 0.001}
    found = mb.compare(good, bad, tolerance=wide)
    assert found.worse == ["ssim"] and change(found, "cp").verdict == "within the tolerance"
    assert mb.compare(good, bad, tolerance=99).worse == []
    with pytest.raises(mb.InputError, match="tolerance 'cpp'"):
        mb.compare(good, bad, tolerance={"cpp": 1})
    with pytest.raises(mb.InputError, match="must be a number from 0"):
        mb.compare(good, bad, tolerance=float("nan"))


def test_too_few_to_tell_is_said(adopted):
    found = mb.compare(adopted("good", 2, count=5), adopted("bad", 40, count=5))
    assert found.worse == [] and "5 source images cannot show a difference" in found.notes[-1]


def test_the_command_and_its_exit_codes(adopted, cases, tmp_path):
    good, bad = adopted("good", 5).path, adopted("bad", 20).path
    done = call("compare", good, bad)
    assert done.exit_code == 1 and "bad is significantly worse than good on cp" in done.stdout
    done = call("compare", bad, good, "--metrics", "cp")
    assert done.exit_code == 0 and "on none of 2 metrics over 16 cases" in done.stdout
    assert call("compare", good, bad, "--tolerance", "99").exit_code == 0
    assert call("compare", good, bad, "--tolerance", "cp=9", "--metrics", "cp").exit_code == 0
    file = tmp_path / "baseline.json"
    assert call("compare", good, "--save", file).exit_code == 0
    done = call("compare", file, bad, "--json")
    facts = json.loads(done.stdout)
    assert done.exit_code == 1 and facts["worse"] == ["cp", "ssim", "psnr"]
    other = mb.score(mb.edit(cases, "blur", tmp_path / "runs" / "other"), "change_outside").path
    elsewhere = write_set(tmp_path / "elsewhere", 3, prompt="Something else.")
    foreign = mb.score(mb.edit(elsewhere, "blur", tmp_path / "runs" / "foreign"), "cp").path
    unscored = mb.edit(cases, "blur", tmp_path / "runs" / "unscored").path
    (tmp_path / "x.json").write_text("[1]")
    before = sorted(tmp_path.rglob("*.json"))
    for words, problem in (
        ([good, cases], "not a run"),
        ([good, Path("nowhere")], "not a run"),
        ([tmp_path / "x.json", good], "expected a run's folder, or a file that"),
        ([good, other], "has no metric in common with"),
        ([good, foreign], "shares no case with"),
        ([good, unscored], "has no scores yet"),
        ([good, bad, "--metrics", "cp,change_outside"], "metric 'change_outside'"),
        ([good, bad, "--tolerance", "much"], "expected VALUE or METRIC=VALUE"),
        ([good, bad, "--failures", "hide"], "choose count or omit"),
        ([good], "give a run to compare"),
        ([file, "--save", tmp_path / "y.json"], "is saved already"),
    ):
        done = call("compare", *words)
        assert done.exit_code == 2 and problem in done.stderr, done.output
        assert done.stderr.count("\n") == 1 and done.stdout == ""
    assert sorted(tmp_path.rglob("*.json")) == before


def test_on_published_outputs(excerpt, tmp_path):
    runs = []
    for name in ("icedit", "imagic-sd-v1-4"):
        made = mb.adopt(excerpt / "generated_images" / name, excerpt, tmp_path / name)
        runs.append(mb.score(made, "cp_published"))
    found = mb.compare(*runs)
    assert found.cases == 9 and change(found, "cp_published").pair.n_cases == 9
