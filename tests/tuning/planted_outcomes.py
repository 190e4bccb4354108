"""Outcomes of experiments whose effects are known, without any training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from medebench.tuning.tuning_design import Fold, TuningDesign
from medebench.tuning.tuning_outcome import TuningOutcome

SAMPLES = (0, 4, 8, 16)


@dataclass
class Planted:
    """Gains over the untouched model by arm and number of pairs; what is not named is not there."""

    gains: Mapping[tuple[str, int], float]
    metrics: tuple[str, ...] = ("ssim",)
    tasks: tuple[str, ...] = ("Remove mole",)
    cases: int = 20
    draws: int = 3
    seeds: int = 2
    pool: int = 400
    folds: int = 1
    #: Sign of a gain in the scores: of a metric where low is better it is negative.
    sign: Mapping[str, int] = field(default_factory=dict)
    forgetting: float | None = None
    nearer: float | None = None
    draw_spread: float = 0.01
    noise: float = 0.03
    seed: int = 0
    design: Mapping[str, Any] = field(default_factory=dict)
    open: Mapping[str, str] = field(default_factory=dict)

    def outcome(self) -> TuningOutcome:
        rng = np.random.default_rng(self.seed)
        rows: list[dict[str, Any]] = []
        near: list[dict[str, Any]] = []
        for task in self.tasks:
            for metric in self.metrics:
                self._task(task, metric, rng, rows, near)
        folds = [
            Fold(task, fold, (), (), self.pool) for task in self.tasks for fold in range(self.folds)
        ]
        given = {"samples": SAMPLES, "draws": self.draws, "seeds": self.seeds} | dict(self.design)
        design = TuningDesign("tiny", primary=self.metrics[0], **given)
        nearest = pl.DataFrame(near) if near else None
        frame = pl.DataFrame(rows, schema_overrides={"value": pl.Float64, "reason": pl.String})
        return TuningOutcome(design, folds, frame, [], nearest, open=self.open, facts={})

    def _task(
        self,
        task: str,
        metric: str,
        rng: np.random.Generator,
        rows: list[dict[str, Any]],
        near: list[dict[str, Any]],
    ) -> None:
        sign = self.sign.get(metric, 1)
        levels = 0.5 + 0.05 * rng.normal(size=self.cases)
        draws = self.draw_spread * rng.normal(size=(self.folds, self.draws))
        arms = {("untouched", 0): 0.0, **self.gains}
        for (arm, samples), gain in arms.items():
            trained = arm in ("per-sample", "same-steps", "shuffled", "other-task")
            n_draws = self.draws if trained or (arm == "in-context" and samples) else 0
            n_seeds = self.seeds if trained else 0
            for case in range(self.cases):
                fold = case % self.folds
                for draw in range(n_draws) if n_draws else (-1,):
                    own = 0.0 if draw < 0 else draws[fold, draw]
                    for seed in range(n_seeds) if n_seeds else (-1,):
                        value = levels[case] + sign * (gain + own) + self.noise * rng.normal()
                        place = {
                            "task": task, "arm": arm, "samples": samples, "draw": draw,
                            "seed": seed, "fold": fold if self.folds > 1 else 0 if trained else -1,
                            "case": f"{task}-{case}",
                        }  # fmt: skip
                        rest = {"source": f"{task}-source-{case // 2 if case < 4 else case}"}
                        rest |= {"elsewhere": False, "metric": metric}
                        rows.append(place | rest | {"value": value, "reason": None})
                        if trained and self.nearer is not None and metric == self.metrics[0]:
                            closer = rng.random() < self.nearer
                            apart = {"to_training": 0.2 if closer else 0.3, "to_other": 0.25}
                            near.append(place | apart)
                        if (trained or arm == "untouched") and self.forgetting is not None:
                            lost = 0.0 if arm == "untouched" else self.forgetting
                            value = levels[case] - sign * lost + self.noise * rng.normal()
                            rest |= {"elsewhere": True, "source": f"other-{case}"}
                            other = place | rest | {"case": f"other-{case}"}
                            rows.append(other | {"value": value, "reason": None})


def curve(
    arm: str, *gains: float, samples: tuple[int, ...] = SAMPLES[1:]
) -> dict[tuple[str, int], float]:
    return {(arm, n): gain for n, gain in zip(samples, gains, strict=True)}


FOLDER = Path("adapters")
