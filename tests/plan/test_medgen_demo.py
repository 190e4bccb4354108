"""The built-in plan of MedGEN-Bench's format, on one round of its tasks."""

from __future__ import annotations

import re

import pytest

import medebench as mb
from medebench.plan import builtin_plans, load_plan
from medebench.systems import find_system
from medebench.tasks.medgen_tasks import MEDGEN_TASKS


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    plan = load_plan("medgen-demo")
    short = re.sub(r"count=\d+", "count=32", plan.model.cases)
    model = plan.model.model_copy(update={"cases": short, "report": None})
    folder = tmp_path_factory.mktemp("demo")
    return mb.run_plan(type(plan)("medgen-demo", model, folder, folder))


def test_it_names_what_exists():
    assert "medgen-demo" in builtin_plans()
    model = load_plan("medgen-demo").model
    names = [one.system for one in model.entries]
    controls = [name for name in names if find_system(name).system.control]
    assert {"identity", "blank", "reference", "most-frequent", "random-choice"} <= {*controls}
    assert len(names) - len(controls) >= 2
    assert model.cases.startswith("medgen-phantoms:")


def test_every_task_is_done_and_nothing_fails(done):
    assert done.failed == 0 and done.skipped == () and done.stopped == ()
    runs = {run.name: run for run in done.runs}
    assert {case.task for case in runs["phantom-answerer"].cases} == set(MEDGEN_TASKS)
    assert {case.task for case in runs["reference"].cases} == set(MEDGEN_TASKS)


def test_the_reference_gets_the_best_value_or_none(done):
    run = next(run for run in done.runs if run.name == "reference")
    rows = run.frame().filter(metric="ssim").drop_nulls("value")
    assert len(rows) == 24 and (rows["value"] > 1 - 1e-9).all()
    infinite = run.frame().filter(metric="psnr")
    assert infinite["value"].null_count() == len(infinite)
    kinds = {row["kind"] for row in infinite.iter_rows(named=True)}
    assert kinds == {"undefined", "not-applicable"}


def test_copying_the_input_scores_high_where_little_is_to_be_changed(done):
    frame = {run.name: run.frame() for run in done.runs}
    identity, blank = (
        frame[name].filter(metric="ssim", task="organic-removal")["value"].mean()
        for name in ("identity", "blank")
    )
    assert identity > 0.95 > 0.7 > blank
