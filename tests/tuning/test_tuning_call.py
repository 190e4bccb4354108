"""Whole experiments on a tiny pipeline: what is done, what is not done again, what is refused."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import medebench as mb
from medebench.audit.related_cases import kin
from medebench.cli import app
from medebench.progress import no_bar
from medebench.systems import find_system
from medebench.systems.diffusion.diffusion_editor import DiffusionEditor
from medebench.tuning.tuning_arms import exchanged, plan_trainings
from medebench.tuning.tuning_call import prepare
from medebench.tuning.tuning_design import TuningDesign
from medebench.tuning.tuning_folder import FINISHED, begin_tuning, read_tuning
from medebench.tuning.tuning_read import read_outcome
from tests.conftest import REPOSITORY, write_set
from tests.patience import wait_until
from tests.tiny_pipelines import QUIET, tiny_instruct_pix2pix

pytestmark = QUIET

DESIGN = {
    "samples": (0, 1, 2),
    "draws": 1,
    "seeds": 1,
    "steps_per_sample": 1,
    "tasks": ("Remove moles",),
    "test": 3,
    "elsewhere": 2,
    "metrics": "cp,edit_residual",
    "devices": "cpu",
    "workers": 1,
}
OPTIONS = "--samples 0,1,2 --draws 1 --seeds 1 --steps-per-sample 1 --test 3 --elsewhere 2"
OPTIONS += " --metrics cp,edit_residual --devices cpu --workers 1"


@pytest.fixture(scope="module")
def brought(tmp_path_factory) -> tuple[Path, str]:
    """Sixteen cases of two tasks, and a system."""
    folder = tmp_path_factory.mktemp("brought")
    tiny = tiny_instruct_pix2pix(folder / "tiny")
    return write_set(folder / "set", 16), f"diffusers:{tiny},steps=1,size=64"


@pytest.fixture(scope="module")
def done(brought, tmp_path_factory) -> mb.TuningResult:
    return mb.tune(*brought, tmp_path_factory.mktemp("tuning") / "out", **DESIGN)


@pytest.fixture(scope="module")
def begun(brought, tmp_path_factory) -> Path:
    """The same experiment, declared and not yet run."""
    told = {name: one for name, one in DESIGN.items() if name not in ("devices", "workers")}
    told |= {"metrics": tuple(DESIGN["metrics"].split(","))}
    path = tmp_path_factory.mktemp("begun") / "out"
    plan = prepare(brought[0], TuningDesign(brought[1], **told), path)
    begin_tuning(path, plan.folder.design, plan.folder.split, plan.folder.facts)
    return path


def stamps(path: Path) -> dict[str, int]:
    return {str(one): one.stat().st_mtime_ns for one in sorted(path.rglob(FINISHED))}


def test_all_arms_are_tested_on_the_same_cases(done, brought):
    outcome = done.outcome
    assert not done.crashed and not outcome.open and not done.stopped
    (fold,) = outcome.folds
    rows = outcome.scores.filter(pl.col("metric") == "cp")
    tested = rows.filter(~pl.col("elsewhere")).group_by("arm", "samples").agg(pl.col("case").sort())
    found = {(arm, samples): tuple(cases) for arm, samples, cases in tested.iter_rows()}
    trained = {("per-sample", 1), ("per-sample", 2), ("same-steps", 1), ("same-steps", 2)}
    controls = {("shuffled", 2), ("other-task", 2)}
    untrained = {(arm, 0) for arm in ("untouched", "blank", "copy", "reference")}
    assert found.keys() == trained | controls | untrained
    assert set(found.values()) == {fold.test} and len(fold.test) == 3
    further = rows.filter(pl.col("elsewhere"))
    assert set(further["arm"]) == {arm for arm, _ in trained | controls} | {"untouched"}
    (others,) = read_tuning(done.path).split.elsewhere.values()
    assert set(further["case"]) == set(others) and len(others) == 2
    cases = mb.load_cases(brought[0])
    assert {cases[one].task for one in others} == {"Whiten teeth"}
    assert rows.filter(pl.col("arm") == "copy")["value"].to_list() == [1.0] * 3
    assert rows["source"].null_count() == 0


def test_nothing_of_the_test_is_learned_from(done, brought):
    folder, cases = read_tuning(done.path), mb.load_cases(brought[0])
    groups = kin(cases)
    planned = plan_trainings(folder.design, folder.split)
    # Two pairs in two steps are one training of two arms.
    assert [one.arms for one in planned] == [
        ("per-sample",),
        ("per-sample", "same-steps"),
        ("same-steps",),
        ("shuffled",),
        ("other-task",),
    ]
    assert len(done.outcome.trainings) == 5
    held = {groups[one] for fold in folder.split.folds for one in fold.test}
    held |= {groups[one] for one in folder.split.elsewhere["Remove moles"]}
    for one in planned:
        told = json.loads((folder.training(one) / "adapter" / "training.json").read_text())
        assert told["pairs"] == [list(pair) for pair in one.pairs]
        assert told["steps"] == one.training.steps
        assert not held & {groups[case] for pair in one.pairs for case in pair}
        same_task = {cases[case].task == "Remove moles" for case in one.training.cases}
        assert same_task == {one.training.arm != "other-task"}
        if one.training.arm == "shuffled":
            assert all(shown != taught for shown, taught in one.pairs)
    near = done.outcome.nearest
    assert set(near["arm"]) == {"per-sample", "same-steps", "shuffled", "other-task"}
    assert near["to_training"].min() > 0 and near["to_other"].min() > 0


def test_what_is_learned_is_a_system_with_other_outputs(done):
    folder = read_tuning(done.path)
    first = folder.training(plan_trainings(folder.design, folder.split)[1])
    assert isinstance(find_system(str(first / "adapter")).system, DiffusionEditor)
    run, untouched = mb.open_run(first / "run"), mb.open_run(folder.untrained("untouched"))
    assert {case.id for case in run.cases} == {case.id for case in untouched.cases}
    with run.ledger() as one, untouched.ledger() as other:
        seeds = [{key: row.seed for key, row in each.outputs().items()} for each in (one, other)]
    assert seeds[0] == seeds[1]
    card = (first / "adapter" / "README.md").read_text()
    assert "Remove moles" in card and "per-sample and same-steps" in card


def test_the_primary_score_is_written_before_anything_runs(done):
    told = json.loads((done.path / "tuning.json").read_text())
    assert told["design"]["primary"] == "edit_residual"
    assert told["design"]["steps"] == 2 and told["design"]["controls_at"] == [2]
    assert told["facts"]["metrics"]["cp"]["better"] == "higher"
    assert (done.path / "tuning.json").stat().st_mtime_ns < min(stamps(done.path).values())


def test_again_does_nothing_and_more_draws_only_add(done, brought):
    before = stamps(done.path)
    assert len(before) == 5
    again = mb.tune(*brought, done.path, **DESIGN)
    assert stamps(done.path) == before
    assert again.outcome.scores.equals(done.outcome.scores)
    estimate = mb.tune(*brought, done.path, **{**DESIGN, "draws": 2}, dry_run=True).estimate
    assert (estimate.trainings, estimate.done, estimate.steps) == (10, 5, 9)
    assert estimate.outputs == 5 * 5 and estimate.seconds > 0 and estimate.disk > 0
    assert json.loads((done.path / "tuning.json").read_text())["design"]["draws"] == 1
    half = json.loads((done.path / "tuning.json").read_text())
    half["design"]["draws"] = 1
    assert not read_outcome(done.path).open


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"steps_per_sample": 2}, r"steps_per_sample is 1 there, 2 now\); only draws, seeds and"),
        ({"primary": "cp"}, "primary is 'edit_residual' there, 'cp' now"),
        ({"train": {"rank": 2}}, "train.rank is 16 there, 2 now"),
        ({"samples": (0, 1)}, r"samples is \[0, 1, 2\] there, \[0, 1\] now"),
        ({"test": 2}, "test is 3 there, 2 now"),
        ({"primary": "lpips"}, "primary: 'lpips' is not computed; there are: cp, edit_residual"),
        ({"tasks": ("Nose",)}, "tasks: no task 'Nose' with reference images; there are: Remove"),
        (
            {"samples": (0, 1, 2, 9)},
            "'Remove moles' has 8 pairs in 8 independent groups, which leaves 7",
        ),
        ({"samples": (4, 0)}, "samples: numbers from 0 up"),
        ({"samples": (0,)}, "samples: name at least one number above 0"),
        ({"arms": ("shuffled",)}, "arms: controls alone say nothing"),
        ({"arms": ("per-sample", "x")}, "arms: no arm 'x'; there are: per-sample, same-steps"),
        ({"controls_at": (1,)}, "one pair cannot be shuffled"),
        ({"controls_at": (3,)}, r"controls_at: 3 is not one of the samples \(1, 2\)"),
        ({"metrics": "change_inside", "primary": "change_inside"}, "neither better high nor low"),
        ({"judge": "nobody"}, "no judge 'nobody'"),
        ({"in_context": "blur"}, "in_context: "),
        ({"devices": "cuda:7", "workers": None}, "devices: no 'cuda:7' here"),
        ({"keep": "nothing"}, "keep: 'nothing': choose adapters or scores"),
        ({"train": {"rnak": 2}}, "train: no setting 'rnak'"),
    ],
)
def test_refused_before_any_work(begun, brought, changed, told):
    before = (begun / "tuning.json").read_bytes()
    with pytest.raises(mb.InputError, match=told) as error:
        mb.tune(*brought, begun, **{**DESIGN, **changed})
    assert "\n" not in str(error.value)
    assert (begun / "tuning.json").read_bytes() == before
    assert {one.name for one in begun.iterdir()} <= {"tuning.json", ".lock"}


def test_arms_left_open_are_those_that_the_cases_allow(brought, tmp_path):
    """Eight pairs of the other task, two of them looked at for forgetting."""
    wanted = {**DESIGN, "samples": (0, 7), "test": 1}
    dry = mb.tune(*brought, tmp_path / "out", **wanted, dry_run=True).estimate
    assert dry.arms == ("per-sample", "same-steps", "shuffled")
    with pytest.raises(mb.InputError, match="arms: other-task: no other task has 7 pairs"):
        named = {"arms": (*dry.arms, "other-task"), "dry_run": True}
        mb.tune(*brought, tmp_path / "out", **wanted, **named)


def test_a_dry_run_says_how_the_cases_are_used(brought, tmp_path):
    wanted = {**DESIGN, "tasks": (), "elsewhere": 0, "dry_run": True}
    dry = mb.tune(*brought, tmp_path / "out", **wanted).estimate
    assert [one.in_words() for one in dry.tasks] == [
        "Remove moles: 3 cases tested, pairs drawn from 5 others",
        "Whiten teeth: 3 cases tested, pairs drawn from 5 others",
    ]
    assert "primary score: edit_residual" in dry.words()[2]
    crossed = mb.tune(*brought, tmp_path / "out", **{**wanted, "samples": (0, 4), "test": 5})
    assert crossed.estimate.words()[0] == (
        "Remove moles: cross-fitted in 2 folds, all 8 cases tested, pairs drawn from 4 others"
    )
    assert not any("1 processes" in one or "0.0 GB" in one for one in dry.words())
    named = {**wanted, "tasks": ("Remove moles",)}
    assert not mb.tune(*brought, tmp_path / "out", **named).estimate.too_small
    assert not (tmp_path / "out").exists()


def test_a_few_steps_are_timed_where_one_can_see_it(brought, tmp_path):
    titles: list[str] = []

    def bar(title: str):
        titles.append(title)
        return no_bar(title)

    dry = {**DESIGN, "dry_run": True, "measure": True, "bar": bar}
    found = mb.tune(*brought, tmp_path / "out", **dry).estimate
    assert found.seconds > 0 and "timing a few steps" in titles
    assert any(one.endswith("in 1 process") for one in found.words())
    assert not (tmp_path / "out").exists()


def test_other_folders_and_systems_are_refused(brought, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("")
    with pytest.raises(mb.InputError, match="file: is a file; choose another --out"):
        mb.tune(*brought, tmp_path / "file", **DESIGN)
    with pytest.raises(mb.InputError, match="mine: is not empty and not a tuning experiment"):
        mb.tune(*brought, tmp_path / "mine", **DESIGN)
    with pytest.raises(mb.InputError, match="blur: is no diffusion model"):
        mb.tune(brought[0], "blur", tmp_path / "out", **DESIGN)
    assert not (tmp_path / "out").exists()


def test_killed_and_continued_it_comes_to_the_same(done, brought, tmp_path):
    out = tmp_path / "out"
    words = ["tune", str(brought[0]), "--system", brought[1], "--out", str(out)]
    words += [*OPTIONS.split(), "--task", "Remove moles", "--keep", "scores"]
    process = subprocess.Popen([sys.executable, "-m", "medebench", *words], cwd=REPOSITORY)
    wait_until(lambda: len(stamps(out)) >= 2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = stamps(out)
    half = read_outcome(out)
    assert half.open and set(half.open.values()) == {"not done yet"}
    assert len(half.trainings) == len(before) < 5
    # Foreign work in the place of a training: that one alone is not done.
    folder = read_tuning(out)
    last = folder.training(plan_trainings(folder.design, folder.split)[-1]) / "adapter"
    last.mkdir(parents=True, exist_ok=True)
    (last / "request.json").write_text("{}")
    result = CliRunner().invoke(app, [*words, "--json"])
    assert result.exit_code == 1, result.output
    assert f"meanwhile: {out / 'progress' / 'index.html'}" in result.stderr
    told = json.loads(result.stdout)
    (name,) = told["crashed"]
    assert name == "Remove moles/other-task-n2-draw0-seed0" and told["trainings"] == 4
    assert "has another training" in told["open"][name] == told["crashed"][name]
    assert {one: at for one, at in stamps(out).items() if one in before} == before
    rows = done.outcome.scores.filter(pl.col("arm") != "other-task")
    assert read_outcome(out).scores.equals(rows)
    # Only the scores are kept: what tells about a training stays.
    for one in folder.path.glob("trainings/*/per*"):
        kept = {file.suffix for file in (one / "adapter").rglob("*") if file.is_file()}
        assert ".safetensors" not in kept and (one / "adapter" / "training.json").is_file()


def test_a_plan_does_the_same(done, brought, tmp_path):
    """Here it goes on with what is there, and has nothing to do."""
    shutil.copytree(done.path, tmp_path / "medebench-plan" / "tuning")
    before = stamps(tmp_path)
    given = {name: one for name, one in DESIGN.items() if name != "workers"}
    given |= {"system": brought[1], "metrics": ["cp", "edit_residual"]}
    plan = {"cases": str(brought[0]), "tuning": json.loads(json.dumps(given))}
    (tmp_path / "plan.yaml").write_text(json.dumps(plan))
    made = mb.run_plan(tmp_path / "plan.yaml")
    assert made.runs == [] and made.report is None
    assert made.tuning.outcome.scores.equals(done.outcome.scores)
    assert stamps(tmp_path) == before
    assert made.tuning.index.is_file() and made.tuning.words
    assert made.tuning.answers.primary == "edit_residual"


@pytest.mark.parametrize("count", [2, 3, 7])
def test_shuffled_targets_are_all_of_others(count):
    cases = [str(number) for number in range(count)]
    orders = {exchanged(str(key), cases) for key in range(20)}
    for order in orders:
        assert sorted(order) == cases
        assert all(one != other for one, other in zip(cases, order, strict=True))
    assert len(orders) == (1 if count == 2 else 2) or count == 7
