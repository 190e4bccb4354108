"""`study_results`: from rankings and ledgers to everything a study says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from medebench.analysis.agreement import agreement, self_agreement
from medebench.analysis.ordering import order_models
from medebench.analysis.ranked import Estimate
from medebench.analysis.worth import LEAST_MODELS, metric_worths
from medebench.errors import InputError
from medebench.runs.run import Run
from medebench.study.design import Study
from medebench.study.rankings import Answered, Rankings, from_answers
from medebench.study.results.attention import annotator_facts
from medebench.study.results.model import AnnotatorFacts, DimensionResults, StudyResults
from medebench.study.results.scores import Scores, read_scores
from medebench.study.results.words import answers as in_words
from medebench.study.table import read_rankings


@dataclass(frozen=True)
class Told:
    """Rankings with what else is known about how they came about."""

    title: str
    origin: str
    rankings: Rankings
    #: Name of the run -> case -> content hash of the output that was shown.
    shown: dict[str, dict[str, str]]
    annotators: tuple[AnnotatorFacts, ...] = ()
    notes: tuple[str, ...] = ()
    k: int = 0


def from_study(study: Study, answers: Sequence[Answered]) -> Told:
    design = study.design
    drafts = sum(one.state == "draft" for one in answers)
    notes = []
    if drafts:
        noun = "case is" if drafts == 1 else "cases are"
        notes.append(f"{drafts} {noun} ranked in part and not counted.")
    return Told(
        design.title,
        "study",
        from_answers(design, answers),
        {
            run.name: {
                case.id: case.outputs[run.name].sha256
                for case in design.cases
                if run.name in case.outputs
            }
            for run in design.runs
        },
        tuple(annotator_facts(design, one, answers) for one in design.annotators),
        tuple(notes),
        design.k,
    )


def from_table(path: Path, k: int = 0) -> Told:
    rankings = read_rankings(path)
    facts = tuple(_from_ranks(rankings, name) for name in rankings.annotators)
    return Told(path.stem, "table", rankings, {}, annotators=facts, k=k)


def study_results(
    told: Told,
    runs: Sequence[Run] = (),
    *,
    without: Iterable[str] = (),
    anonymous: bool = False,
    resamples: int = 2000,
    seed: int = 0,
) -> StudyResults:
    """Agreement, order of the models and, for the scores of `runs`, their worth.

    `anonymous` calls the annotators 1, 2, ... in what is to be shown around.
    """
    told = _without(told, list(dict.fromkeys(without)))
    if anonymous:
        told = _anonymous(told)
    rankings = told.rankings
    if not any(key.showing == 1 for key in rankings.given):
        raise InputError(f"{told.title}: no case has been ranked to the end yet")
    scores = read_scores(runs, rankings, told.shown, told.k) if runs else Scores()
    rankings = scores.with_sources(rankings)
    controls = rankings.controls | scores.controls
    compared = _compared(rankings.models, scores, controls)
    found = []
    for dimension in rankings.dimensions:
        ranked = rankings.ranked(dimension)
        if not ranked.cases:
            continue
        worths = None
        if scores.values:
            among = ranked.of(compared)
            values = scores.arrays(among)
            worths = metric_worths(among, values, resamples=resamples, seed=seed)
        order = order_models(ranked, resamples=resamples, seed=seed)
        found.append(DimensionResults(dimension, agreement(ranked), order, worths))
    people = _people_by_case(rankings)
    results = StudyResults(
        told.title,
        told.origin,
        _consistent(told.annotators, rankings),
        rankings.models,
        controls,
        len(people),
        sum(len(names) > 1 for names in people.values()),
        len({rankings.cases[case].source for case in people}),
        tuple(found),
        scores.described,
        scores.left_out,
        compared if scores.values else (),
        rankings.sources_known,
        (*told.notes, *_gaps(rankings, people), *scores.notes),
    )
    spoken = tuple(replace(one, answer=in_words(one, results)) for one in results.dimensions)
    return replace(results, dimensions=spoken)


def _compared(models: Sequence[str], scores: Scores, controls: frozenset[str]) -> tuple[str, ...]:
    """Those that have a run; without controls, which are easily told apart, if enough remain."""
    have = tuple(name for name in models if name in scores.runs)
    real = tuple(name for name in have if name not in controls)
    return real if len(real) >= LEAST_MODELS else have


def _people_by_case(rankings: Rankings) -> dict[str, set[str]]:
    """Who compared anything in a case, for the first time."""
    found: dict[str, set[str]] = {}
    for key, ranks in rankings.given.items():
        if key.showing == 1 and len(ranks) > 1:
            found.setdefault(key.case, set()).add(key.annotator)
    return found


def _gaps(rankings: Rankings, people: dict[str, set[str]]) -> list[str]:
    notes = []
    whole = len(rankings.models)
    if partial := sum(len(ranks) < whole for ranks in rankings.given.values()):
        notes.append(f"{partial} of {len(rankings.given)} rankings leave out a model.")
    if lone := {key.case for key in rankings.given if key.showing == 2} - set(people):
        noun = "case has" if len(lone) == 1 else "cases have"
        notes.append(f"{len(lone)} {noun} a second ranking, but no first: not used.")
    return notes


def _without(told: Told, names: list[str]) -> Told:
    known = told.rankings.annotators
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"--without {unknown[0]}: no annotator of this name; {', '.join(known)}")
    if not names:
        return told
    return replace(
        told,
        rankings=told.rankings.without(names),
        annotators=tuple(one for one in told.annotators if one.name not in names),
        notes=(*told.notes, f"Left out by wish: {', '.join(names)}."),
    )


def _anonymous(told: Told) -> Told:
    names = {
        name: f"annotator {number}" for number, name in enumerate(told.rankings.annotators, start=1)
    }
    return replace(
        told,
        rankings=told.rankings.renamed(names),
        annotators=tuple(replace(one, name=names[one.name]) for one in told.annotators),
    )


def _from_ranks(rankings: Rankings, name: str) -> AnnotatorFacts:
    mine = [key for key in rankings.given if key.annotator == name]
    cases = {key.case for key in mine if key.showing == 1}
    twice = {key.case for key in mine if key.showing == 2}
    return AnnotatorFacts(name, len(cases), 0, len(cases), 0, 0, len(twice), None)


def _consistent(people: Sequence[AnnotatorFacts], rankings: Rankings) -> tuple[AnnotatorFacts, ...]:
    found: dict[str, dict[str, Estimate]] = {one.name: {} for one in people}
    for dimension in rankings.dimensions:
        again = rankings.ranked(dimension, 2)
        before = rankings.ranked(dimension, only=again.cases)
        again = rankings.ranked(dimension, 2, only=before.cases)
        if before.cases:
            for name, (spearman, _) in self_agreement(before, again).items():
                found[name][dimension] = spearman
    return tuple(replace(one, consistency=found[one.name]) for one in people)
