"""The scale: what doing nothing and copying the answer get, made unasked where no control was run.

A number means little without them. They cost nothing but time: pixels and the stand-in only, never
a judge that is paid or weights that must be fetched. They lie apart from the user's runs, in the
cache folder, and the next report takes them up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from medebench.errors import MedebenchError
from medebench.files import cache_folder, sha256
from medebench.judge.score_names import judge_of
from medebench.metrics import METRICS
from medebench.metrics.metric import Metric
from medebench.progress import Progress, silent
from medebench.runs.generate_run import generate
from medebench.runs.run_folder import Run, cases_of
from medebench.runs.score_run import score

CONTROLS = ("identity", "reference")
_STAND_IN = "offline"


def is_scale(run: Run) -> bool:
    return run.path.is_relative_to(_folder())


def scale_runs(
    runs: Sequence[Run], workers: int | None = None, progress: Progress = silent
) -> tuple[list[Run], str]:
    """The controls over the cases of the runs, scored like them; and why there are none, if so."""
    task = {run.info.task for run in runs}
    taken = {run.name for run in runs}
    if task != {"editing"} or any(run.info.control for run in runs) or taken & {*CONTROLS}:
        return [], ""
    try:
        return list(_make(runs, workers, progress)), ""
    except (MedebenchError, OSError) as error:
        return [], f"What doing nothing gets could not be worked out: {error}"


def _make(runs: Sequence[Run], workers: int | None, progress: Progress) -> Iterator[Run]:
    cases = cases_of(runs)
    scored = {name for run in runs for name in run.table()["metric"].unique()}
    wanted = [name for name in METRICS.names() if name in scored and _is_plain(name)]
    judge = _STAND_IN if any(judge_of(name) == _STAND_IN for name in scored) else None
    if not len(cases) or not (wanted or judge):
        return
    place = _folder() / sha256(f"{cases.source}\n{cases.fingerprint}".encode())[:20]
    made = [generate(cases, name, place / name, workers=workers) for name in CONTROLS]
    yield from score(made, wanted, judge, workers=workers, progress=progress)


def _is_plain(name: str) -> bool:
    return isinstance(METRICS.find(name), Metric)


def _folder() -> Path:
    return cache_folder().absolute() / "scale"
