"""The tables of a study, each made once for page, Markdown, LaTeX and terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from medebench.analysis.estimate import Estimate
from medebench.page.number import NONE, between, number, percent, percent_between
from medebench.page.palette import Colour
from medebench.page.score_columns import STAND_IN, Score
from medebench.page.table import Cell, Column, Group, Row, Table, cell
from medebench.page.table_text import NEEDS
from medebench.study.results.answer_text import LEADER, overview
from medebench.study.results.figures.standings import model_order
from medebench.study.results.published_rows import printed
from medebench.study.results.published_rows import shown as shown_beside
from medebench.study.results.results_model import DimensionResults, StudyResults
from medebench.study.results.study_formats import metric_label, places
from medebench.study.results.thresholds_in_words import (
    ALPHA,
    doubts,
    leader,
    metric_order,
    race,
    standing_of,
)

#: How many metrics a terminal shows.
_MOST = 12


def latex(results: StudyResults) -> str:
    """Metrics against people, and the models as people rank them, for a paper."""
    found = [metrics(results)] if any(one.worths for one in results.dimensions) else []
    found.append(standings(results))
    said = (replace(one, notes=[*one.notes, overview(results)]) for one in found)
    return "\n".join([NEEDS, *(one.latex() for one in said)])


def terminal(results: StudyResults) -> list[Table]:
    found = [standings(results)]
    return [*found, metrics(results, _MOST)] if any(d.worths for d in results.dimensions) else found


def standings(results: StudyResults, colours: Mapping[str, Colour] | None = None) -> Table:
    rows = [
        Row(
            name,
            [_standing(one, name, results, whole=bool(colours)) for one in results.dimensions],
            "control" if name in results.controls else "",
            colour=colours[name].variable if colours else "",
            control=name in results.controls,
        )
        for name in model_order(results)
    ]
    caption = (
        "How often people rank an output of the model above that of another model; a tie counts "
        f"half. With 95 % intervals from resampling {results.unit}s; then the mean rank (1 "
        "is best) and the places it takes in 95 % of the resamples. Bold: the model that leads."
    )
    return Table(
        [Column("Model", "left"), *(Column(one.name) for one in results.dimensions)],
        [Group(rows)],
        "People prefer",
        caption,
        label="tab:medebench-people-standings",
    )


def _standing(
    dimension: DimensionResults, name: str, results: StudyResults, *, whole: bool
) -> Cell:
    found = [one for one in dimension.ordering.standings if one.model == name]
    if not found or found[0].preferred.value is None:
        why = found[0].preferred.reason if found else ""
        return Cell(NONE, reason=why or dimension.ordering.reason or "not ranked")
    one, preferred = found[0], found[0].preferred
    around = f" ({between(one.mean_rank.interval)})" if whole and one.mean_rank.interval else ""
    return Cell(
        percent(preferred.value),
        percent_between(preferred.interval),
        f"rank {number(one.mean_rank.value)}{around}, place {places(one.places)}",
        name == leader(dimension, results.controls),
        value=preferred.value,
        reason=preferred.reason,
    )


def metrics(results: StudyResults, most: int | None = None, *, published: bool = False) -> Table:
    """Of very many metrics the best `most`, and whoever is first in a dimension."""
    shown = [one for one in results.dimensions if one.worths]
    names = metric_order(results)
    races = {one.key: race(one.worths) for one in shown if one.worths}
    firsts = {found.first.metric for found in races.values() if found}
    most = len(names) if most is None else most
    best = {*names[: max(0, most - len(firsts - set(names[:most])))], *firsts}
    kept = [name for name in names if name in best]
    rows = [
        Row(
            metric_label(name, score),
            [_worth(one, name, score if published else None) for one in shown],
            name if name != metric_label(name, score) else "",
            stand_in=bool(score and score.stand_in),
        )
        for name in kept
        for score in [results.scores.get(name)]
    ]
    ceilings = [cell(one.worths.ceiling) for one in shown if one.worths]
    person = Row("One person against the mean of the others", ceilings, aside=True)
    notes = [
        f"Spearman's rho with people, per case over its models, averaged over cases, with 95 % "
        f"intervals over {results.unit}s (one person: jackknife), and in how many "
        f"of the cases, if not in all. {LEADER} † clearly behind "
        f"it (p < {ALPHA} after Holm's correction, on the cases that both have)."
    ]
    papers = shown_beside(results) if published else []
    if papers:
        notes.append(f"Published: the paper's value, from another study. {papers[0].doubt}")
    if left := len(names) - len(kept):
        notes.append(f"{left} more metrics are in metrics.csv.")
    if any(row.stand_in for row in rows):
        notes.append(f"* {STAND_IN}.")
    return Table(
        [Column("Metric", "left"), *(Column(one.name) for one in shown)],
        [Group([person]), Group(rows)],
        "Metrics against people",
        notes=notes,
        label="tab:medebench-people-metrics",
    )


def _worth(dimension: DimensionResults, name: str, score: Score | None) -> Cell:
    """With the paper's number below, where a score is given and the paper has one."""
    assert dimension.worths is not None
    own = [one for one in dimension.worths.metrics if one.metric == name]
    if not own:
        return Cell(NONE)
    place = standing_of(own[0], race(dimension.worths))
    mark = "†" if place == "behind" else ""
    made = cell(own[0].rho, bold=place == "first", mark=mark)
    paper = printed(score, dimension.key)
    if paper is None:
        return made
    beside = f"published{'' if paper.exact else ' (relative)'} {number(paper.rho)}"
    return replace(made, part="; ".join(filter(None, [made.part, beside])))


def agreement(results: StudyResults) -> Table:
    heads = ["Spearman’s ρ", "Kendall’s τ-b", "Krippendorff’s α", "same order"]
    rows = []
    for dimension in results.dimensions:
        one = dimension.agreement
        same = one.same_order
        share = Cell(NONE, reason=same.reason)
        if same.value is not None:
            share = Cell(percent(same.value), percent_between(same.interval), value=same.value)
        cells = [*map(cell, (one.spearman, one.kendall, one.alpha)), share]
        rows.append(Row(dimension.name, cells))
    unknown = ((one.name, one.agreement.spearman.reason) for one in results.dimensions)
    return Table(
        [Column("Dimension", "left"), *map(Column, heads)],
        [Group(rows)],
        caption="Same order: share of the pairs of models that two people put in the same order.",
        notes=[f"{name}: {reason}" for name, reason in unknown if reason],
    )


def annotators(results: StudyResults) -> Table:
    keys = [one.key for one in results.dimensions]
    heads = ["ranked", "skipped", "controls passed", "seconds per case"]
    rows = []
    for one in results.annotators:
        controls = one.controls_passed + one.controls_failed
        texts = [
            f"{one.ranked} of {one.asked}",
            str(one.skipped),
            f"{one.controls_passed} of {controls}" if controls else NONE,
            number(one.seconds, 0),
        ]
        alone = [cell(one.consistency.get(key, Estimate())) for key in keys]
        rows.append(Row(one.name, [*map(Cell, texts), *alone, Cell("; ".join(doubts(one)))]))
    return Table(
        [
            Column("Annotator", "left"),
            *map(Column, [*heads, *(f"self-agreement, {d.name}" for d in results.dimensions)]),
            Column("in doubt", "left"),
        ],
        [Group(rows)],
        caption="Controls: cases with a ruined output among the others. Self-agreement: "
        "Spearman’s ρ on cases that were shown twice. Seconds: median.",
    )
