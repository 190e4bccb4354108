"""Which metric to believe, in words."""

from __future__ import annotations

from medebench.analysis.interval import Interval
from medebench.analysis.worth import MetricWorth, Worths
from medebench.page.number import counted, listed, number, p_value, percent
from medebench.study.results.results_model import DimensionResults, StudyResults
from medebench.study.results.study_formats import about, code, ends, plain
from medebench.study.results.thresholds_in_words import (
    FEW_SOURCES,
    NEAR_PERSON,
    Race,
    compared_controls,
    grade,
    race,
    too_few_to_tell,
    too_little_agreement,
)


def on_metrics(dimension: DimensionResults, results: StudyResults) -> list[str]:
    """Whether a metric stands in for people here, how sure that is, and what to mind."""
    worths = dimension.worths
    if worths is None:
        return [_no_scores(results)]
    found = race(worths)
    if found is None:
        return [_no_race(worths)]
    first = found.first
    said = f"{code(first.metric)} at {_rho(found)}"
    if first.sources < FEW_SOURCES:
        few = counted(first.sources, results.unit)
        return [
            f"Which metric follows people cannot be said from {few}; at least {FEW_SOURCES} "
            f"are needed. Highest here is {said}."
        ]
    controls = compared_controls(results)
    verdict = grade(first, with_controls=bool(controls))
    if verdict == "unknown":
        why = [part for part in first.rho.reason.split("; ") if part.startswith("no interval: ")]
        told = f" ({why[0].removeprefix('no interval: ')})" if why else ""
        return [
            f"Highest of the metrics is {said}; how sure that is cannot be told without an "
            f"interval{told}."
        ]
    if too_little_agreement(dimension.agreement):
        return [f"Highest of the metrics is {said}."]
    against = _against(worths, found, "outputs" if controls else "models")
    if verdict == "does not follow":
        text = f"No metric can be said to follow people here: the best, {said}"
        after = f" after correction for {found.size} metrics" if found.size > 1 else ""
        return [f"{text}, has an interval that reaches 0 or below{after}.", *against]
    lead = {
        "stands in": f"{code(first.metric)} stands in for people: {_rho(found)}",
        "follows": f"{code(first.metric)} follows people: {_rho(found)}",
        "follows weakly": f"Best is {code(first.metric)}, which follows people only weakly: "
        f"{_rho(found)}",
    }[verdict]
    share = "" if first.best is None else f", ranked first in {percent(first.best)} of resamples"
    return [
        f"{lead}{share}.",
        *_others(found, worths, results),
        *_sparse(found, worths),
        *_person(first, worths, verdict),
        *_controls(results),
        *_stand_in(found, results),
        *against,
    ]


def _no_scores(results: StudyResults) -> str:
    if not results.scores and not results.left_out:
        return "No run with scores was given, so no metric was compared with people."
    name, why = next(iter(results.left_out.items()), ("", ""))
    told = f" ({code(name)}: {plain(why)})" if name else ""
    return f"None of the scores could be used{told}, so no metric was compared with people."


def _no_race(worths: Worths) -> str:
    known = [one for one in worths.metrics if one.rho.value is not None]
    if known:
        best = max(known, key=lambda one: one.rho.value or 0.0)
        return (
            "No metric has a value in half of the cases, so none is recommended; highest is "
            f"{code(best.metric)} at rho {about(best.rho, 'case')}."
        )
    reasons = {plain(one.rho.reason) for one in worths.metrics if one.rho.reason}
    why = f" ({listed(sorted(reasons), 1)})" if reasons else ""
    return f"No metric could be compared with people{why}."


def _rho(found: Race) -> str:
    """ "rho 0.78 (0.71 to 0.85, 52 cases; at least 0.66 after correction for 12 metrics)"."""
    text = f"rho {about(found.first.rho, 'case')}"
    low = found.first.corrected
    if low is None or found.size < 2:
        return text
    least = f"; at least {number(low.low)} after correction for {found.size} metrics)"
    return f"{text.removesuffix(')')}{least}"


