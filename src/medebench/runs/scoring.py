"""`score`: metrics and a judge on the outputs of runs, decoding every picture once."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medebench.cases.image import Picture
from medebench.errors import InputError, one_line
from medebench.judge import Judge, ModelJudge, Verdict, find_judge
from medebench.metrics import (
    AnyMetric,
    BatchMetric,
    Metric,
    SetMetric,
    Undefined,
    find_metrics,
)
from medebench.parallel import in_parallel
from medebench.progress import Progress, silent
from medebench.runs.batching import Batches, Pending, broke, impossible, told_of
from medebench.runs.failed_calls import Failures
from medebench.runs.judging import JudgeLimits, judge_outputs
from medebench.runs.ledger import Ledger, OutputRow, ScoreRow
from medebench.runs.run import Run, open_run
from medebench.runs.setscores import score_sets
from medebench.runs.work import Opened, Wanted, Work, open_outputs, plan_work, take_stock


def score(
    runs: Run | str | Path | Sequence[Run | str | Path],
    metrics: str | Iterable[str | AnyMetric] | None = None,
    judge: str | Judge | ModelJudge | None = None,
    *,
    limits: JudgeLimits | None = None,
    device: str = "auto",
    batch: int | None = None,
    workers: int | None = None,
    retry_failed: bool = False,
    progress: Progress = silent,
    failures: Failures | None = None,
) -> list[Run]:
    """Score the outputs of `runs`; only what is missing, or belongs to a changed picture or case.

    Without `metrics`, the built-in ones that need no weights. Runs over the same cases should be
    given together: the case's pictures are then decoded once for all of them. `limits` are for a
    judge that costs; `device` (auto, cpu, cuda, mps) and `batch` for metrics with a network.
    `failures` counts the calls that failed now, and why.
    """
    noted = Failures() if failures is None else failures
    opened = open_runs(runs)
    found = find_judge(judge) if isinstance(judge, str) else judge
    model = found if isinstance(found, ModelJudge) else None
    names = metrics.split(",") if isinstance(metrics, str) else metrics
    given = find_metrics(names, device=device, batch=batch)
    scorers = _Scorers(given, None if isinstance(found, ModelJudge) else found)
    sets = [metric for metric in given if isinstance(metric, SetMetric)]
    with ExitStack() as stack:
        ledgers = [stack.enter_context(run.locked()) for run in opened]
        take_stock(opened, ledgers, workers)
        work = plan_work(opened, ledgers, scorers.wanted, retry_failed)
        progress(0, len(work))
        stack.callback(scorers.batches.close)
        results = in_parallel(scorers.score_case, work, workers)
        stack.callback(results.close)
        for done, scored in enumerate(results, start=1):
            _write(ledgers, scored.rows, noted)
            for measured in scorers.batches.add(scored.pending):
                _write(ledgers, measured, noted)
            progress(done - scorers.batches.cases_waiting, len(work))
        for measured in scorers.batches.rest():
            _write(ledgers, measured, noted)
        progress(len(work), len(work))
        if sets:
            score_sets(opened, ledgers, sets, workers, retry_failed, progress, noted)
        if model is not None:
            given_limits = limits or JudgeLimits()
            judge_outputs(opened, ledgers, model, given_limits, retry_failed, progress, noted)
    return opened


def _write(
    ledgers: Sequence[Ledger],
    rows: Sequence[tuple[int, OutputRow | ScoreRow]] | Sequence[tuple[int, ScoreRow]],
    failures: Failures,
) -> None:
    for index, ledger in enumerate(ledgers):
        if own := [row for run, row in rows if run == index]:
            ledger.write(*own)
            failures.note_broken(own)


def open_runs(runs: Run | str | Path | Sequence[Run | str | Path]) -> list[Run]:
    given = [runs] if isinstance(runs, Run | str | Path) else list(runs)
    opened = [run if isinstance(run, Run) else open_run(run) for run in given]
    if len({run.path for run in opened}) != len(opened):
        raise InputError("the same run is given twice")
    return opened


@dataclass(frozen=True)
class _Scored:
    """One case: scores that are there, and outputs that wait for a network."""

    rows: list[tuple[int, OutputRow | ScoreRow]]
    pending: list[Pending]


class _Scorers:
    """Everything that scores outputs one by one, and how a failure of it becomes a reason."""

    def __init__(self, metrics: list[AnyMetric], judge: Judge | None) -> None:
        self.metrics = [metric for metric in metrics if isinstance(metric, Metric)]
        self.batches = Batches([metric for metric in metrics if isinstance(metric, BatchMetric)])
        self.judge = judge
        self.wanted: Wanted = (
            {metric.name: metric.variant for metric in self.metrics}
            | {metric.name: metric.variant for metric in self.batches.metrics}
            | ({} if judge is None else dict.fromkeys(judge.scores, judge.name))
        )

    def score_case(self, work: Work) -> _Scored:
        scored = _Scored([], [])
        for opened in open_outputs(work, self.wanted):
            pending, reasons = self.batches.prepare(opened)
            found: list[OutputRow | ScoreRow] = [*opened.replaced(), *self._score(opened), *reasons]
            scored.rows.extend((opened.output.run, row) for row in found)
            scored.pending.extend(pending)
        return scored

    def _score(self, opened: Opened) -> list[ScoreRow]:
        if opened.picture is None:
            return opened.without_picture()
        rows = [
            measure(metric, opened, opened.picture, told_of(metric.info))
            for metric in self.metrics
            if metric.name in opened.missing
        ]
        if self.judge is not None and any(name in opened.missing for name in self.judge.scores):
            rows.extend(_ask(self.judge, opened, opened.picture))
        return rows


def measure(
    metric: Metric, opened: Opened, picture: Picture, detail: dict[str, Any] | None = None
) -> ScoreRow:
    """One metric on one output: a value, or the reason why there is none."""
    start = time.perf_counter()
    value: float | None = None
    reason: str | None = None
    try:
        value = float(metric(opened.case, picture))
        reason = impossible(value, metric.low, metric.high, "metric")
    except (Undefined, InputError) as error:
        reason = one_line(str(error))
    except (Exception, SystemExit) as error:
        reason = broke("metric", error)
    seconds = time.perf_counter() - start
    value = value if reason is None else None
    if metric.variant is not None:
        detail = {"variant": metric.variant, **(detail or {})}
    return ScoreRow(*opened.key, metric.name, opened.sha, value, reason, detail or {}, seconds)


def _ask(judge: Judge, opened: Opened, picture: Picture) -> list[ScoreRow]:
    start = time.perf_counter()
    facts: dict[str, Any] = {
        "judge": judge.name,
        "variant": judge.name,
        "stand_in": judge.stand_in,
    }
    read: dict[str, tuple[float | None, str | None, dict[str, Any]]] = {}
    try:
        verdicts = judge.judge(opened.case, picture)
        for name in judge.scores:
            read[name] = _verdict(verdicts.get(name))
    except (Undefined, InputError) as error:
        read = dict.fromkeys(judge.scores, (None, one_line(str(error)), {}))
    except (Exception, SystemExit) as error:
        read = dict.fromkeys(judge.scores, (None, broke("judge", error), {}))
    seconds = (time.perf_counter() - start) / len(judge.scores)
    return [
        ScoreRow(*opened.key, name, opened.sha, value, reason, facts | detail, seconds)
        for name, (value, reason, detail) in read.items()
    ]


def _verdict(verdict: Verdict | None) -> tuple[float | None, str | None, dict[str, Any]]:
    """Value or reason, and detail, of what a judge of any origin returned."""
    if verdict is None:
        return None, "the judge gave no such score", {}
    if verdict.value is None:
        return None, one_line(verdict.reason or "the judge gave no reason"), verdict.detail
    value = float(verdict.value)
    reason = impossible(value, 0.0, 1.0, "judge")
    return (value if reason is None else None), reason, verdict.detail
