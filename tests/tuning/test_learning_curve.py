"""Answers and words about experiments whose effects were planted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from medebench.analysis import holm
from medebench.analysis.crossed_mean import crossed_mean
from medebench.tuning.doublings import slope_weights
from medebench.tuning.learning_curve import answer
from medebench.tuning.tuning_answers import ALL, TuningAnswers
from medebench.tuning.tuning_outcome import TuningOutcome
from tests.tuning.planted_outcomes import Planted, curve

CONTROLS = {("copy", 0): -0.1, ("blank", 0): -0.05, ("shuffled", 16): 0.0, ("other-task", 16): 0.0}
TASKS = ("Remove mole", "Reconstruct ear")
CLIMB = curve("per-sample", 0.1, 0.15, 0.2)


@pytest.fixture(scope="module")
def planted() -> TuningOutcome:
    gains = CLIMB | curve("same-steps", 0.14, 0.17, 0.2) | CONTROLS | {("reference", 0): 0.4}
    gains |= {("in-context", 0): 0.0, ("in-context", 1): 0.02, ("in-context", 4): 0.04}
    return Planted(
        gains,
        metrics=("ssim", "lpips_alex"),
        sign={"lpips_alex": -1},
        tasks=TASKS,
        forgetting=0.1,
        nearer=0.8,
        folds=2,
    ).outcome()


@pytest.fixture(scope="module")
def answers(planted: TuningOutcome) -> TuningAnswers:
    return answer(planted)


def text(outcome: TuningOutcome) -> str:
    return " ".join(answer(outcome).words)


def test_every_point_has_its_planted_change(answers: TuningAnswers) -> None:
    for arm, gains in {"per-sample": (0.1, 0.15, 0.2), "same-steps": (0.14, 0.17, 0.2)}.items():
        for samples, gain in zip((4, 8, 16), gains, strict=True):
            for metric, sign in (("ssim", 1), ("lpips_alex", -1)):
                for task in (*TASKS, ALL):
                    point = answers.point(task, arm, metric, samples)
                    assert point is not None
                    assert point.change.value == pytest.approx(sign * gain, abs=0.03)
                    assert point.change.interval is not None
                    assert point.p is not None and point.p < 0.01
                    assert point.p_holm is not None and point.p_holm >= point.p
                    assert point.detectable is not None and 0 < point.detectable < 0.1
    zero = answers.point(ALL, "untouched", "ssim", 0)
    assert zero is not None
    assert (zero.change.value, zero.p) == (None, None)
    assert zero.mean.n == zero.mean.of == 40


def test_all_is_the_mean_of_the_tasks(answers: TuningAnswers) -> None:
    own = [answers.point(task, "per-sample", "ssim", 16) for task in (*TASKS, ALL)]
    first, second, both = (point.change.value for point in own if point is not None)
    assert both == pytest.approx((first + second) / 2)  # type: ignore[operator]


def test_the_numbers_are_those_of_a_plain_computation(
    planted: TuningOutcome, answers: TuningAnswers
) -> None:
    """Joined by hand, in plain Python."""
    task, zero, slopes = TASKS[0], {}, {}
    weights = dict(zip((4, 8, 16), slope_weights((4, 8, 16)), strict=True))
    rows = planted.scores.filter(pl.col("task") == task, pl.col("metric") == "ssim")
    changes = []
    for row in rows.filter(~pl.col("elsewhere")).iter_rows(named=True):
        if row["arm"] == "untouched":
            zero[row["case"]] = row["value"]
    for row in rows.filter(~pl.col("elsewhere")).iter_rows(named=True):
        if row["arm"] != "per-sample":
            continue
        key = row["case"], row["source"], row["fold"], row["draw"], row["seed"]
        slopes[key] = slopes.get(key, 0.0) + weights[row["samples"]] * row["value"]
        if row["samples"] == 16:
            changes.append((*key, row["value"] - zero[row["case"]]))

    def expected(keyed: list[tuple[object, ...]], overlap: float) -> tuple[float, float, float]:
        case, source, fold, draw, seed, value = zip(*keyed, strict=True)
        given = {"cases": case, "sources": source, "folds": fold, "draws": draw, "seeds": seed}
        found = crossed_mean(np.array(value, dtype=float), **given, overlap=overlap)
        assert found is not None
        return (found.value, *found.interval())  # type: ignore[misc]

    point = answers.point(task, "per-sample", "ssim", 16)
    (trend,) = (
        t for t in answers.trends if (t.task, t.arm, t.metric) == (task, "per-sample", "ssim")
    )
    for found, keyed, overlap in (
        (point.change, changes, 16 / 400),  # type: ignore[union-attr]
        (trend.slope, [(*key, value) for key, value in slopes.items()], 0.0),
    ):
        assert (found.value, found.low, found.high) == pytest.approx(expected(keyed, overlap))


def test_holm_goes_over_tasks_and_metrics_of_one_question(answers: TuningAnswers) -> None:
    family = [p for p in answers.points if (p.arm, p.samples) == ("shuffled", 16) and p.task != ALL]
    assert len(family) == 4
    assert [p.p_holm for p in family] == holm([p.p for p in family if p.p is not None])


def test_contrasts_and_forgetting_are_the_planted_ones(answers: TuningAnswers) -> None:
    found = {
        (c.question, *c.left, *c.right): c
        for c in answers.contrasts
        if (c.task, c.metric) == (ALL, "ssim")
    }
    expected = {
        ("own-pairs", "per-sample", 16, "shuffled", 16): 0.2,
        ("own-task", "per-sample", 16, "other-task", 16): 0.2,
        ("beats-copy", "per-sample", 16, "copy", 0): 0.3,
        ("beats-blank", "same-steps", 16, "blank", 0): 0.25,
        ("more-pairs", "same-steps", 16, "same-steps", 4): 0.06,
        ("shown", "per-sample", 4, "in-context", 4): 0.06,
    }
    for place, value in expected.items():
        assert found[place].difference.value == pytest.approx(value, abs=0.03), place
        assert found[place].difference.interval is not None
    lost = [f for f in answers.forgetting if (f.task, f.metric) == (ALL, "ssim")]
    assert {f.arm for f in lost} == {"per-sample", "same-steps", "shuffled", "other-task"}
    assert all(f.change.value == pytest.approx(-0.1, abs=0.03) for f in lost)


def test_memory_is_a_share_of_outputs(answers: TuningAnswers) -> None:
    (one,) = (m for m in answers.memory if (m.task, m.arm, m.samples) == (ALL, "per-sample", 16))
    assert one.nearer.value == pytest.approx(0.8, abs=0.06)
    assert one.nearer.low is not None and one.nearer.low > 0.5
    assert one.to_training.value == pytest.approx(0.22, abs=0.01)
    assert one.to_other.value == pytest.approx(0.25)


def test_words_say_what_was_planted(answers: TuningAnswers) -> None:
    said = " ".join(answers.words)
    for part in (
        "The primary measure, named beforehand, is SSIM",
        "More pairs helped at the same number of steps",
        "beats training on as many pairs whose targets were shuffled",
        "it is the pairs that teach",
        "beats copying the input",
        "beats the untouched model with a blank instruction",
        "better in Reconstruct ear and Remove mole",
        "At equal data, training on 4 pairs is better than showing them",
        "it forgets",
        "a sign of memorisation",
    ):
        assert part in said, part
    assert "not shown" not in said


def test_more_pairs_are_not_credited_with_more_steps() -> None:
    flat = curve("same-steps", 0.2, 0.2, 0.2)
    said = text(Planted(CLIMB | flat).outcome())
    assert "More pairs at the same number of steps made no difference that this design" in said
    assert "(it would have found 0.0" in said
    assert "More pairs and more steps together helped" in said
    assert "That it is the pairs and not the steps is not shown." in said
    assert "More pairs helped" not in said
    alone = text(Planted(CLIMB, design={"arms": ("per-sample",)}).outcome())
    assert "More pairs and more steps together helped" in alone
    assert "no arm has the same number of steps" in alone
    assert "More pairs helped" not in alone


def test_nothing_found_is_said_with_what_would_have_been_found() -> None:
    nothing = curve("per-sample", 0.0, 0.0, 0.0) | {("copy", 0): 0.0, ("shuffled", 16): 0.0}
    planted = Planted(nothing, design={"arms": ("per-sample",)}, forgetting=0.0, nearer=0.5, seed=4)
    said = text(planted.outcome())
    assert said.count("no difference that this design could see (it would have found") >= 5
    assert "returning the input untouched may be as good" in said
    assert "that it learns from the pairs, and not from any updates, is not shown" in said
    assert "no sign of memorisation" in said
    for word in ("helped", "better", "forgets:", "beats"):
        assert word not in said, word


def test_harm_is_called_so_also_where_a_low_score_is_better() -> None:
    down = curve("per-sample", -0.1, -0.15, -0.2) | curve("same-steps", -0.1, -0.15, -0.2)
    planted = Planted(down | {("copy", 0): 0.0}, metrics=("lpips_alex",), sign={"lpips_alex": -1})
    said = text(planted.outcome())
    assert "lower is better" in said
    assert "higher by 0." in said and ": worse." in said
    assert "More pairs did harm at the same number of steps: each doubling raises" in said
    assert "falls behind copying the input" in said
    assert "returning the input untouched is better" in said


def test_a_score_without_a_direction_is_neither_better_nor_worse() -> None:
    planted = Planted(CLIMB, metrics=("somebodys_own",), tasks=TASKS)
    found = answer(planted.outcome())
    assert "higher by 0." in found.words[0]
    assert "better" not in " ".join(found.words) and "worse" not in " ".join(found.words)
    told = {"metrics": {"somebodys_own": {"metric": {"better": "lower", "label": "Own"}}}}
    said = text(replace(planted.outcome(), facts=told))
    assert "is Own (lower is better)" in said and ": worse" in said


def test_judges_scores_have_their_direction() -> None:
    said = text(Planted(CLIMB, metrics=("ea_offline",)).outcome())
    assert "is EA" in said or "is Intended" in said
    assert ": better" in said


def test_one_draw_has_points_and_a_reason() -> None:
    found = answer(Planted(CLIMB, draws=1, seeds=3).outcome())
    point = found.point(ALL, "per-sample", "ssim", 16)
    assert point is not None
    assert point.change.value == pytest.approx(0.2, abs=0.05)
    assert point.change.reason == "no interval: a single draw of training pairs"
    assert (point.p, point.p_holm, point.detectable) == (None, None, None)
    said = " ".join(found.words)
    assert "whether that is a change is not known (no interval: a single draw" in said
    assert "With a single draw nothing says how much the choice of pairs matters." in said


def test_a_pool_that_is_nearly_used_up_is_said() -> None:
    said = text(Planted(CLIMB, pool=20).outcome())
    assert "intervals are about other draws from these pairs, not about other pairs" in said
    assert "other draws from these pairs" not in text(Planted(CLIMB, pool=64).outcome())


def test_failures_cost_what_doing_nothing_scores_and_are_counted() -> None:
    outcome = Planted(CLIMB | {("copy", 0): -0.3}, seed=2).outcome()
    lost = (pl.col("arm") == "per-sample") & (pl.col("samples") == 16) & (pl.col("draw") == 0)
    frame = outcome.scores.with_columns(
        value=pl.when(~lost).then(pl.col("value")),
        reason=pl.when(lost).then(pl.lit("no output: out of memory")),
    )
    found = answer(replace(outcome, scores=frame))
    point = found.point(ALL, "per-sample", "ssim", 16)
    assert point is not None
    # A third of the outputs is as bad as copying.
    assert point.change.value == pytest.approx((2 * 0.2 - 0.3) / 3, abs=0.03)
    assert "40 of 400 scores have no value" in found.words[-1]


def test_scores_that_are_missing_for_another_reason_are_left_out_and_counted() -> None:
    outcome = Planted(CLIMB, open={"per-sample-n16": "killed"}).outcome()
    some = (pl.col("samples") == 16) & (pl.col("draw") == 1) & (pl.col("seed") == 1)
    frame = outcome.scores.with_columns(
        value=pl.when(~some).then(pl.col("value")),
        reason=pl.when(some).then(pl.lit("the judge could not be asked: 503")),
    )
    found = answer(replace(outcome, scores=frame))
    point = found.point(ALL, "per-sample", "ssim", 16)
    assert point is not None
    assert (point.change.n, point.change.of) == (100, 120)
    assert point.change.value == pytest.approx(0.2, abs=0.03)
    assert "1 training or run of the design is missing: " in found.words[-1]


def test_training_that_took_as_many_steps_stands_for_both_arms() -> None:
    found = answer(Planted(CLIMB | curve("same-steps", 0.2, 0.2, samples=(4, 8))).outcome())
    both = [found.point(ALL, arm, "ssim", 16) for arm in ("per-sample", "same-steps")]
    assert both[0] is not None and both[1] is not None
    assert both[0].change == both[1].change


def test_an_experiment_that_has_not_begun_has_words() -> None:
    outcome = Planted({}, open={"a": "not done yet"}).outcome()
    found = answer(replace(outcome, scores=outcome.scores.clear()))
    assert list(found.points) == []
    assert "There are no scores of the primary measure, ssim" in found.words[0]
    assert "1 training or run of the design is missing: " in found.words[-1]


def test_the_order_of_rows_does_not_matter() -> None:
    outcome = Planted(CLIMB, nearer=0.6, forgetting=0.1).outcome()
    assert outcome.nearest is not None
    mixed = replace(
        outcome,
        scores=outcome.scores.sample(fraction=1, shuffle=True, seed=1),
        nearest=outcome.nearest.sample(fraction=1, shuffle=True, seed=2),
    )
    one, other = answer(outcome), answer(mixed)
    assert one.points == other.points
    assert one.words == other.words
