"""From the scores of an experiment to its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import polars as pl

from medebench.analysis.estimate import Estimate, estimate
from medebench.analysis.interval import UNBOUNDED, UNIT, Bounds
from medebench.analysis.mean_test import detectable, p_value
from medebench.analysis.means import Mean
from medebench.analysis.signflip import holm
from medebench.tuning.tuning_answers import (
    ALL,
    Contrast,
    CurvePoint,
    Forgetting,
    Memory,
    Question,
    Trend,
    TuningAnswers,
)
from medebench.tuning.tuning_design import Arm, Untrained
from medebench.tuning.tuning_scores import Table, TuningScores
from medebench.tuning.tuning_words import words

if TYPE_CHECKING:
    from medebench.tuning.tuning_outcome import TuningOutcome

TRAINED = ("per-sample", "same-steps", "shuffled", "other-task")
#: Arms whose numbers of pairs make a curve.
CURVES = ("per-sample", "same-steps", "in-context")
NOTHING_TO_COMPARE = "the untouched model is what others are compared with"
NO_VALUE = "no scores to compare"

Place = tuple[str, int]
Tested = TypeVar("Tested", CurvePoint, Trend, Contrast, Forgetting)


def answer(outcome: TuningOutcome) -> TuningAnswers:
    """All answers of an experiment, also of one that is not finished.

    Means and their intervals are those of `crossed_mean`: cases, draws and seeds are levels. An
    estimate is over so many outputs of so many. A failed output costs what doing nothing scores.
    P is Student's on the same degrees of freedom as the interval; Holm's correction is over the
    tasks and metrics of the same question (the mean of all tasks is corrected over metrics only).
    """
    scores = TuningScores(outcome)
    tasks = [*scores.tasks, ALL] if scores.tasks else []
    every = [(task, metric) for metric in scores.metrics for task in tasks]
    points = [
        found
        for arm, samples in scores.arms()
        for task, metric in every
        if (found := _point(scores, arm, samples, metric, task)) is not None
    ]
    trends = [
        found
        for arm in CURVES
        for task, metric in every
        if (found := _trend(scores, arm, metric, task)) is not None
    ]
    contrasts = [
        found
        for question, left, right in _questions(outcome, scores)
        for task, metric in every
        if (found := _contrast(scores, question, left, right, metric, task)) is not None
    ]
    forgetting = [
        found
        for arm, samples in scores.arms()
        for task, metric in every
        if (found := _forgetting(scores, arm, samples, metric, task)) is not None
    ]
    answers = TuningAnswers(
        outcome.design.primary or next(iter(scores.metrics), ""),
        _corrected(points, lambda p: (p.arm, p.samples)),
        _corrected(trends, lambda t: (t.arm,)),
        _corrected(contrasts, lambda c: (c.question, c.left, c.right)),
        _corrected(forgetting, lambda f: (f.arm, f.samples)),
        list(_memories(outcome, scores, tasks)),
        (),
    )
    return replace(answers, words=words(answers, outcome, scores.scores))


def _point(
    scores: TuningScores, arm: str, samples: int, metric: str, task: str
) -> CurvePoint | None:
    table = scores.table(arm, samples, metric, task)
    if not len(table.rows):
        return None
    overlap, bounds = scores.overlap(samples), scores.scores[metric].bounds
    whole = table.mean(overlap, bounds)
    if whole is not None and arm in ("copy", "reference"):
        whole = replace(whole, exact=True)
    mean = _estimate(whole, table)
    given: dict[str, Any] = {"task": task, "metric": metric, "samples": samples, "mean": mean}
    if (arm, samples) in (("untouched", 0), ("in-context", 0)):
        return CurvePoint(arm=_arm(arm), change=Estimate(reason=NOTHING_TO_COMPARE), **given)
    change = scores.change(arm, samples, metric, task)
    found = change.mean(overlap)
    return CurvePoint(arm=_arm(arm), change=_estimate(found, change), **given, **_tested(found))


def _trend(scores: TuningScores, arm: str, metric: str, task: str) -> Trend | None:
    numbers = scores.numbers(arm, task)
    if len(numbers) < 2:
        return None
    table = scores.doublings(arm, numbers, metric, task)
    # What all draws of a pool have in common is there at every number of pairs, and cancels.
    found = table.mean()
    return Trend(task, _arm(arm), metric, _estimate(found, table), **_tested(found))


def _questions(
    outcome: TuningOutcome, scores: TuningScores
) -> Iterator[tuple[Question, Place, Place]]:
    """What is held against what, as far as both are there."""
    there = scores.arms()
    numbers = {arm: [n for one, n in there if one == arm and n > 0] for arm, _ in there}

    def trained(samples: int, steps: int | None = None) -> Place | None:
        """The arm of real pairs that took as many steps."""
        for arm in ("per-sample", "same-steps"):
            known = outcome.design.steps_of(cast(Arm, arm), samples)
            if samples in numbers.get(arm, ()) and steps in (None, known):
                return arm, samples
        return None

    controls: tuple[tuple[Question, Arm], ...] = (
        ("own-pairs", "shuffled"),
        ("own-task", "other-task"),
    )
    for question, control in controls:
        for samples in numbers.get(control, ()):
            left = trained(samples, outcome.design.steps_of(control, samples)) or trained(samples)
            if left is not None:
                yield question, left, (control, samples)
    for arm in ("per-sample", "same-steps"):
        if numbers.get(arm):
            most = max(numbers[arm])
            if ("copy", 0) in there:
                yield "beats-copy", (arm, most), ("copy", 0)
            if ("blank", 0) in there:
                yield "beats-blank", (arm, most), ("blank", 0)
    if len(same := numbers.get("same-steps", [])) > 1:
        yield "more-pairs", ("same-steps", max(same)), ("same-steps", min(same))
    for samples in numbers.get("in-context", ()):
        if (left := trained(samples)) is not None:
            yield "shown", left, ("in-context", samples)


def _contrast(
    scores: TuningScores, question: Question, left: Place, right: Place, metric: str, task: str
) -> Contrast | None:
    one, other = scores.table(*left, metric, task), scores.table(*right, metric, task)
    if not len(one.rows) or not len(other.rows):
        return None
    table = scores.difference(one, other)
    found = table.mean({} if question == "more-pairs" else scores.overlap(left[1]))
    places = (_arm(left[0]), left[1]), (_arm(right[0]), right[1])
    return Contrast(question, task, metric, *places, _estimate(found, table), **_tested(found))


def _forgetting(
    scores: TuningScores, arm: str, samples: int, metric: str, task: str
) -> Forgetting | None:
    if arm not in TRAINED:
        return None
    table = scores.change(arm, samples, metric, task, elsewhere=True)
    if not len(table.rows):
        return None
    found = table.mean(scores.overlap(samples))
    given = cast(Arm, arm), metric, samples, _estimate(found, table)
    return Forgetting(task, *given, **_tested(found))


def _memories(
    outcome: TuningOutcome, scores: TuningScores, tasks: Sequence[str]
) -> Iterator[Memory]:
    if outcome.nearest is None or not len(outcome.nearest):
        return
    sources = scores.rows.select("case", "source").unique(subset="case")
    to, other = pl.col("to_training"), pl.col("to_other")
    nearer = (to < other).cast(pl.Float64) + (to == other).cast(pl.Float64) / 2
    rows = outcome.nearest.join(sources, on="case", how="left").with_columns(
        pl.col("source").fill_null(pl.col("case")), nearer=nearer
    )
    places = rows.select("arm", "samples").unique().sort("arm", "samples")
    for arm, samples in places.iter_rows():
        for task in tasks:
            part = rows.filter(
                pl.col("arm") == arm,
                pl.col("samples") == samples,
                pl.col("task").is_in(scores.within(task)),
            )
            if not len(part):
                continue

            def over(
                name: str, bounds: Bounds, part: pl.DataFrame = part, samples: int = samples
            ) -> Estimate:
                table = Table(part.with_columns(value=pl.col(name).cast(pl.Float64)), len(part))
                return _estimate(table.mean(scores.overlap(samples), bounds), table)

            distances = over("to_training", UNBOUNDED), over("to_other", UNBOUNDED)
            yield Memory(task, arm, samples, *distances, over("nearer", UNIT))


def _estimate(found: Mean | None, table: Table) -> Estimate:
    return Estimate(of=table.of, reason=NO_VALUE) if found is None else estimate(found, table.of)


def _tested(found: Mean | None) -> dict[str, float | None]:
    return {} if found is None else {"p": p_value(found), "detectable": detectable(found)}


def _corrected(
    found: Sequence[Tested], question: Callable[[Tested], tuple[object, ...]]
) -> list[Tested]:
    """With Holm's correction over tasks and metrics of the same question."""
    families: dict[tuple[object, ...], list[int]] = {}
    for at, one in enumerate(found):
        if one.p is not None:
            families.setdefault((one.task == ALL, *question(one)), []).append(at)
    corrected = list(found)
    for members in families.values():
        for at, p in zip(members, holm(_known(found[at].p for at in members)), strict=True):
            corrected[at] = replace(found[at], p_holm=p)
    return corrected


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _arm(name: str) -> Arm | Untrained:
    return cast("Arm | Untrained", name)
