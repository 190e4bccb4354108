"""`study_results`: from rankings and ledgers to everything a study says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from medebench.analysis.agreement import agreement, self_agreement
from medebench.analysis.estimate import Estimate
from medebench.analysis.ordering import order_models
from medebench.analysis.worth import LEAST_MODELS, metric_worths
from medebench.errors import InputError
from medebench.runs.run_folder import Run, open_run
from medebench.study.design import Study
from medebench.study.rankings import Rankings
from medebench.study.rankings_source import StudyRankings, read_study
from medebench.study.results.answer_text import answers as in_words
from medebench.study.results.ledger_scores import Scores, read_scores
from medebench.study.results.results_model import AnnotatorFacts, DimensionResults, StudyResults


def study_results(
    source: str | Path | Study | StudyRankings,
    runs: Sequence[Run | str | Path] = (),
    *,
    out: str | Path | None = None,
    without: Iterable[str] = (),
    anonymous: bool = False,
    database: str | None = None,
    k: int | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> StudyResults:
    """How far people agree, which model they prefer, and which metric stands in for them.

    Args:
        source: a study or its folder, or a CSV file with the columns annotator, case, dimension,
            model and rank (1 is best, equal is a tie).
        runs: scored runs, opened or as folders; by default those of the study.
        out: a folder to write tables and figures to.
        without: annotators to leave out.
        anonymous: whether to call annotators 1, 2, ... in what is shown around.
        database: where the answers are, if not in the study's folder.
        k: for a CSV file: which output of each case was ranked.
        resamples: of the bootstrap.
        seed: random seed of the bootstrap.

    Returns:
        Agreement and order of the models in each dimension and, with runs, what each metric is
        worth.

    >>> rows = ["annotator,case,dimension,model,rank"]
    >>> ranks = "x,1", "y,2"
    >>> rows += [f"{who},{case},vq,{rank}" for who in "ab" for case in "1234" for rank in ranks]
    >>> table = tmp / "rankings.csv"
    >>> _ = table.write_text("\\n".join(rows))
    >>> mb.study_results(table)
    StudyResults('rankings', 2 annotators, 2 models, 4 cases)
    """
    if isinstance(source, StudyRankings):
        told, opened = source, [one if isinstance(one, Run) else open_run(one) for one in runs]
    else:
        paths = [one.path if isinstance(one, Run) else one for one in runs]
        folder = source.path if isinstance(source, Study) else source
        told, opened = read_study(folder, paths, database=database, k=k)
    told = _without(told, list(dict.fromkeys(without)))
    results = _results(_anonymous(told) if anonymous else told, opened, resamples, seed)
    if out is not None:
        from medebench.study.results.results_folder import write_results

        write_results(results, out)
    return results


def _results(told: StudyRankings, runs: Sequence[Run], resamples: int, seed: int) -> StudyResults:
    rankings = told.rankings
    if not any(key.showing == 1 for key in rankings.given):
        raise InputError(f"{told.title}: no case has been ranked completely yet")
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
            worths = metric_worths(among, scores.arrays(among), resamples=resamples, seed=seed)
        order = order_models(ranked, resamples=resamples, seed=seed)
        label, agreed = rankings.names.get(dimension, ""), agreement(ranked)
        found.append(DimensionResults(dimension, agreed, order, worths, label=label))
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
        told.source_noun,
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


def _without(told: StudyRankings, names: list[str]) -> StudyRankings:
    known = told.rankings.annotators
    if unknown := [name for name in names if name not in known]:
        raise InputError(
            f"--without {unknown[0]}: no annotator of this name; there are {', '.join(known)}"
        )
    if not names:
        return told
    notes = (*told.notes, f"Left out on request: {', '.join(names)}.")
    left = tuple(one for one in told.annotators if one.name not in names)
    return replace(told, rankings=told.rankings.without(names), annotators=left, notes=notes)


def _anonymous(told: StudyRankings) -> StudyRankings:
    numbered = enumerate(told.rankings.annotators, start=1)
    names = {name: f"annotator {number}" for number, name in numbered}
    people = tuple(replace(one, name=names[one.name]) for one in told.annotators)
    return replace(told, rankings=told.rankings.renamed(names), annotators=people)


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
