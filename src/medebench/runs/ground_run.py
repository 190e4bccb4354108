"""`ground`: where outputs changed, where their editor looked, and why each one failed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, overload

from medebench.engine.executors import find_executor
from medebench.grounding import Thresholds
from medebench.progress import Progress, silent
from medebench.runs.drive import drive
from medebench.runs.run_folder import Run
from medebench.runs.score_run import AnyRun, WorkOptions, open_runs, require_parts
from medebench.runs.stages.attention_scores import AttentionScores
from medebench.runs.stages.change_scores import ChangeScores
from medebench.runs.stages.run_diagnosis import RunDiagnosis
from medebench.runs.visits import plan_visits, take_stock

if TYPE_CHECKING:
    from typing_extensions import Unpack


class GroundOptions(WorkOptions, total=False):
    thresholds: Thresholds | None


@overload  # A text is a sequence too, of texts, but comes first.
def ground(runs: AnyRun, **options: Unpack[GroundOptions]) -> Run: ...  # type: ignore[overload-overlap]
@overload
def ground(runs: Sequence[AnyRun], **options: Unpack[GroundOptions]) -> list[Run]: ...
def ground(
    runs: AnyRun | Sequence[AnyRun],
    *,
    thresholds: Thresholds | None = None,
    workers: int | None = None,
    retry_failed: bool = False,
    progress: Progress = silent,
    executor: str = "threads",
) -> Run | list[Run]:
    """Find out why outputs fail; measures only what is missing, then settles all findings anew.

    Only what is missing is measured; findings are always settled anew. They take the EA and VQ
    that the ledger holds, so a judge should come first; ground again after one that came later.

    Args:
        runs: one run or several, opened or as folders. Give runs over the same cases together:
            each image is then decoded once.
        thresholds: where one type of failure ends and the next begins.
        workers: threads; all cores by default.
        retry_failed: also retry items that failed before.
        progress: called with (done, total).
        executor: `threads` or `processes`.

    Returns:
        The runs; `Run.frame` has the findings in the rows of the metric `success`.

    >>> run = mb.edit("phantoms:count=2", "identity", tmp / "grounded")
    >>> _ = mb.ground(run)
    >>> set(run.frame()["finding"]) - {None}
    {'nothing'}
    """
    opened = open_runs(runs)
    require_parts(opened, "ground", ["image"], "there is nothing to ground")
    how = find_executor(executor, workers)
    with ExitStack() as stack:
        ledgers = [stack.enter_context(run.locked()) for run in opened]
        take_stock(opened, ledgers, workers)
        stages = [
            ChangeScores(opened),
            AttentionScores(opened, ledgers),
            RunDiagnosis(thresholds or Thresholds()),
        ]
        visits = plan_visits(opened, ledgers, stages, retry_failed)
        drive(stages, visits, opened, ledgers, how, progress=progress)
    return opened[0] if isinstance(runs, AnyRun) else opened
