"""`score`: metrics and a judge on the outputs of runs, decoding every picture once."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from medebench.cases.image import Picture
from medebench.errors import InputError, one_line
from medebench.judge import Judge, ModelJudge, Verdict, find_judge
from medebench.metrics import Metric, Undefined, find_metrics
from medebench.parallel import in_parallel
from medebench.progress import Progress, silent
from medebench.runs.judging import JudgeLimits, judge_outputs
from medebench.runs.ledger import OutputRow, ScoreRow
from medebench.runs.run import Run, open_run
from medebench.runs.work import Opened, Wanted, Work, open_outputs, plan_work


def score(
    runs: Run | str | Path | Sequence[Run | str | Path],
    metrics: Iterable[str | Metric] | None = None,
    judge: str | Judge | ModelJudge | None = None,
    *,
    limits: JudgeLimits | None = None,
    workers: int | None = None,
    retry_failed: bool = False,
    progress: Progress = silent,
) -> list[Run]:
    """Score the outputs of `runs`; only what is missing, or belongs to a replaced picture.

    Without `metrics`, all built-in ones. Runs over the same cases should be given together: the
    case's pictures are then decoded once for all of them. `limits` are for a judge that costs.
    """
    opened = open_runs(runs)
    found = find_judge(judge) if isinstance(judge, str) else judge
    model = found if isinstance(found, ModelJudge) else None
    scorers = _Scorers(_metrics(metrics), None if isinstance(found, ModelJudge) else found)
    with ExitStack() as stack:
        ledgers = [stack.enter_context(run.locked()) for run in opened]
        work = plan_work(opened, ledgers, scorers.wanted, retry_failed)
        progress(0, len(work))
        results = in_parallel(scorers.score_case, work, workers)
        stack.callback(results.close)
        for done, rows in enumerate(results, start=1):
            for index, ledger in enumerate(ledgers):
                if own := [row for run, row in rows if run == index]:
                    ledger.write(*own)
            progress(done, len(work))
        if model is not None:
            judge_outputs(opened, ledgers, model, limits or JudgeLimits(), retry_failed, progress)
    return opened


def open_runs(runs: Run | str | Path | Sequence[Run | str | Path]) -> list[Run]:
    given = [runs] if isinstance(runs, Run | str | Path) else list(runs)
    opened = [run if isinstance(run, Run) else open_run(run) for run in given]
    if len({run.path for run in opened}) != len(opened):
        raise InputError("the same run is given twice")
    return opened


def _metrics(given: Iterable[str | Metric] | None) -> list[Metric]:
    if given is None:
        return find_metrics()
    one = list(given)
    ready = [metric for metric in one if isinstance(metric, Metric)]
    named = find_metrics([metric for metric in one if isinstance(metric, str)])
    return list({metric.name: metric for metric in [*named, *ready]}.values())


class _Scorers:
    """Everything that gives a score at once, and how a failure of it becomes a reason."""

    def __init__(self, metrics: list[Metric], judge: Judge | None) -> None:
        self.metrics = metrics
        self.judge = judge
        self.wanted: Wanted = {metric.name: None for metric in metrics} | (
            {} if judge is None else dict.fromkeys(judge.scores, judge.name)
        )

    def score_case(self, work: Work) -> list[tuple[int, OutputRow | ScoreRow]]:
        rows: list[tuple[int, OutputRow | ScoreRow]] = []
        for opened in open_outputs(work, self.wanted):
            found: list[OutputRow | ScoreRow] = [*opened.replaced(), *self._score(opened)]
            rows.extend((opened.output.run, row) for row in found)
        return rows

    def _score(self, opened: Opened) -> list[ScoreRow]:
        if opened.picture is None:
            return opened.without_picture()
        rows = [
            measure(metric, opened, opened.picture)
            for metric in self.metrics
            if metric.name in opened.missing
        ]
        if self.judge is not None and any(name in opened.missing for name in self.judge.scores):
            rows.extend(_ask(self.judge, opened, opened.picture))
        return rows


def measure(metric: Metric, opened: Opened, picture: Picture) -> ScoreRow:
    """One metric on one output: a value, or the reason why there is none."""
    start = time.perf_counter()
    value: float | None = None
    reason: str | None = None
    try:
        value = float(metric(opened.case, picture))
        reason = _impossible(value, metric.low, metric.high, "metric")
    except (Undefined, InputError) as error:
        reason = one_line(str(error))
    except (Exception, SystemExit) as error:
        reason = _broke("metric", error)
    seconds = time.perf_counter() - start
    value = value if reason is None else None
    return ScoreRow(*opened.key, metric.name, opened.sha, value, reason, {}, seconds)


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
        read = dict.fromkeys(judge.scores, (None, _broke("judge", error), {}))
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
    reason = _impossible(value, 0.0, 1.0, "judge")
    return (value if reason is None else None), reason, verdict.detail


def _impossible(value: float, low: float, high: float, who: str) -> str | None:
    """Why a value cannot be a score: a wrong number is worse than none."""
    slack = 1e-9
    if math.isfinite(value) and low - slack <= value <= high + slack:
        return None
    return f"failed: the {who} returned {value:g}, outside {low:g} to {high:g}"


def _broke(who: str, error: BaseException) -> str:
    return one_line(f"failed: the {who} raised {type(error).__name__}: {error}")
