"""The short form of the documented experiment: a few pairs teach the editor an unseen task."""

from __future__ import annotations

import polars as pl
import pytest

import medebench as mb
from medebench.phantoms.case_sets import UnseenSettings
from medebench.phantoms.drawings import UNSEEN_TASKS, write_unseen_phantoms
from medebench.plan import load_plan
from medebench.tuning.tuning_call import tune
from medebench.tuning.tuning_outcome import TuningOutcome
from tests.conftest import REPOSITORY
from tests.tiny_pipelines import QUIET

pytestmark = [QUIET]

#: As it is documented, but for one number of pairs, one draw, one seed and few test cases.
PLAN = load_plan(str(REPOSITORY / "docs" / "examples" / "tuning-phantoms.yaml")).model.tuning
assert PLAN is not None
SAMPLES, TEST = 8, 4


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> TuningOutcome:
    folder = tmp_path_factory.mktemp("unseen")
    write_unseen_phantoms(folder / "cases", 60, seed=3, workers=2)
    done = tune(
        mb.load_cases(folder / "cases"),
        PLAN.system,
        folder / "tuning",
        samples=(0, SAMPLES),
        draws=1,
        seeds=1,
        steps_per_sample=PLAN.steps_per_sample,
        arms=("per-sample", "shuffled"),
        tasks=("Stain polyp",),
        test=TEST,
        elsewhere=0,
        metrics=PLAN.metrics,
        primary=PLAN.primary,
        train=PLAN.train,
        devices="cpu",
        # One thread each: two that wait for each other are slow on a busy machine.
        workers=2,
        keep="scores",
    )
    assert not done.crashed and done.outcome is not None
    return done.outcome


def means(outcome: TuningOutcome, metric: str) -> dict[str, float]:
    rows = outcome.scores.filter(pl.col("metric") == metric)
    assert rows.get_column("value").null_count() == 0
    grouped = rows.group_by("arm").agg(pl.col("value").mean())
    return dict(grouped.iter_rows())


def test_the_loss_falls(outcome: TuningOutcome) -> None:
    assert {one.training.steps for one in outcome.trainings} == {SAMPLES * PLAN.steps_per_sample}
    by_arm = {one.training.arm: one for one in outcome.trainings}
    real, shuffled = by_arm["per-sample"], by_arm["shuffled"]
    assert real.last_loss < 0.8 * real.first_loss
    # What another case's target looks like cannot be learned from the input.
    assert shuffled.last_loss > 2 * real.last_loss


def test_pairs_teach_what_controls_do_not(outcome: TuningOutcome) -> None:
    left = means(outcome, "edit_residual")
    assert left["copy"] == 1 and left["reference"] == 0
    # The task is new to the model, told or not.
    assert left["untouched"] > 0.9 and left["blank"] > 0.85
    assert left["per-sample"] < min(left["copy"], left["untouched"], left["blank"]) - 0.15
    assert left["per-sample"] < left["shuffled"] - 0.15
    made = means(outcome, "edit_completion")
    assert made["per-sample"] > made["untouched"] + 0.3


def test_the_documented_experiment_is_the_whole_one() -> None:
    assert PLAN is not None
    assert (PLAN.samples, PLAN.draws, PLAN.seeds, PLAN.test) == ([0, 4, 8, 16], 3, 2, 30)
    assert PLAN.arms == ["per-sample", "same-steps", "shuffled", "other-task"]
    assert PLAN.primary == "edit_residual"
    # As many of each task as are tested, and more than twice the pairs of a draw.
    count = UnseenSettings().count
    assert count // len(UNSEEN_TASKS) >= PLAN.test + 2 * max(PLAN.samples)