def _others(found: Race, worths: Worths, results: StudyResults) -> list[str]:
    if not found.level and not found.behind:
        return ["It is the only metric, so there was nothing to compare it with."]
    if not found.level:
        after = found.behind[0]
        gap = after.behind.value if after.behind else None
        far = "" if gap is None else f"{number(gap)} behind, "
        return [f"It is clearly ahead of the next ({code(after.metric)}, {far}{p_value(after.p)})."]
    if too_few_to_tell(found, worths):
        few = counted(found.first.sources, results.unit)
        return [f"{few} are too few to tell {found.size} metrics apart by this test."]
    names = listed([code(one.metric) for one in found.level])
    whom = names if len(found.level) == 1 else f"{len(found.level)} others: {names}"
    gaps = ((one, one.behind.value if one.behind else None) for one in found.level)
    ahead = [code(one.metric) for one, gap in gaps if gap is not None and gap < 0]
    better = [f"On the cases that both have, {listed(ahead)} did better."] if ahead else []
    return [f"It cannot be told apart from {whom}.", *better]


def _sparse(found: Race, worths: Worths) -> list[str]:
    """Metrics that look better, but on a few of the cases only."""
    best = found.first.rho.value or 0.0
    above = [
        f"{code(one.metric)} (rho {about(one.rho, 'case')})"
        for one in worths.metrics
        if one.best is None and one.rho.value is not None and one.rho.value > best
    ]
    return [f"Higher, but in too few of the cases to take part: {listed(above)}."] if above else []


def _person(first: MetricWorth, worths: Worths, verdict: str) -> list[str]:
    """Metric and person on the same terms: both against the mean of the other people."""
    gap = first.gap
    if gap is None or gap.value is None:
        return ["Without a second person there is no telling how well a person would do."]
    person = worths.ceiling.value
    reach = "" if person is None else f", who reaches {number(person)}"
    side, sign = ("above", 1) if gap.value > 0 else ("below", -1)
    inside = f" ({ends(_turned(gap.interval, sign))})" if gap.interval else ""
    text = (
        f"Held against the other people, it is {number(abs(gap.value))}{inside} {side} another "
        f"person{reach}"
    )
    if verdict == "stands in":
        near = "as well as" if gap.interval and gap.interval.low >= 0 else "nearly as well as"
        return [f"{text}: it ranks models {near} another person would."]
    if gap.interval and gap.interval.high < 0:
        return [f"{text}: it does not replace people."]
    if gap.interval and gap.interval.low >= -NEAR_PERSON:
        return [f"{text}."]
    return [f"{text}; that is not enough to say that it replaces people."]


def _turned(interval: Interval, sign: int) -> Interval:
    return interval if sign > 0 else Interval(-interval.high, -interval.low)


def _controls(results: StudyResults) -> list[str]:
    """What is ruined or copied is easily told from what is not; a correlation profits from that."""
    within = len(compared_controls(results))
    if within:
        of = len(results.compared or results.models)
        verb = "is a control" if within == 1 else "are controls"
        return [
            f"{within} of the {of} compared {verb}, easily told from the rest, which decides "
            "this: it does not show whether a metric tells models apart as people do."
        ]
    if results.controls & set(results.models):
        return ["Controls are left out of this comparison."]
    return []


def _stand_in(found: Race, results: StudyResults) -> list[str]:
    """The offline judge measures pixels against the reference; it is no model that looks."""
    stand_ins = {name for name, score in results.scores.items() if score.stand_in}
    best = (found.first, *found.level)
    names = [code(one.metric) for one in best if one.metric in stand_ins]
    if not names:
        return []
    verb = "comes" if len(names) == 1 else "come"
    return [
        f"{listed(names)} {verb} from the offline stand-in for a judge: that says nothing about "
        "how well a real judge follows people."
    ]


def _against(worths: Worths, found: Race, outputs: str) -> list[str]:
    against = [
        code(one.metric)
        for one in worths.metrics
        if one.corrected is not None and one.corrected.high < 0 and one.sources >= FEW_SOURCES
    ]
    if not against:
        return []
    verb = "ranks" if len(against) == 1 else "rank"
    after = f", after correction for {counted(found.size, 'metric')}" if found.size > 1 else ""
    return [
        f"{listed(against)} {verb} the {outputs} against people (the interval is below 0{after})."
    ]
