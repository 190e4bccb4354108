"""The answer in words: made from the numbers, and never saying more than they do."""

from __future__ import annotations

from collections.abc import Sequence

from medebench.analysis.estimate import Estimate
from medebench.analysis.ordering import Standing
from medebench.analysis.published_tables import published_worth
from medebench.page.number import counted, listed, number, p_value, percent
from medebench.study.results.metric_advice import on_metrics
from medebench.study.results.published_rows import between_people
from medebench.study.results.results_model import DimensionResults, StudyResults
from medebench.study.results.study_formats import about, ends, model, percent_ends, places
from medebench.study.results.thresholds_in_words import (
    ALPHA,
    CLOSE,
    FAIR,
    FEW_SOURCES,
    LOOSE,
    active,
    doubts,
    hopeless,
    too_little_agreement,
)

#: What bold means in the tables of metrics.
LEADER = "Bold: the best of the metrics that have a value in at least half of the cases."


def answers(dimension: DimensionResults, results: StudyResults) -> list[str]:
    """A sentence or a few on each: who leads, how far people agree, which metric to believe."""
    return [text for found in parts(dimension, results).values() for text in found]


def parts(dimension: DimensionResults, results: StudyResults) -> dict[str, list[str]]:
    """The answer by what it is about; none of the three is ever empty."""
    return {
        "Models": _order(dimension, results),
        "Agreement": _agreement(dimension, results),
        "Metrics": on_metrics(dimension, results),
    }


def overview(results: StudyResults) -> str:
    """What the study was, in a sentence or two."""
    ranked = active(results)
    people = counted(len(ranked), "person")
    models = len(results.models) - len(results.controls & set(results.models))
    what = counted(models, "model")
    if kept := len(results.models) - models:
        what += f" and {counted(kept, 'control run')}"
    blind = " without knowing whose they were" if results.origin == "study" else ""
    every = "each" if results.shared == results.cases else f"{results.shared:,} of them"
    shared = "" if len(ranked) < 2 else f", {every} by more than one"
    text = f"{people} ranked the outputs of {what}{blind} in {counted(results.cases, 'case')}"
    if results.sources_known:
        text += f" ({counted(results.sources, results.unit)}){shared}."
    else:
        unknown = "Which cases share a source is not known, so they are treated as independent."
        text += f"{shared}. {unknown}"
    silent = [model(one.name) for one in results.annotators if not one.ranked]
    if silent:
        text += f" {listed(silent)} {'has' if len(silent) == 1 else 'have'} not ranked yet."
    return text


def attention(results: StudyResults) -> list[str]:
    """A warning for each annotator whose answers are in doubt."""
    check = "check these answers, and whether the results hold without them."
    doubted = ((one, doubts(one)) for one in results.annotators)
    return [f"{model(one.name)} {listed(found)}: {check}" for one, found in doubted if found]


def _order(dimension: DimensionResults, results: StudyResults) -> list[str]:
    order = dimension.ordering
    known = [one for one in order.standings if one.strength.value is not None]
    models = [one for one in known if one.model not in results.controls]
    above = [one.model for one in known[: known.index(models[0])]] if models else []
    if not known:
        return [f"The models cannot be ordered ({order.reason or 'no ranks'})."]
    if not models:
        return ["Only controls were ranked, so no model leads."]
    first, others = models[0], models[1:]
    people = "The only annotator ranked" if len(active(results)) == 1 else "Annotators ranked"
    who = model(first.model)
    if not others:
        found = [f"The only model is {who}; {_standing(first)}."]
    else:
        found = [f"{people} {who} highest; {_standing(first)}.", _lead(dimension, models, results)]
    if above:
        noun = "The control" if len(above) == 1 else "The controls"
        verb = "ranks" if len(above) == 1 else "rank"
        found.append(f"{noun} {listed([model(one) for one in above])} {verb} above every model.")
    return found


