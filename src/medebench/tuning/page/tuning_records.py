"""Everything in full precision: CSV for spreadsheets and scripts, JSON for machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from medebench.analysis.estimate import Estimate
from medebench.page.number import finite
from medebench.page.private_paths import without_any_folder
from medebench.page.table import csv_records
from medebench.tuning.page.tuning_formats import TRAINED
from medebench.tuning.tuning_answers import TuningAnswers
from medebench.tuning.tuning_outcome import TuningOutcome

Record = dict[str, Any]


def records(outcome: TuningOutcome, answers: TuningAnswers) -> dict[str, list[Record]]:
    """name of a file -> its rows; a task "" is all of them together."""
    return {
        "points": [
            {**_what(one), "samples": one.samples, **_estimate(one.mean, ""),
             **_estimate(one.change, "change_"), **_test(one)}
            for one in answers.points
        ],
        "trends": [
            {**_what(one), **_estimate(one.slope, "slope_"), **_test(one)}
            for one in answers.trends
        ],
        "contrasts": [
            {
                "question": one.question, "task": one.task, "metric": one.metric,
                "left": one.left[0], "left_samples": one.left[1],
                "right": one.right[0], "right_samples": one.right[1],
                **_estimate(one.difference, "difference_"), **_test(one),
            }
            for one in answers.contrasts
        ],
        "forgetting": [
            {**_what(one), "samples": one.samples, **_estimate(one.change, "change_"),
             "p": finite(one.p), "p_holm": finite(one.p_holm)}
            for one in answers.forgetting
        ],
        "memory": [
            {
                "task": one.task, "arm": one.arm, "samples": one.samples,
                **_estimate(one.to_training, "to_training_"),
                **_estimate(one.to_other, "to_other_"), **_estimate(one.nearer, "nearer_"),
            }
            for one in answers.memory
        ],
        "trainings": [_training(outcome, place) for place in _order(outcome)],
        "splits": [
            {
                "task": fold.task, "fold": fold.fold, "pool": fold.pool,
                "test": " ".join(fold.test), "draw": draw, "pairs": " ".join(drawn),
            }
            for fold in outcome.folds
            for draw, drawn in enumerate(fold.draws)
        ],
        "missing": [
            {"training": name, "reason": without_any_folder(reason)}
            for name, reason in sorted(outcome.open.items())
        ],
    }  # fmt: skip


def csv_files(made: dict[str, list[Record]]) -> dict[str, str]:
    return {f"{name}.csv": csv_records(rows) for name, rows in made.items() if rows}


def results_json(
    outcome: TuningOutcome, answers: TuningAnswers, made: dict[str, list[Record]]
) -> Record:
    """Everything, with the names of the CSV files' columns."""
    design = asdict(outcome.design) | {"train": outcome.design.train.model_dump()}
    facts = {name: _public(value) for name, value in outcome.facts.items() if name != "metrics"}
    return {
        "primary": answers.primary,
        "words": list(answers.words),
        "design": _public(design),
        "facts": facts,
        **made,
    }


def _public(value: Any) -> Any:
    """Without the folders of whoever made it."""
    if isinstance(value, str):
        return without_any_folder(value)
    if isinstance(value, Mapping):
        return {name: _public(one) for name, one in value.items()}
    return [_public(one) for one in value] if isinstance(value, list | tuple) else value


def _order(outcome: TuningOutcome) -> list[int]:
    """Trainings in one order, in whatever order they were done."""
    tasks = list(dict.fromkeys(fold.task for fold in outcome.folds))

    def place(number: int) -> tuple[Any, ...]:
        one = outcome.trainings[number].training
        task = tasks.index(one.task) if one.task in tasks else len(tasks)
        return task, TRAINED.index(one.arm), one.samples, one.draw, one.seed, one.fold

    return sorted(range(len(outcome.trainings)), key=place)


def _training(outcome: TuningOutcome, place: int) -> Record:
    facts = outcome.trainings[place]
    one = facts.training
    return {
        "task": one.task, "training": one.name, "arm": one.arm, "samples": one.samples,
        "draw": one.draw, "seed": one.seed, "fold": one.fold, "steps": one.steps,
        "seconds": finite(facts.seconds), "first_loss": finite(facts.first_loss),
        "last_loss": finite(facts.last_loss), "pairs": " ".join(one.cases),
    }  # fmt: skip


def _what(one: Any) -> Record:
    return {"task": one.task, "arm": one.arm, "metric": one.metric}


def _test(one: Any) -> Record:
    return {
        "p": finite(one.p),
        "p_holm": finite(one.p_holm),
        "detectable": finite(one.detectable),
    }


def _estimate(one: Estimate, prefix: str) -> Record:
    name = prefix.rstrip("_") or "mean"
    return {
        name: finite(one.value),
        f"{prefix}low": finite(one.low),
        f"{prefix}high": finite(one.high),
        f"{prefix}n": one.n,
        f"{prefix}of": one.of,
        f"{prefix}reason": one.reason,
    }
