"""Where rankings come from: a study with its database, or a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from medebench.errors import InputError
from medebench.files import unwritable, write_text
from medebench.runs.run_folder import Run, open_run
from medebench.study.design import DATABASE, Annotator, Design, Study, open_study
from medebench.study.rankings import Answer, Rankings, control_passed, from_answers
from medebench.study.rankings_table import rankings_csv, read_rankings
from medebench.study.results.results_model import AnnotatorFacts


@dataclass(frozen=True)
class StudyRankings:
    """Rankings with what else is known about how they came about."""

    title: str
    origin: str
    rankings: Rankings
    #: Name of the run -> case -> content hash of the output that was shown.
    shown: dict[str, dict[str, str]]
    annotators: tuple[AnnotatorFacts, ...] = ()
    notes: tuple[str, ...] = ()
    k: int = 0
    source_noun: str = "source image"


def from_study(study: Study, answers: Sequence[Answer]) -> StudyRankings:
    design = study.design
    notes = []
    if drafts := sum(one.state == "draft" for one in answers):
        noun = "case is" if drafts == 1 else "cases are"
        notes.append(f"{drafts} {noun} only partly ranked and not counted.")
    shown: dict[str, dict[str, str]] = {run.name: {} for run in design.runs}
    for case in design.cases:
        for name in shown.keys() & case.outputs.keys():
            shown[name][case.id] = case.outputs[name].sha256
    facts = tuple(annotator_facts(design, one, answers) for one in design.annotators)
    noun = "source image" if any(case.images for case in design.cases) else "source"
    rankings = from_answers(design, answers)
    return StudyRankings(
        design.title, "study", rankings, shown, facts, tuple(notes), design.k, noun
    )


def from_table(path: Path, k: int = 0) -> StudyRankings:
    rankings = read_rankings(path)
    facts = tuple(_from_ranks(rankings, name) for name in rankings.annotators)
    return StudyRankings(path.stem, "table", rankings, {}, annotators=facts, k=k)


def read_study(
    source: str | Path,
    runs: Sequence[str | Path] = (),
    *,
    database: str | None = None,
    k: int | None = None,
) -> tuple[StudyRankings, list[Run]]:
    """The rankings, and the scored runs to compare with them.

    Runs of a study are found where they were when it was made; those that have gone or have no
    scores yet are named in a note. Runs that are given must be there and scored.
    """
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
        raise InputError(f"{out}: exists and is not a CSV file; choose another --out")
    rankings = from_answers(study.design, _answers(study, database))
    if not rankings.given:
        raise InputError(f"{study.path}: no case has been ranked completely yet")
    try:
        write_text(out, rankings_csv(rankings))
    except OSError as error:
        raise unwritable(out, error) from error
    return sum(map(len, rankings.given.values()))


def _answers(study: Study, database: str | None) -> list[Answer]:
    from medebench.study.server.answer_store import open_store

    if database is None and not (study.path / DATABASE).is_file():
        raise InputError(
            f"{study.path}: nobody has answered yet (there is no {DATABASE}); if the answers are "
            "in another database, name it with --database"
        )
    with open_store(study, database) as store:
        return store.answers()


def _own_runs(study: Study) -> tuple[list[Run], list[str]]:
    found, notes = [], []
    for one in study.design.runs:
        try:
            run = open_run(one.path)
        except InputError:
            notes.append(f"{one.name}: its run has moved or gone; name its folder with --runs.")
            continue
        if run.frame().is_empty():
            notes.append(f"{one.name}: has no scores; run `medebench score`.")
            continue
        found.append(run)
    return found, notes


def annotator_facts(design: Design, mine: Annotator, answers: Iterable[Answer]) -> AnnotatorFacts:
    """What the results, and the administrator meanwhile, are told about one annotator."""
    given = {one.place: one for one in answers if one.annotator == mine.name}
    kinds = [task.kind for task in mine.tasks]
    done = [place for place, one in given.items() if one.state == "done"]
    passed = [
        control_passed(mine.tasks[place], given[place].ranks, design.dimensions)
        for place in done
        if kinds[place] == "control"
    ]
    ranked = [place for place in done if kinds[place] == "case"]
    times = [given[place].seconds for place in ranked]
    return AnnotatorFacts(
        mine.name,
        ranked=len(ranked),
        skipped=sum(o.state == "skipped" and kinds[p] == "case" for p, o in given.items()),
        asked=kinds.count("case"),
        controls_passed=sum(passed),
        controls_failed=len(passed) - sum(passed),
        repeated=sum(kinds[place] == "repeat" for place in done),
        seconds=median(times) if times else None,
    )


def _from_ranks(rankings: Rankings, name: str) -> AnnotatorFacts:
    mine = [key for key in rankings.given if key.annotator == name]
    cases = {key.case for key in mine if key.showing == 1}
    twice = {key.case for key in mine if key.showing == 2}
    return AnnotatorFacts(name, len(cases), 0, len(cases), 0, 0, len(twice), None)
