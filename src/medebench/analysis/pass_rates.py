"""Shares of outputs that pass a published threshold, the way MedGEN-Bench first reported results.

A threshold cuts a scale in two and has been moved (SSIM: 0.1, then 0.7), so every rate names its
version. The published rates are over outputs that have a score; beside each stands the rate in
which an output that failed has not passed.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import polars as pl

from medebench.analysis.failure_cost import is_failure

_SIGNS = {">=": operator.ge, "<=": operator.le}


@dataclass(frozen=True)
class Threshold:
    """What passes, in one version of the published code."""

    #: Our metric; "" where there is none (a judge's score, the withdrawn list of entities).
    metric: str
    label: str
    #: ">=" or "<=".
    sign: str
    limit: float
    version: str
    #: That of a judge's grades, which lie on 0 to 1 here; none: the limit is on the metric's own.
    scale: tuple[float, float] | None = None

    @property
    def text(self) -> str:
        """ "SSIM ≥ 0.7"."""
        return f"{self.label} {'≥' if self.sign == '>=' else '≤'} {self.limit:g}"

    def passes(self, value: float) -> bool:
        """Whether a score passes; the threshold itself does."""
        low, top = self.scale or (0.0, 1.0)
        # Rounded, or 8 of 10 would not always be 8.
        return bool(_SIGNS[self.sign](round(low + value * (top - low), 9), self.limit))


@cache
def published_thresholds() -> tuple[Threshold, ...]:
    """Of all versions, as published.

    >>> [one.limit for one in published_thresholds() if one.metric == "ssim_medgen"]
    [0.1, 0.7]
    """
    file = files("medebench.analysis") / "published" / "medgen_thresholds.json"
    told = json.loads(file.read_text(encoding="utf-8"))["thresholds"]
    return tuple(Threshold(**one) for one in told)


@dataclass(frozen=True)
class PassRate:
    """How many outputs of a run pass one threshold."""

    threshold: Threshold
    passed: int
    #: Outputs with a score, and outputs that failed where one was asked for.
    scored: int
    failed: int

    @property
    def of_scored(self) -> float | None:
        """The published rate: over survivors."""
        return self.passed / self.scored if self.scored else None

    @property
    def of_all(self) -> float | None:
        """A failure has not passed."""
        every = self.scored + self.failed
        return self.passed / every if every else None


def pass_rates(frame: pl.DataFrame, judge_scores: Sequence[str] = ()) -> list[PassRate]:
    """The rates of one run, a row for every threshold whose metric was scored.

    Args:
        frame: what `Run.frame()` gives, or a part of it.
        judge_scores: names of overall scores of judges who grade from 1 to 10; each has a rate.

    >>> row = {"metric": "ssim_medgen", "reason": None, "kind": None}
    >>> frame = pl.DataFrame([row | {"value": 0.4}, row | {"value": 0.9}])
    >>> [(one.threshold.text, one.of_scored) for one in pass_rates(frame)]
    [('SSIM ≥ 0.1', 1.0), ('SSIM ≥ 0.7', 0.5)]
    """
    # A column of nothing but nulls has no type of its own.
    frame = frame.with_columns(pl.col("value").cast(pl.Float64), pl.col("reason").cast(pl.String))
    found = []
    for threshold in _named(judge_scores):
        rows = frame.filter(pl.col("metric") == threshold.metric)
        values = rows["value"].drop_nulls().to_list()
        failed = rows.filter(is_failure()).height
        if values or failed:
            passed = sum(threshold.passes(value) for value in values)
            found.append(PassRate(threshold, passed, len(values), failed))
    return found


def _named(judge_scores: Sequence[str]) -> Iterator[Threshold]:
    """The thresholds with a score here: those of metrics, and the judge's for each of these."""
    for threshold in published_thresholds():
        if threshold.scale is None:
            yield from (threshold,) if threshold.metric else ()
        for name in judge_scores if threshold.scale else ():
            judge = name.partition("_")[2]
            yield replace(threshold, metric=name, label=f"{threshold.label}, {judge}")
