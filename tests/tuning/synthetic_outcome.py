"""An experiment that nobody ran, with known curves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from medebench.tuning.train_settings import TrainSettings
from medebench.tuning.tuning_design import Arm, Fold, Training, TuningDesign
from medebench.tuning.tuning_outcome import TrainingFacts, TuningOutcome


@dataclass(frozen=True)
class Curve:
    """Truth of one task and metric."""

    untouched: float
    #: What the most pairs add, with steps for each pair, at the same steps, and the wrong ones.
    gain: float = 0.2
    same: float = 0.16
    shuffled: float = -0.03
    other: float = -0.02
    blank: float = -0.04
    copy: float = 0.0
    reference: float = 1.0
    shown: float = 0.08


EA, CP, VQ = "ea_openai:gpt-4o", "cp_published", "vq_openai:gpt-4o"
CURVES: dict[str, dict[str, Curve]] = {
    "Reconstruct ear": {
        EA: Curve(0.34, 0.17, 0.14, copy=0.04),
        CP: Curve(0.9, -0.03, -0.05, shuffled=-0.09, copy=0.98, reference=0.93, shown=-0.1),
        VQ: Curve(0.66, 0.02, 0.01, copy=0.7, reference=0.92, shown=0.1),
    },
    "Remove moles": {
        EA: Curve(0.46, -0.04, -0.02, copy=0.03),
        CP: Curve(0.84, 0.0, -0.03, shuffled=-0.09, copy=0.98, reference=0.93, shown=-0.06),
        VQ: Curve(0.72, -0.02, -0.02, copy=0.74, reference=0.9, shown=0.05),
    },
    "Reconstruct nose": {
        EA: Curve(0.62, 0.14, 0.12, copy=0.05),
        CP: Curve(0.87, 0.0, -0.02, shuffled=-0.09, copy=0.97, reference=0.94, shown=-0.05),
        VQ: Curve(0.75, 0.0, 0.0, copy=0.8, reference=0.93),
    },
}
NOISE = {EA: 0.16, CP: 0.05, VQ: 0.1}


@dataclass(frozen=True)
class Made:
    """How large an experiment is made."""

    draws: int = 3
    seeds: int = 2
    test: int = 24
    samples: tuple[int, ...] = (0, 4, 8, 16)
    demonstrations: tuple[int, ...] = (0, 1, 2, 3)
    between_draws: float = 0.02
    between_seeds: float = 0.01
    curves: Mapping[str, Mapping[str, Curve]] = field(default_factory=lambda: CURVES)
    noise: Mapping[str, float] = field(default_factory=lambda: NOISE)
    primary: str = EA
    seed: int = 0


def made_up(made: Made | None = None) -> TuningOutcome:
    made = made or Made()
    design = TuningDesign(
        system="diffusers:timbrooks/instruct-pix2pix",
        samples=made.samples,
        draws=made.draws,
        seeds=made.seeds,
        test=made.test,
        elsewhere=6,
        in_context="gemini:gemini-2.5-flash-image",
        demonstrations=made.demonstrations,
        metrics=(CP,),
        judge="openai:gpt-4o",
        primary=made.primary,
        train=TrainSettings(rank=8),
    )
    folds = tuple(_fold(task, made, place) for place, task in enumerate(made.curves))
    trainings = tuple(_facts(one) for fold in folds for one in _trainings(fold, design))
    rows = list(_rows(made, design, folds, trainings))
    scores = pl.DataFrame(rows, schema_overrides={"value": pl.Float64}, infer_schema_length=None)
    return TuningOutcome(
        design,
        folds,
        scores,
        trainings,
        _nearest(made, folds, trainings),
        {},
        {
            "system": {"name": design.system, "weights": "5ba3dd1", "licence": "MIT"},
            "cases": {"name": "made up", "fingerprint": "0123456789ab", "cases": 160},
            "versions": {"medebench": "0.9", "torch": "2.13.0", "diffusers": "0.42.0"},
            "device": "cpu",
        },
    )


def unfinished(outcome: TuningOutcome, missing: int = 3) -> TuningOutcome:
    """The same with the last trainings still to be done."""
    left = outcome.trainings[:-missing]
    opened = {
        f"{one.training.task}/{one.training.name}": "out of memory: 9.1 GB are needed, 8.0 there"
        for one in outcome.trainings[-missing:]
    }
    return replace(outcome, trainings=left, open=opened)


def _fold(task: str, made: Made, place: int) -> Fold:
    rng = np.random.default_rng([made.seed, place])
    pool = [f"{task.split()[-1]}-{i:02}" for i in range(made.test, made.test + 30)]
    draws = tuple(
        tuple(str(one) for one in rng.permutation(pool)[: max(made.samples)])
        for _ in range(made.draws)
    )
    test = tuple(f"{task.split()[-1]}-{i:02}" for i in range(made.test))
    return Fold(task, 0, test, draws, len(pool))


def _trainings(fold: Fold, design: TuningDesign) -> Iterator[Training]:
    for arm in design.arms:
        own = arm in ("per-sample", "same-steps")
        counts = [n for n in design.samples if n] if own else [max(design.samples)]
        for n in counts:
            if arm == "same-steps" and design.steps_of(arm, n) == design.steps_of("per-sample", n):
                continue
            for draw, drawn in enumerate(fold.draws):
                for seed in range(design.seeds):
                    steps = design.steps_of(arm, n)
                    yield Training(fold.task, arm, n, draw, seed, fold.fold, steps, drawn[:n])


def _facts(training: Training) -> TrainingFacts:
    last = 0.031 if training.arm == "shuffled" else 0.018
    seconds = 1.9 * training.steps + 3 * training.seed
    return TrainingFacts(training, Path("adapters") / training.name, seconds, 0.064, last)


def _arms(training: Training, design: TuningDesign) -> list[Arm]:
    """A training counts in both arms where it takes as many steps in both."""
    same = design.steps_of("same-steps", training.samples) == training.steps
    both = training.arm == "per-sample" and same and "same-steps" in design.arms
    return ["per-sample", "same-steps"] if both else [training.arm]


def _rise(samples: int, most: int) -> float:
    return math.log1p(samples) / math.log1p(most)


def _rows(
    made: Made,
    design: TuningDesign,
    folds: tuple[Fold, ...],
    trainings: tuple[TrainingFacts, ...],
) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(made.seed + 1)
    most = max(made.samples)
    for fold in folds:
        for metric, curve in made.curves[fold.task].items():
            noise = made.noise[metric]
            level = rng.normal(0, noise, len(fold.test))

            def some(
                arm: str, truth: float, spread: float, n: int = 0, draw: int = -1, seed: int = -1,
                elsewhere: bool = False, *, fold: Fold = fold, metric: str = metric,
                level: Any = level,
            ) -> Iterator[dict[str, Any]]:  # fmt: skip
                cases = [f"other-{i}" for i in range(design.elsewhere)] if elsewhere else fold.test
                values = truth + level[: len(cases)] + rng.normal(0, spread, len(cases))
                if arm in ("copy", "reference"):
                    values = np.full(len(cases), truth) + 0.2 * level[: len(cases)]
                for case, value in zip(cases, np.clip(values, 0, 1), strict=True):
                    yield {
                        "task": fold.task, "arm": arm, "samples": n, "draw": draw, "seed": seed,
                        "fold": fold.fold, "case": case, "source": case, "elsewhere": elsewhere,
                        "metric": metric, "value": float(value), "reason": "",
                    }  # fmt: skip

            yield from some("untouched", curve.untouched, 0)
            yield from some("untouched", curve.untouched, 0, elsewhere=True)
            yield from some("blank", curve.untouched + curve.blank, 0.3 * noise)
            yield from some("copy", curve.copy, 0)
            yield from some("reference", curve.reference, 0)
            for draw in range(made.draws):
                for k in made.demonstrations:
                    truth = curve.untouched + 0.15 + curve.shown * k / 3
                    yield from some("in-context", truth, 0.5 * noise, k, draw)
            shift = {
                (draw, seed): rng.normal(0, made.between_draws) + rng.normal(0, made.between_seeds)
                for draw in range(made.draws)
                for seed in range(made.seeds)
            }
            gains: dict[Arm, float] = {
                "per-sample": curve.gain, "same-steps": curve.same,
                "shuffled": curve.shuffled, "other-task": curve.other,
            }  # fmt: skip
            for facts in trainings:
                one = facts.training
                if one.task != fold.task:
                    continue
                truth = curve.untouched + gains[one.arm] * _rise(one.samples, most)
                truth += shift[one.draw, one.seed]
                where = one.samples, one.draw, one.seed
                lost = curve.untouched - 0.03 * _rise(one.samples, most)
                own = list(some(one.arm, truth, 0.6 * noise, *where))
                own += some(one.arm, lost, 0.4 * noise, *where, elsewhere=True)
                for arm in _arms(one, design):
                    yield from ({**row, "arm": arm} for row in own)


def _nearest(
    made: Made, folds: tuple[Fold, ...], trainings: tuple[TrainingFacts, ...]
) -> pl.DataFrame:
    rng = np.random.default_rng(made.seed + 2)
    tests = {fold.task: fold.test for fold in folds}
    rows = []
    for facts in trainings:
        one = facts.training
        for case in tests[one.task]:
            rows.append(
                {
                    "task": one.task, "arm": one.arm, "samples": one.samples, "draw": one.draw,
                    "seed": one.seed, "fold": one.fold, "case": case,
                    "to_training": float(rng.normal(0.30, 0.04)),
                    "to_other": float(rng.normal(0.31, 0.04)),
                }
            )  # fmt: skip
    return pl.DataFrame(rows)
