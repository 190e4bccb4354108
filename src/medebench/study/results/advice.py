"""Which metric to believe, in words."""

from __future__ import annotations

from medebench.analysis.ranked import Estimate
from medebench.analysis.worth import MetricWorth, Worths
from medebench.study.results.model import DimensionResults, StudyResults
from medebench.study.results.texts import between, code, counted, listed, number, p_words, percent
from medebench.study.results.verdict import (
    FEW_SOURCES,
    Race,
    grade,
    race,
    too_little_agreement,
)


def on_metrics(dimension: DimensionResults, results: StudyResults) -> list[str]:
    """Whether a metric stands in for people here, how sure that is, and what to mind."""
    worths = dimension.worths
    if worths is None:
        return ["No run was given, so no metric was compared with people."]
    found = race(worths)
    if found is None:
        reasons = {one.rho.reason for one in worths.metrics if one.rho.reason}
        why = f" ({listed(sorted(reasons), 1)})" if reasons else ""
        return [f"No metric could be compared with people{why}."]
    first = found.first
    said = f"{code(first.metric)} at {_rho(first)}"
    if results.sources < FEW_SOURCES:
        few = counted(results.sources, "source picture")
        return [
            f"Which metric follows people cannot be said from {few}, at least {FEW_SOURCES} are "
            f"needed; highest here is {said}."
        ]
    verdict = grade(first.rho, worths.ceiling, results.sources)
    if verdict == "unknown":
        return [f"Highest of the metrics is {said}; without an interval that says little."]
    if too_little_agreement(dimension.agreement):
        return [f"Highest of the metrics is {said}."]
    if verdict == "does not follow":
        text = f"No metric can be said to follow people here: the best, {said}"
        return [f"{text}, has an interval that reaches 0 or below.", *_against(worths)]
    lead = {
        "stands in": f"{code(first.metric)} stands in for people: {_rho(first)}",
        "follows": f"{code(first.metric)} follows people: {_rho(first)}",
        "follows weakly": f"Best is {code(first.metric)}, which follows people only weakly: "
        f"{_rho(first)}",
    }[verdict]
    share = "" if first.best is None else f", first in {percent(first.best)} of resamples"
    return [
        f"{lead}{share}.",
        *_others(found),
        *_sparse(found, worths),
        *_ceiling(first, worths.ceiling, verdict),
        *_easy(results),
        *_stand_in(found, results),
        *_against(worths),
    ]


def _rho(one: MetricWorth) -> str:
    return f"rho {between(one.rho, 'case')}"


def _others(found: Race) -> list[str]:
    if not found.level and not found.behind:
        return ["It is the only metric, so there was nothing to compare it with."]
    if not found.level:
        after = found.behind[0]
        gap = after.behind.value if after.behind else None
        far = "" if gap is None else f"{number(gap)} behind, "
        return [f"It is clearly ahead of the next ({code(after.metric)}, {far}{p_words(after.p)})."]
    names = listed([code(one.metric) for one in found.level])
    whom = names if len(found.level) == 1 else f"{len(found.level)} others: {names}"
    return [f"It cannot be told apart from {whom}."]


def _sparse(found: Race, worths: Worths) -> list[str]:
    """Metrics that look better, but on a few of the cases only."""
    best = found.first.rho.value or 0.0
    above = [
        f"{code(one.metric)} ({_rho(one)})"
        for one in worths.metrics
        if one.best is None and one.rho.value is not None and one.rho.value > best
    ]
    if not above or found.first.best is None:
        return []
    return [f"Higher, but in too few of the cases to take part: {listed(above)}."]


def _ceiling(first: MetricWorth, ceiling: Estimate, verdict: str) -> list[str]:
    if ceiling.value is None or first.rho.value is None:
        return ["With no second person there is no telling how much a metric could reach."]
    person = f"One person predicts the others at {number(ceiling.value)}"
    gap = ceiling.value - first.rho.value
    if verdict == "stands in":
        near = "as well as" if gap <= 0 else "nearly as well as"
        return [f"{person}, so it ranks models {near} one more person would."]
    if gap <= 0:
        return [f"{person}: people are no better a guide to each other here."]
    return [f"{person}, {number(gap)} above: it does not replace people."]


def _easy(results: StudyResults) -> list[str]:
    """What is ruined or copied is easily told from what is not; a correlation profits from that."""
    controls = len(results.controls & set(results.models))
    if not controls:
        return []
    verb = "is a control" if controls == 1 else "are controls"
    return [
        f"{controls} of the {len(results.models)} ranked {verb}, easily told from the rest: among "
        "models alone the correlation may be lower."
    ]


def _stand_in(found: Race, results: StudyResults) -> list[str]:
    """The offline judge measures pixels against the reference; it is no model that looks."""
    names = [
        code(one.metric)
        for one in (found.first, *found.level)
        if (score := results.scores.get(one.metric)) and score.stand_in
    ]
    if not names:
        return []
    verb = "comes" if len(names) == 1 else "come"
    return [
        f"{listed(names)} {verb} from the offline stand-in for a judge: how well a real judge "
        "follows people is not known from this."
    ]


def _against(worths: Worths) -> list[str]:
    against = [
        code(one.metric)
        for one in worths.metrics
        if one.rho.interval is not None and one.rho.interval.high < 0
    ]
    if not against:
        return []
    verb = "ranks" if len(against) == 1 else "rank"
    return [f"{listed(against)} {verb} the models against people (the interval is below 0)."]
