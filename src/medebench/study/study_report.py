"""`report`: the page about runs, with what people said about them where a study is given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from medebench.page.section import Section
from medebench.progress import Progress, silent
from medebench.reporting import Report, build_report
from medebench.reporting.collect import Failures
from medebench.runs.run_folder import Run, open_ledgers
from medebench.runs.score_run import open_runs
from medebench.study.rankings_source import read_study
from medebench.study.results.compute import study_results
from medebench.study.results.results_folder import section


def report(
    runs: Run | str | Path | Sequence[Run | str | Path],
    out: str | Path,
    *,
    headline: str | None = None,
    title: str | None = None,
    published: bool = True,
    failures: Failures = "count",
    scale: bool = True,
    without: Sequence[str] = (),
    audit: bool = True,
    study: str | Path | None = None,
    database: str | None = None,
    sections: Sequence[Section] = (),
    workers: int | None = None,
    progress: Progress = silent,
) -> Report:
    """Compare runs: a page that opens from the disk, tables and figures for a paper.

    Args:
        runs: scored runs, opened or as folders.
        out: folder of the report; an earlier report in it is renewed.
        headline: the score that leads: for editing `cp` (the default) or `cp_published`, else one
            of the task's headline scores.
        title: title of the page.
        published: whether to show the rows of the paper's models.
        failures: "count" begins with tables in which a failed output scores as doing nothing does,
            "omit" with those over what was delivered; the page has both.
        scale: whether to work out what doing nothing and copying the answer get where no control
            is among the runs: pixels and the stand-in only, kept in the cache folder.
        without: findings of an audit (`other-photograph`, ...); cases that have one are left out,
            which page, tables and data say. The runs stay as they are.
        audit: whether to say what is wrong with the case set; done once for a set, then remembered.
        study: a study's folder or a CSV file of rankings; adds a section on what people said.
        database: where the answers are, if not in the study's folder.
        sections: further sections of your own.
        workers: threads; all cores by default.
        progress: called with (done, total).

    Returns:
        Where the first page is, and the headline table.

    >>> run = mb.edit("phantoms:count=2", "identity", tmp / "reported")
    >>> _ = mb.score(run, "cp")
    >>> mb.report(run, tmp / "report", published=False)
    Report(.../report/index.html)
    """
    opened = open_runs(runs)
    with open_ledgers(opened):
        people = [] if study is None else [_people(study, opened, database)]
        return build_report(
            opened,
            out,
            headline=headline,
            title=title,
            published=published,
            failures=failures,
            scale=scale,
            without=without,
            audit=audit,
            sections=[*people, *sections],
            workers=workers,
            progress=progress,
        )


def _people(study: str | Path, runs: Sequence[Run], database: str | None) -> Section:
    told, _ = read_study(study, [run.path for run in runs], database=database)
    # Models come before controls, as in the rest of the report: their colours go by place.
    names = [run.name for run in sorted(runs, key=lambda run: run.info.control)]
    # A report is shown around; who the annotators are is not its business.
    return section(study_results(told, runs, anonymous=True), names)
