"""Metrics that own a network: prepared where the picture is decoded, measured in batches."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medebench.engine.batches import one_by_one
from medebench.engine.named import Named
from medebench.errors import ImageError, InputError, MedebenchError
from medebench.metrics import BatchMetric, Measured, Subject, Undefined
from medebench.metrics.metric import part_of
from medebench.reason import Reason, reason_of
from medebench.runs.ledger import ScoreRow
from medebench.runs.stages.output_stage import DeviceStage, Found, Held, Rows
from medebench.runs.stages.value_checks import broke, impossible, metric_metadata
from medebench.runs.visits import Opened

#: Outputs that wait for the network, at most: more keep it no busier, only memory fuller.
TOGETHER = 16
#: And the bytes of their pictures, which a metric may keep until it measures.
ROOM = 256 * 2**20
_NO_PICTURE = np.zeros((0, 0, 3), np.uint8)


@dataclass(frozen=True)
class Prepared:
    """One output on its way to the networks: by metric, what that kept of it."""

    run: int
    key: tuple[str, int]
    sha: str | None
    kept: dict[str, Any]
    size: int


class NetworkScores(DeviceStage):
    needs = "output"

    def __init__(self, metrics: Sequence[Named[BatchMetric]]) -> None:
        self._metrics = {one.thing.name: one for one in metrics}
        self.wanted = {name: one.thing.variant for name, one in self._metrics.items()}

    def do(self, opened: Opened, names: Sequence[str]) -> list[Found]:
        """What waits for the network, and what needs none: the reasons why there is no score."""
        assert opened.output is not None
        picture = _NO_PICTURE if opened.picture is None else opened.picture
        subject = Subject(opened.case, picture, whole=opened.output)
        kept: dict[str, Any] = {}
        found: list[Found] = []
        for name in names:
            metric, begun = self._metrics[name].thing, time.perf_counter()
            try:
                if lacking := opened.lacks(part_of(metric.of)):
                    raise Undefined(lacking)
                metric.info.require(opened.case)
                kept[name] = metric.prepare(subject)
                continue
            except (Undefined, InputError) as error:
                reason = reason_of(error)
            except (Exception, SystemExit) as error:
                reason = broke("metric", error)
            seconds, facts = time.perf_counter() - begun, _facts(metric)
            found.append(ScoreRow(*opened.key, name, opened.sha, None, reason, facts, seconds))
        if kept:
            where = opened.target.run, opened.key, opened.sha
            found.append(Held(Prepared(*where, kept, picture.nbytes)))
        return found

    def is_full(self, waiting: Sequence[Prepared]) -> bool:
        return len(waiting) >= TOGETHER or sum(one.size for one in waiting) >= ROOM

    def finish(self, items: Sequence[Prepared]) -> Iterator[Rows]:
        """Metric by metric, so that what one has measured is kept if the next one fails."""
        for name, named in self._metrics.items():
            metric, own = named.thing, [one for one in items if name in one.kept]
            if not own:
                continue
            begun = time.perf_counter()
            results = one_by_one(metric.measure, [one.kept[name] for one in own], _undefined)
            seconds = (time.perf_counter() - begun) / len(own)
            done = zip(own, results, strict=True)
            yield [(one.run, _row(metric, one, result, seconds)) for one, result in done]

    def close(self) -> None:
        for one in self._metrics.values():
            if one.travelled:
                one.thing.close()

    def release(self) -> None:
        for one in self._metrics.values():
            one.thing.close()


def _undefined(error: BaseException) -> Measured | Undefined:
    if not isinstance(error, MedebenchError):
        return Undefined(broke("metric", error))
    # About the weights, not about this output: nothing can be scored with them.
    if not isinstance(error, ImageError):
        raise error
    return Undefined(reason_of(error))


def _facts(metric: BatchMetric) -> dict[str, Any]:
    return {"variant": metric.variant, **metric_metadata(metric.info)}


def _row(metric: BatchMetric, one: Prepared, given: object, seconds: float) -> ScoreRow:
    facts = _facts(metric)
    result = Measured(given) if isinstance(given, float | int) else given
    if not isinstance(result, Measured):
        reason = Reason("impossible", f"failed: the metric returned a {type(result).__name__}")
        if isinstance(result, Undefined):
            reason = reason_of(result)
        return ScoreRow(*one.key, metric.name, one.sha, None, reason, facts, seconds)
    value = float(result.value)
    wrong = impossible(value, metric.info.low, metric.info.high, "metric")
    kept = value if wrong is None else None
    return ScoreRow(*one.key, metric.name, one.sha, kept, wrong, result.detail | facts, seconds)
