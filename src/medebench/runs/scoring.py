"""`score`: metrics and a judge on the outputs of runs, decoding every picture once."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from medebench.cases import Case, OpenCase, open_case
from medebench.cases.caseset import case_digest
from medebench.cases.image import Picture, read_file, read_picture
from medebench.errors import ImageError, InputError
from medebench.files import sha256
from medebench.judge import Judge, find_judge
from medebench.metrics import Metric, Undefined, find_metrics
from medebench.parallel import in_parallel
from medebench.progress import Progress, silent
from medebench.runs.ledger import Ledger, OutputRow, ScoreRow
from medebench.runs.run import Run, open_run


@dataclass(frozen=True)
class _Output:
    """One output to be scored, with what the ledger knows of it."""

    run: int
    row: OutputRow
    path: Path
    #: metric -> hash of the picture it was computed on; absent where it must be computed
    scored: dict[str, str | None]


@dataclass(frozen=True)
class _Work:
    case: Case
    digest: str
    outputs: tuple[_Output, ...]


def score(
    runs: Run | str | Path | Sequence[Run | str | Path],
    metrics: Iterable[str | Metric] | None = None,
    judge: str | Judge | None = None,
    *,
    workers: int | None = None,
    retry_failed: bool = False,
    progress: Progress = silent,
) -> list[Run]:
    """Score the outputs of `runs`; only what is missing, or belongs to a replaced picture.

    Without `metrics`, all built-in ones. Runs over the same cases should be given together: the
    case's pictures are then decoded once for all of them.
    """
    given = [runs] if isinstance(runs, Run | str | Path) else list(runs)
    opened = [run if isinstance(run, Run) else open_run(run) for run in given]
    if len({run.path for run in opened}) != len(opened):
        raise InputError("the same run is given twice")
    scorers = _Scorers(_metrics(metrics), find_judge(judge) if isinstance(judge, str) else judge)
    with ExitStack() as stack:
        ledgers = [stack.enter_context(run.locked()) for run in opened]
        work = _plan(opened, ledgers, scorers, retry_failed)
        progress(0, len(work))
        results = in_parallel(scorers.score_case, work, workers)
        stack.callback(results.close)
        for done, rows in enumerate(results, start=1):
            for index, ledger in enumerate(ledgers):
                if own := [row for run, row in rows if run == index]:
                    ledger.write(*own)
            progress(done, len(work))
    return opened


def _metrics(given: Iterable[str | Metric] | None) -> list[Metric]:
    if given is None:
        return find_metrics()
    one = list(given)
    ready = [metric for metric in one if isinstance(metric, Metric)]
    named = find_metrics([metric for metric in one if isinstance(metric, str)])
    return list({metric.name: metric for metric in [*named, *ready]}.values())


def _plan(
    runs: list[Run], ledgers: list[Ledger], scorers: _Scorers, retry_failed: bool
) -> list[_Work]:
    """All outputs, grouped by case: runs that share a case set share its decoded pictures."""
    groups: dict[tuple[str, str], _Work] = {}
    for index, (run, ledger) in enumerate(zip(runs, ledgers, strict=True)):
        known, cases = ledger.cases(), run.cases
        scored: dict[tuple[str, int], dict[str, str | None]] = {}
        for case_id, k, name, sha, reason in ledger.scored():
            if not (retry_failed and reason is not None):
                scored.setdefault((case_id, k), {})[name] = sha
        for (case_id, k), row in ledger.outputs().items():
            if case_id not in cases:
                raise InputError(
                    f"{run.path}: case {case_id} is no longer in {run.info.cases.source}"
                )
            digest = known[case_id].digest
            path = run.output_path(case_id, k)
            output = _Output(index, row, path, scored.get((case_id, k), {}))
            if row.sha256 is None and not scorers.missing(output, None):
                continue
            group = groups.get((case_id, digest)) or _Work(cases[case_id], digest, ())
            groups[case_id, digest] = _Work(group.case, digest, (*group.outputs, output))
    return list(groups.values())


class _Scorers:
    """Everything that gives a score, and how a failure of it becomes a reason."""

    def __init__(self, metrics: list[Metric], judge: Judge | None) -> None:
        self.metrics = metrics
        self.judge = judge
        self.names = [metric.name for metric in metrics] + list(judge.scores if judge else ())

    def missing(self, output: _Output, sha: str | None) -> list[str]:
        return [n for n in self.names if n not in output.scored or output.scored[n] != sha]

    def score_case(self, work: _Work) -> list[tuple[int, OutputRow | ScoreRow]]:
        rows: list[tuple[int, OutputRow | ScoreRow]] = []
        case = open_case(work.case)
        changed: bool | None = None
        for output in work.outputs:
            data, sha, reason = _read_output(output)
            names = self.missing(output, sha)
            if data is not None and sha != output.row.sha256:
                # The file was replaced by hand: from now on it is the output.
                kept = OutputRow(
                    output.row.case_id, output.row.k, sha, None, None, {"replaced": True}
                )
                rows.append((output.run, kept))
            if not names:
                continue
            if changed is None:
                changed = case_digest(work.case) != work.digest
            if changed and reason is None:
                reason = "the case has changed since the edit; edit it again"
            picture: Picture | None = None
            if reason is None and data is not None:
                try:
                    picture = case.fit(read_picture(output.path, data))
                except ImageError as error:
                    reason = _unreadable(error, output)
            scored = self._score(output, case, picture, sha, reason, names)
            rows.extend((output.run, row) for row in scored)
        return rows

    def _score(
        self,
        output: _Output,
        case: OpenCase,
        picture: Picture | None,
        sha: str | None,
        reason: str | None,
        names: list[str],
    ) -> list[ScoreRow]:
        key = (output.row.case_id, output.row.k)
        if picture is None:
            return [ScoreRow(*key, name, sha, None, reason or "no output") for name in names]
        rows = [
            _measure(metric, key, case, picture, sha)
            for metric in self.metrics
            if metric.name in names
        ]
        if self.judge is not None and any(name in names for name in self.judge.scores):
            rows.extend(_ask(self.judge, key, case, picture, sha))
        return rows


def _read_output(output: _Output) -> tuple[bytes | None, str | None, str | None]:
    """Bytes, hash and reason; a file that appeared where there was none counts as an output."""
    try:
        data = read_file(output.path)
        return data, sha256(data), None
    except ImageError:
        if output.row.sha256 is None:
            return None, None, f"no output: {output.row.reason}"
        return None, None, "the output file is missing"


def _unreadable(error: ImageError, output: _Output) -> str:
    # Case pictures are named by path; an output is known by its case and k.
    text = str(error)
    prefix = f"{output.path}: "
    return f"unreadable output: {text[len(prefix) :]}" if text.startswith(prefix) else text


def _measure(
    metric: Metric, key: tuple[str, int], case: OpenCase, picture: Picture, sha: str | None
) -> ScoreRow:
    start = time.perf_counter()
    value: float | None = None
    reason: str | None = None
    try:
        value = float(metric(case, picture))
        if not math.isfinite(value):
            value, reason = None, f"the metric returned {value}"
    except (Undefined, InputError) as error:
        reason = str(error)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"[:500]
    return ScoreRow(*key, metric.name, sha, value, reason, {}, time.perf_counter() - start)


def _ask(
    judge: Judge, key: tuple[str, int], case: OpenCase, picture: Picture, sha: str | None
) -> list[ScoreRow]:
    start = time.perf_counter()
    try:
        verdicts = judge.judge(case, picture)
    except (Undefined, InputError) as error:
        verdicts, why = {}, str(error)
    except Exception as error:
        verdicts, why = {}, f"{type(error).__name__}: {error}"[:500]
    else:
        why = "the judge gave no such score"
    seconds = (time.perf_counter() - start) / len(judge.scores)
    rows = []
    for name in judge.scores:
        verdict = verdicts.get(name)
        value = None if verdict is None else verdict.value
        if value is not None and not math.isfinite(value):
            value, why = None, f"the judge returned {value}"
        reason = None if value is not None else (verdict and verdict.reason) or why
        detail = {"judge": judge.name, "stand_in": judge.stand_in}
        detail |= verdict.detail if verdict else {}
        rows.append(ScoreRow(*key, name, sha, value, reason, detail, seconds))
    return rows
