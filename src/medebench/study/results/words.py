"""The answer in words: made from the numbers, and never saying more than they do."""

from __future__ import annotations

from collections.abc import Sequence

from medebench.analysis.ordering import Standing
from medebench.analysis.ranked import Estimate
from medebench.report.published import published_worth
from medebench.study.results.advice import on_metrics
from medebench.study.results.model import DimensionResults, StudyResults
from medebench.study.results.published import between_people
from medebench.study.results.texts import (
    between,
    counted,
    ends,
    listed,
    model,
    number,
    p_words,
    percent,
    percent_ends,
    pictures,
    places,
)
from medebench.study.results.verdict import (
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
LEADER = "Bold: the leader, the highest of the metrics with a number in at least half of the cases."


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
        text += f" ({counted(results.sources, 'source picture')}){shared}."
    else:
        text += (
            f"{shared}. Which cases share a source picture is not known: they are taken as "
            "independent."
        )
    silent = [model(one.name) for one in results.annotators if not one.ranked]
    if silent:
        text += f" {listed(silent)} {'has' if len(silent) == 1 else 'have'} not ranked yet."
    return text


def pictures_of(results: StudyResults) -> str:
    """What intervals are taken over."""
    return "source pictures" if results.sources_known else "cases"


def attention(results: StudyResults) -> list[str]:
    """A warning for each annotator whose answers are in doubt."""
    return [
        f"{model(one.name)} {listed(found)}: look at these answers, and whether the results hold "
        f"without them."
        for one in results.annotators
        if (found := doubts(one))
    ]


def _order(dimension: DimensionResults, results: StudyResults) -> list[str]:
    order = dimension.ordering
    known = [one for one in order.standings if one.strength.value is not None]
    models = [one for one in known if one.model not in results.controls]
    above = [one.model for one in known[: known.index(models[0])]] if models else []
    if not known:
        return [f"The models cannot be put in order ({order.reason or 'no ranks'})."]
    if not models:
        return ["Only controls were ranked, so there is no model to put first."]
    first, others = models[0], models[1:]
    people = "The one annotator puts" if len(active(results)) == 1 else "People put"
    who = model(first.model)
    if not others:
        found = [f"The only model is {who}; {_standing(first)}."]
    else:
        found = [
            f"{people} {who} first; {_standing(first)}.",
            _lead(dimension, models, results),
        ]
    if above:
        noun = "The control" if len(above) == 1 else "The controls"
        verb = "is" if len(above) == 1 else "are"
        found.append(f"{noun} {listed([model(one) for one in above])} {verb} above every model.")
    return found


def _standing(one: Standing) -> str:
    parts = []
    if one.preferred.value is not None:
        around = percent_ends(one.preferred.interval)
        parts.append(
            f"it is preferred to another in {percent(one.preferred.value)} of pairs"
            + (f" ({around})" if around else "")
        )
    if one.mean_rank.value is not None:
        parts.append(f"mean rank {between(one.mean_rank)}")
    return ", ".join(parts) or "no further number"


def _lead(dimension: DimensionResults, models: Sequence[Standing], results: StudyResults) -> str:
    """Whether the first place is sure, from the differences to the others."""
    first, second = models[0], models[1]
    level = [one for one in models[1:] if not _sure(dimension, first.model, one.model)]
    few = pictures(results.sources, results.sources_known)
    gap, p = _difference(dimension, first.model, second.model)
    by = ""
    if gap is not None and gap.interval is not None:
        test = ", ".join(filter(None, [ends(gap.interval), p_words(p)]))
        by = f" by {number(gap.value)} in log strength ({test})"
    elif p is not None:  # without an interval the number is the prior's, not people's
        by = f" ({p_words(p)})"
    where = (
        "" if first.places is None else f"; in the resamples its place is {places(first.places)}"
    )
    if level and hopeless(results.sources, len(dimension.ordering.differences)):
        ranked = counted(len(dimension.ordering.standings), "model")
        kept = " and controls" if results.controls & set(results.models) else ""
        return (
            f"Whether that is sure cannot be said: {few} are too few for this test to tell "
            f"{ranked}{kept} apart{where}."
        )
    if level:
        names = listed([model(one.model) for one in level])
        after = (
            f"; {model(second.model)} is next{by.replace(' by ', ', behind by ', 1)}" if by else ""
        )
        return f"That is not sure: it cannot be told apart from {names}{after}{where}."
    rest = "" if len(models) == 2 else f", and of the {len(models) - 2} behind that one"
    said = f"it is ahead of {model(second.model)}{by}{rest}{where}."
    if results.sources < FEW_SOURCES:
        return f"The tests call that sure, but {few} are few: {said}"
    return f"That is sure: {said}"


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
            "Only one person ranked: whether another would agree is not known, and all of this is "
            "about that one person."
        ]
    if rho.value is None:
        return [f"How far people agree is not known: {rho.reason or 'no case was ranked by two'}."]
    words = (
        "agree closely"
        if rho.value >= CLOSE
        else "agree fairly well"
        if rho.value >= FAIR
        else "agree loosely"
        if rho.value >= LOOSE
        else "hardly agree"
    )
    text = f"People {words}: mean Spearman of two of them {between(rho)}"
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
            "That is too little for the question: against people who differ this much no metric "
            "can be measured, and none is recommended."
        )
    return found
