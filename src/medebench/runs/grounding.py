"""`ground`: where outputs changed, where their editor looked, and why each one failed."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from medebench.grounding import GROUNDING_METRICS, Thresholds, change_of
from medebench.grounding.regions import write_region
from medebench.metrics import Metric
from medebench.metrics.intended import EDIT_COMPLETION, EDIT_RESIDUAL
from medebench.parallel import in_parallel
from medebench.progress import Progress, silent
from medebench.runs.attending import attend, plan_looks
from medebench.runs.diagnosing import diagnose_run
from medebench.runs.ledger import OutputRow, ScoreRow
from medebench.runs.run import Run
from medebench.runs.scoring import measure, open_runs
from medebench.runs.work import Opened, Output, Wanted, Work, open_outputs, plan_work, take_stock

#: What a finding is made of, besides a judge: computed here if `score` has not done so.
MEASURES: tuple[Metric, ...] = (*GROUNDING_METRICS, EDIT_COMPLETION, EDIT_RESIDUAL)

Rows = list[tuple[int, OutputRow | ScoreRow]]


def ground(
    runs: Run | str | Path | Sequence[Run | str | Path],
    *,
    thresholds: Thresholds | None = None,
    workers: int | None = None,
    retry_failed: bool = False,
    progress: Progress = silent,
) -> list[Run]:
    """Find out why outputs fail; measures only what is missing, then settles all findings anew.

    Findings take the EA and VQ that the ledger holds, so a judge should come first; ground again
    after one that came later. Runs over the same cases should be given together: the case's
    pictures are then decoded once for all of them.
    """
    opened = open_runs(runs)
    limits = thresholds or Thresholds()
    with ExitStack() as stack:
        ledgers = [stack.enter_context(run.locked()) for run in opened]
        take_stock(opened, ledgers, workers)
        wanted: Wanted = {one.name: one.variant for one in MEASURES}
        changes = [
            _without_region(opened, one) for one in plan_work(opened, ledgers, wanted, retry_failed)
        ]
        done = 0

        def keep(results: Generator[Rows, None, None], total: int) -> None:
            nonlocal done
            stack.callback(results.close)
            for rows in results:
                for index, ledger in enumerate(ledgers):
                    if own := [row for run, row in rows if run == index]:
                        ledger.write(*own)
                done += 1
                progress(done, total)

        progress(0, len(changes))
        keep(in_parallel(partial(_compare, opened, wanted), changes, workers), len(changes))
        # Only now is it known which pictures were replaced by hand.
        looks = plan_looks(opened, ledgers, retry_failed)
        keep(in_parallel(attend, looks, workers), len(changes) + len(looks))
        for ledger in ledgers:
            diagnose_run(ledger, limits)
    return opened


def _without_region(runs: Sequence[Run], work: Work) -> Work:
    """An output whose region is not on disk counts as not compared; other scores stay."""
    compared = {metric.name for metric in GROUNDING_METRICS}

    def checked(one: Output) -> Output:
        known = runs[one.run].change_path(one.row.case_id, one.row.k).is_file()
        if known or one.row.sha256 is None:
            return one
        kept = {name: sha for name, sha in one.scored.items() if name not in compared}
        return replace(one, scored=kept)

    return replace(work, outputs=tuple(map(checked, work.outputs)))


def _compare(runs: Sequence[Run], wanted: Wanted, work: Work) -> Rows:
    rows: Rows = []
    for opened in open_outputs(work, wanted):
        found: list[OutputRow | ScoreRow] = [*opened.replaced(), *_measured(runs, opened)]
        rows.extend((opened.output.run, row) for row in found)
    return rows


def _measured(runs: Sequence[Run], opened: Opened) -> list[ScoreRow]:
    if opened.picture is None:
        return opened.without_picture()
    picture = opened.picture
    rows = [measure(one, opened, picture) for one in MEASURES if one.name in opened.missing]
    if any(row.value is not None and row.metric.startswith("change_") for row in rows):
        run = runs[opened.output.run]
        write_region(run.change_path(*opened.key), change_of(opened.case, picture).region)
    return rows
