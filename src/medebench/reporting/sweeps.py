"""Where the sweep of a run lies, and which of its settings was taken.

A plan keeps `sweeps/NAME`, in which every setting is an output k, beside `runs/NAME`, which was
made with the chosen one.
"""

from __future__ import annotations

from medebench.aliases import current_name
from medebench.errors import InputError
from medebench.page.score_columns import Score, dimensions
from medebench.reporting.collect import Entry, Material
from medebench.reporting.output_grid import all_scores
from medebench.runs.run_folder import Run, open_run


def sweep_of(run: Run) -> Run | None:
    """The sweep that the settings of a run come from, if it is still there."""
    if run.info.tuned is None:
        return None
    found = _open(run, "sweeps", run.info.tuned.sweep)
    return found if found and _is_of(found, run) else None


def chosen_of(sweep: Run) -> tuple[str, int | None]:
    """The score that decided about a sweep, and the setting: as the run beside it says."""
    run = _open(sweep, "runs", sweep.name)
    tuned = None if run is None else run.info.tuned
    if run is None or tuned is None or not _is_of(sweep, run):
        return "", None
    return tuned.metric, tuned.best


def deciding(material: Material, sweep: Entry) -> Score:
    """The score by which the settings of a sweep are told apart."""
    scores = all_scores(material)
    name = current_name(chosen_of(sweep.run)[0])
    leads = dimensions(material.scores, "", material.task) or scores
    return next((score for score in scores if score.name == name), leads[0])


def _is_of(sweep: Run, run: Run) -> bool:
    tuned = run.info.tuned
    return tuned is not None and [one.settings for one in tuned.tried] == sweep.info.sweep


def _open(beside: Run, folder: str, name: str) -> Run | None:
    try:
        return open_run(beside.path.parent.parent / folder / name)
    except InputError:
        return None