def _standing(one: Standing) -> str:
    parts = []
    if one.preferred.value is not None:
        around = percent_ends(one.preferred.interval)
        often = f"it is preferred to another model in {percent(one.preferred.value)} of pairs"
        parts.append(often + (f" ({around})" if around else ""))
    if one.mean_rank.value is not None:
        parts.append(f"mean rank {about(one.mean_rank)}")
    return ", ".join(parts) or "no further number"


def _lead(dimension: DimensionResults, models: Sequence[Standing], results: StudyResults) -> str:
    """Whether the first place is sure, from the differences to the others."""
    first, second = models[0], models[1]
    level = [one for one in models[1:] if not _sure(dimension, first.model, one.model)]
    few = counted(results.sources, results.unit)
    gap, p = _difference(dimension, first.model, second.model)
    by = ""
    if gap is not None and gap.interval is not None:
        test = ", ".join(filter(None, [ends(gap.interval), p_value(p)]))
        by = f" by {number(gap.value)} in log strength ({test})"
    elif p is not None:  # without an interval the number is the prior's, not people's
        by = f" ({p_value(p)})"
    where = f"; in the resamples its place is {places(first.places)}" if first.places else ""
    if level and hopeless(results.sources, len(dimension.ordering.differences)):
        ranked = counted(len(dimension.ordering.standings), "model")
        kept = " and controls" if results.controls & set(results.models) else ""
        return (
            f"Whether the lead is significant cannot be said: {few} are too few to tell "
            f"{ranked}{kept} apart{where}."
        )
    if level:
        names = listed([model(one.model) for one in level])
        behind = by.replace(" by ", ", behind by ", 1)
        after = f"; {model(second.model)} is next{behind}" if by else ""
        return f"The lead is not significant: it cannot be told apart from {names}{after}{where}."
    rest = "" if len(models) == 2 else f", and of the {len(models) - 2} behind that one"
    said = f"it is ahead of {model(second.model)}{by}{rest}{where}."
    if results.sources < FEW_SOURCES:
        return f"The tests call the lead significant, but {few} are few: {said}"
    return f"The lead is significant: {said}"


def _difference(
    dimension: DimensionResults, first: str, second: str
) -> tuple[Estimate | None, float | None]:
    return dimension.ordering.differences.get((first, second), (None, None))


def _sure(dimension: DimensionResults, first: str, second: str) -> bool:
    """A lead that nobody ever contradicted has no interval, since it has no upper end."""
    gap, p = _difference(dimension, first, second)
    beyond = gap is not None and (gap.interval is None or gap.interval.low > 0)
    return beyond and p is not None and p < ALPHA


def _agreement(dimension: DimensionResults, results: StudyResults) -> list[str]:
    rho, alpha = dimension.agreement.spearman, dimension.agreement.alpha
    if len(active(results)) < 2:
        return [
            "Only one person ranked: whether others would agree is unknown, and everything here is "
            "that one person's view."
        ]
    if rho.value is None:
        why = rho.reason or "no case was ranked by two"
        return [f"How far annotators agree is unknown: {why}."]
    grades = {CLOSE: "agree closely", FAIR: "agree fairly well", LOOSE: "agree loosely"}
    words = next((text for low, text in grades.items() if rho.value >= low), "hardly agree")
    text = f"Annotators {words}: mean pairwise Spearman {about(rho)}"
    if alpha.value is not None:
        text += f", Krippendorff's alpha {number(alpha.value)}"
    printed = between_people(results, dimension.key)
    if printed is not None:
        paper = published_worth()
        text += (
            f"; in another study, the paper's, {paper.doubt_brief}, {paper.people} people reached "
            f"{number(printed)}"
        )
    found = [f"{text}."]
    if too_little_agreement(dimension.agreement):
        found.append(
            "That is too little: no metric can be measured against people who differ this "
            "much, and none is recommended."
        )
    return found
