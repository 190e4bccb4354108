"""The results in full precision: CSV for spreadsheets and scripts, JSON for machines.

A number that is not there is an empty cell (null), and the reason stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from medebench.analysis.estimate import Estimate
from medebench.analysis.interval import Interval
from medebench.analysis.published_tables import published_worth
from medebench.page.number import finite
from medebench.page.table import csv_records
from medebench.study.results.answer_text import attention, overview
from medebench.study.results.published_rows import between_people, printed
from medebench.study.results.results_model import StudyResults
from medebench.study.results.study_formats import metric_label
from medebench.study.results.thresholds_in_words import (
    compared_controls,
    doubts,
    grade,
    race,
    standing_of,
)

Row = dict[str, Any]
_EXTENT = ("cases", "shared", "sources", "sources_known")
_COUNTS = ("ranked", "skipped", "asked", "controls_passed", "controls_failed", "repeated")


def csv_files(results: StudyResults) -> dict[str, str]:
    """name -> text of all tables."""
    made = _tables(results)
    return {f"{name}.csv": csv_records(rows) for name, rows in made.items() if rows}


def _tables(results: StudyResults) -> dict[str, list[Row]]:
    made = {
        "annotators": annotator_rows(results),
        "agreement": agreement_rows(results),
        "standings": standing_rows(results),
        "differences": difference_rows(results),
        "metrics": metric_rows(results),
    }
    return {name: list(rows) for name, rows in made.items()}


def annotator_rows(results: StudyResults) -> Iterator[Row]:
    for one in results.annotators:
        row: Row = {"annotator": one.name, **{name: getattr(one, name) for name in _COUNTS}}
        row["seconds_per_case"] = finite(one.seconds)
        for dimension in results.dimensions:
            row |= _estimate(one.consistency.get(dimension.key), f"self_{dimension.key}_")
        yield row | {"doubts": "; ".join(doubts(one))}


def agreement_rows(results: StudyResults) -> Iterator[Row]:
    for dimension in results.dimensions:
        one = dimension.agreement
        measures = {
            "spearman": one.spearman,
            "kendall_tau_b": one.kendall,
            "krippendorff_alpha": one.alpha,
            "same_order": one.same_order,
        }
        if dimension.worths is not None:
            measures["one_against_the_others"] = dimension.worths.ceiling
        rows = [("", "", measure, found) for measure, found in measures.items()]
        rows += [(*pair, "spearman", found) for pair, found in one.pairs.items()]
        for first, second, measure, found in rows:
            who = {"annotator_a": first, "annotator_b": second, "measure": measure}
            yield {"dimension": dimension.key, **who, **_estimate(found, "")}


def standing_rows(results: StudyResults) -> Iterator[Row]:
    for dimension in results.dimensions:
        order = dimension.ordering
        for place, one in enumerate(order.standings, start=1):
            low, high = _ends(one.places)
            yield {
                "dimension": dimension.key,
                "place": place,
                "model": one.model,
                "control": "yes" if one.model in results.controls else "no",
                **_estimate(one.mean_rank, "mean_rank_", reason=False),
                **_estimate(one.strength, "strength_", reason=False),
                **_estimate(one.preferred, "preferred_", reason=False),
                "place_low": low,
                "place_high": high,
                "reason": _reasons(one.mean_rank, one.strength, one.preferred) or order.reason,
            }


def difference_rows(results: StudyResults) -> Iterator[Row]:
    for dimension in results.dimensions:
        for (better, worse), (gap, p) in dimension.ordering.differences.items():
            pair = {"dimension": dimension.key, "better": better, "worse": worse}
            found = _estimate(gap, "")
            reason = found.pop("reason")
            yield {**pair, **found, "p_holm": finite(p), "reason": reason}


def metric_rows(results: StudyResults) -> Iterator[Row]:
    """A row for each metric and dimension; then one for each metric that took no part at all."""
    controls = bool(compared_controls(results))
    for dimension in results.dimensions:
        worths = dimension.worths
        if worths is None:
            continue
        found = race(worths)
        for one in worths.metrics:
            paper = printed(results.scores.get(one.metric), dimension.key)
            yield {
                "dimension": dimension.key,
                **_metric(one.metric, results),
                **_estimate(one.rho, "rho_", reason=False),
                "corrected_low": _ends(one.corrected)[0],
                "corrected_high": _ends(one.corrected)[1],
                "sources": one.sources,
                **_estimate(one.tau, "tau_", reason=False),
                "best_share": finite(one.best),
                **_estimate(one.behind, "behind_", reason=False),
                "p_holm": finite(one.p),
                "standing": standing_of(one, found),
                **_estimate(one.gap, "person_gap_", reason=False),
                "grade": grade(one, with_controls=controls),
                "published_rho": paper.rho if paper else None,
                "published_row": paper.row if paper else "",
                "published_exact": "" if paper is None else "yes" if paper.exact else "no",
                "published_doubt": paper.doubt if paper else "",
                "reason": _reasons(one.rho, one.tau, one.behind, one.gap),
            }
    for metric, reason in results.left_out.items():
        yield {"dimension": "", **_metric(metric, results), "reason": reason}


def _metric(name: str, results: StudyResults) -> Row:
    score = results.scores.get(name)
    return {
        "metric": name,
        "label": metric_label(name, score),
        "better": score.better if score else "",
        "judge": score.judge if score else "",
        "stand_in": "" if score is None else "yes" if score.stand_in else "no",
        "encoder": score.encoder if score else "",
    }


def results_json(results: StudyResults) -> Row:
    """Everything, with the names of the CSV files' columns."""
    return {
        "title": results.title,
        "origin": results.origin,
        "overview": overview(results),
        "models": list(results.models),
        "controls": sorted(results.controls),
        **{name: getattr(results, name) for name in _EXTENT},
        "compared": list(results.compared),
        "warnings": attention(results),
        "notes": list(results.notes),
        "dimensions": [
            {
                "dimension": one.key,
                "name": one.name,
                "answer": list(one.answer),
                "ties": finite(one.ordering.ties),
                "reason": one.ordering.reason,
                "published_between_people": paper,
                "published_doubt": None if paper is None else published_worth().doubt,
            }
            for one in results.dimensions
            for paper in [between_people(results, one.key)]
        ],
        **{name: [_nulls(row) for row in rows] for name, rows in _tables(results).items()},
    }


def _nulls(row: Row) -> Row:
    """Words for yes and no are for spreadsheets."""
    truth = {"yes": True, "no": False, "": None}
    flags = ("control", "stand_in", "published_exact")
    return {key: truth[value] if key in flags else value for key, value in row.items()}


def _estimate(one: Estimate | None, prefix: str, *, reason: bool = True) -> Row:
    name = prefix.rstrip("_") or "value"
    names = [name, *(f"{prefix}{part}" for part in ("low", "high", "n", "of", "reason"))]
    if one is None:  # there was nothing to estimate; the same columns, all of them empty
        found: Row = dict.fromkeys(names)
    else:
        cells = finite(one.value), *_ends(one.interval), one.n, one.of, one.reason
        found = dict(zip(names, cells, strict=True))
    if not reason:
        del found[f"{prefix}reason"]
    return found


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (finite(interval.low), finite(interval.high))


def _reasons(*found: Estimate | None) -> str:
    return "; ".join(dict.fromkeys(one.reason for one in found if one and one.reason))
