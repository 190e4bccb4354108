"""Where rankings come from: a study with its database, or a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from medebench.errors import InputError
from medebench.files import unwritable, write_text
from medebench.runs.run import Run, open_run
from medebench.study.design import DATABASE, Study, open_study
from medebench.study.rankings import from_answers
from medebench.study.table import rankings_csv

if TYPE_CHECKING:
    from medebench.study.rankings import Answered
    from medebench.study.results.compute import Told


def read_study(
    source: str | Path,
    runs: Sequence[str | Path] = (),
    *,
    database: str | None = None,
    k: int | None = None,
) -> tuple[Told, list[Run]]:
    """The rankings, and the scored runs to compare with them.

    Runs of a study are found where they were when it was made; those that have gone or have no
    scores yet are named in a note. Runs that are given must be there and scored.
    """
    from dataclasses import replace

    from medebench.study.results.compute import from_study, from_table

    source = Path(source).expanduser().absolute()
    given = [open_run(path) for path in runs]
    if source.is_file():
        return from_table(source, k or 0), given
    study = open_study(source)
    if k is not None:
        raise InputError(f"-k {k}: a study knows which output was shown ({study.design.k})")
    told = from_study(study, _answers(study, database))
    if given:
        return told, given
    found, notes = _own_runs(study)
    return replace(told, notes=(*told.notes, *notes)), found


def export_rankings(study: Study, out: Path, database: str | None = None) -> int:
    """Write the rankings of a study as a table; returns the number of ranks."""
    if out.exists() and (out.is_dir() or out.suffix.lower() != ".csv"):
        raise InputError(f"{out}: exists and is no CSV file; choose another --out")
    rankings = from_answers(study.design, _answers(study, database))
    if not rankings.given:
        raise InputError(f"{study.path}: no case has been ranked to the end yet")
    try:
        write_text(out, rankings_csv(rankings))
    except OSError as error:
        raise unwritable(out, error) from error
    return sum(map(len, rankings.given.values()))


def _answers(study: Study, database: str | None) -> list[Answered]:
    from medebench.study.server.store import open_store

    if database is None and not (study.path / DATABASE).is_file():
        raise InputError(
            f"{study.path}: nobody has answered yet (there is no {DATABASE}); if the answers are "
            "in another database, name it with --database"
        )
    with open_store(study, database) as store:
        return list(store.answers())


def _own_runs(study: Study) -> tuple[list[Run], list[str]]:
    found, notes = [], []
    for one in study.design.runs:
        try:
            run = open_run(one.path)
        except InputError:
            notes.append(f"{one.name}: its run is no longer there; say where with --runs.")
            continue
        if run.frame().is_empty():
            notes.append(f"{one.name}: has no scores; run `medebench score`.")
            continue
        found.append(run)
    return found, notes
