"""Metrics that are functions of a case and an output: measured where the picture is decoded."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from medebench.engine.named import Named
from medebench.errors import InputError
from medebench.metrics import Metric, Undefined
from medebench.metrics.metric import part_of
from medebench.reason import Reason, reason_of
from medebench.runs.ledger import ScoreRow
from medebench.runs.stages.output_stage import OutputStage
from medebench.runs.stages.value_checks import broke, impossible, metric_metadata
from medebench.runs.visits import Opened


class PixelScores(OutputStage):
    needs = "output"

    def __init__(self, metrics: Sequence[Named[Metric]]) -> None:
        self._metrics = {one.thing.name: one for one in metrics}
        self.wanted = {name: one.thing.variant for name, one in self._metrics.items()}

    def do(self, opened: Opened, names: Sequence[str]) -> list[ScoreRow]:
        metrics = [self._metrics[name].thing for name in names]
        return [measure(one, opened, metric_metadata(one.info)) for one in metrics]


def measure(metric: Metric, opened: Opened, detail: dict[str, Any] | None = None) -> ScoreRow:
    """One metric on one output: a value, or the reason why there is none."""
    start = time.perf_counter()
    value: float | None = None
    reason: Reason | None = None
    told: dict[str, Any] = {}
    try:
        assert opened.output is not None
        reason = opened.lacks(part_of(metric.of))
        if reason is None:
            measured = metric.measure(opened.case, opened.output)
            value, told = float(measured.value), measured.detail
            reason = impossible(value, metric.low, metric.high, "metric")
    except (Undefined, InputError) as error:
        reason = reason_of(error)
        if reason.kind == "no-part" and opened.has_all():
            # What is missing was not asked for: a control gives what it can.
            reason = Reason("not-applicable", str(reason))
    except (Exception, SystemExit) as error:
        reason = broke("metric", error)
    seconds = time.perf_counter() - start
    value = value if reason is None else None
    detail = told | (detail or {})
    if metric.variant is not None:
        detail = {"variant": metric.variant, **detail}
    return ScoreRow(*opened.key, metric.name, opened.sha, value, reason, detail, seconds)
