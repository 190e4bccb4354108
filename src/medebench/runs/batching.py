"""Metrics that own a network, fed with many outputs at a time from one thread."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from medebench.errors import ImageError, InputError, MedebenchError, one_line
from medebench.metrics import (
    METRICS,
    BatchMetric,
    Measured,
    MetricInfo,
    Subject,
    Undefined,
    find_learned,
)
from medebench.runs.ledger import ScoreRow
from medebench.runs.work import Opened

#: Outputs that wait for the network, at most: more keep it no busier, only memory fuller.
TOGETHER = 16
#: And the bytes of their pictures, which a metric may keep until it measures.
ROOM = 256 * 2**20


@dataclass(frozen=True)
class Pending:
    """One output on its way to one metric; nothing of the pictures but what the metric kept."""

    run: int
    key: tuple[str, int]
    sha: str | None
    metric: int
    prepared: Any
    size: int


class Batches:
    """`prepare` on many threads, the rest on one."""

    def __init__(self, metrics: Sequence[BatchMetric]) -> None:
        self.metrics = metrics
        self._waiting: list[Pending] = []

    def prepare(self, opened: Opened) -> tuple[list[Pending], list[ScoreRow]]:
        """What waits for the network, and what needs none: the reasons why there is no score."""
        if opened.picture is None:
            return [], []
        subject = Subject(opened.case, opened.picture)
        pending: list[Pending] = []
        rows: list[ScoreRow] = []
        for index, metric in enumerate(self.metrics):
            if metric.name not in opened.missing:
                continue
            begun = time.perf_counter()
            try:
                metric.info.require(opened.case)
                prepared = metric.prepare(subject)
                place = (opened.output.run, opened.key, opened.sha, index)
                pending.append(Pending(*place, prepared, opened.picture.nbytes))
            except (Undefined, InputError) as error:
                rows.append(self._reason(opened, metric, one_line(str(error)), begun))
            except (Exception, SystemExit) as error:
                rows.append(self._reason(opened, metric, broke("metric", error), begun))
        return pending, rows

    @property
    def cases_waiting(self) -> int:
        return len({one.key[0] for one in self._waiting})

    def add(self, pending: Sequence[Pending]) -> Iterator[list[tuple[int, ScoreRow]]]:
        """Take these in; rows come out, metric by metric, as soon as a batch is full."""
        self._waiting.extend(pending)
        sizes = {(one.run, one.key): one.size for one in self._waiting}
        if len(sizes) >= TOGETHER or sum(sizes.values()) >= ROOM:
            yield from self.rest()

    def rest(self) -> Iterator[list[tuple[int, ScoreRow]]]:
        waiting, self._waiting = self._waiting, []
        for index, metric in enumerate(self.metrics):
            own = [one for one in waiting if one.metric == index]
            if not own:
                continue
            begun = time.perf_counter()
            results = _measure(metric, own)
            seconds = (time.perf_counter() - begun) / len(own)
            done = zip(own, results, strict=True)
            yield [(one.run, _row(metric, one, result, seconds)) for one, result in done]

    def close(self) -> None:
        for metric in self.metrics:
            metric.close()

    @staticmethod
    def _reason(opened: Opened, metric: BatchMetric, reason: str, begun: float) -> ScoreRow:
        detail = {"variant": metric.variant, **told_of(metric.info)}
        seconds = time.perf_counter() - begun
        return ScoreRow(*opened.key, metric.name, opened.sha, None, reason, detail, seconds)


def _measure(metric: BatchMetric, pending: Sequence[Pending]) -> list[Measured | Undefined]:
    """One result each: an output that breaks the metric takes no other along."""
    try:
        found = metric.measure([one.prepared for one in pending])
        if len(found) != len(pending):
            raise ValueError(f"{len(found)} results for {len(pending)} outputs")
        return found
    except MedebenchError as error:
        # About the weights, not about this output: nothing can be scored with them.
        if not isinstance(error, ImageError):
            raise
        if len(pending) == 1:
            return [Undefined(one_line(str(error)))]
    except Exception as error:
        if len(pending) == 1:
            return [Undefined(broke("metric", error))]
    return [result for one in pending for result in _measure(metric, [one])]


def _row(metric: BatchMetric, one: Pending, given: object, seconds: float) -> ScoreRow:
    variant = {"variant": metric.variant, **told_of(metric.info)}
    result = Measured(given) if isinstance(given, float | int) else given
    if not isinstance(result, Measured):
        kind = type(result).__name__
        undefined = isinstance(result, Undefined)
        reason = one_line(str(result)) if undefined else f"failed: the metric returned a {kind}"
        return ScoreRow(*one.key, metric.name, one.sha, None, reason, variant, seconds)
    value = float(result.value)
    wrong = impossible(value, metric.info.low, metric.info.high, "metric")
    kept = value if wrong is None else None
    return ScoreRow(*one.key, metric.name, one.sha, kept, wrong, result.detail | variant, seconds)


def impossible(value: float, low: float, high: float, who: str) -> str | None:
    """Why a value cannot be a score: a wrong number is worse than none."""
    slack = 1e-9
    if math.isfinite(value) and low - slack <= value <= high + slack:
        return None
    return f"failed: the {who} returned {value:g}, outside {low:g} to {high:g}"


def told_of(info: MetricInfo) -> dict[str, Any]:
    """What the report must know of a metric that it cannot find by its name."""
    known = info.name in METRICS.builtin or find_learned(info.name)
    return {} if known else {"metric": info.told()}


def broke(who: str, error: BaseException) -> str:
    return one_line(f"failed: the {who} raised {type(error).__name__}: {error}")
