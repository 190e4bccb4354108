"""The whole of the results as Markdown, to be read or put into a README."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from medebench.analysis.ranked import Estimate
from medebench.report.facts import STAND_IN
from medebench.report.formats import md as safe
from medebench.study.results.figures.standings import model_order
from medebench.study.results.model import DimensionResults, StudyResults
from medebench.study.results.texts import (
    ends,
    metric_label,
    number,
    percent,
    percent_ends,
    places,
)
from medebench.study.results.verdict import doubts, metric_order, race, standing_of
from medebench.study.results.words import LEADER, attention, overview, parts, pictures_of


def markdown(results: StudyResults) -> str:
    lines = [f"# {safe(results.title) or 'Study'}", "", safe(overview(results)), ""]
    lines += [f"**Attention.** {safe(text)}\n" for text in attention(results)]
    for dimension in results.dimensions:
        lines += [f"## {safe(dimension.name)}", ""]
        for what, said in parts(dimension, results).items():
            lines.append(f"- **{what}.** {' '.join(map(sentence, said))}")
        lines.append("")
    lines += ["## Models", "", *_standings(results), ""]
    if any(dimension.worths for dimension in results.dimensions):
        lines += ["## Metrics", "", *_metrics(results), ""]
    lines += ["## Agreement", "", *_agreement(results), ""]
    lines += ["## Annotators", "", *_annotators(results), ""]
    notes = [*results.notes, *(f"{k}: left out, {why}." for k, why in results.left_out.items())]
    if notes:
        lines += ["## Notes", "", *(f"- {safe(note)}" for note in notes), ""]
    return "\n".join(lines)


def sentence(text: str) -> str:
    """A sentence of `words`: what stands between backticks is code, the rest is text."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else _around(part) for part in parts)


def _around(part: str) -> str:
    """Text between two codes keeps the spaces at its ends."""
    before, after = (" " if part[end : end + 1].isspace() else "" for end in (0, len(part) - 1))
    return f"{before}{safe(part)}{after}" if part.strip() else part


def _standings(results: StudyResults) -> Iterator[str]:
    dimensions = results.dimensions
    yield from _head(["model", *(safe(one.name) for one in dimensions)])
    for name in model_order(results):
        star = " (control)" if name in results.controls else ""
        yield _row([safe(name) + star, *(_standing(one, name) for one in dimensions)])
    yield ""
    yield (
        "Chance to be ranked above another model of the study, with 95 % interval; then the mean "
        "rank (1 is best) and the places it takes in the resamples."
    )


def _standing(dimension: DimensionResults, name: str) -> str:
    found = [one for one in dimension.ordering.standings if one.model == name]
    if not found or found[0].preferred.value is None:
        return "–"
    one = found[0]
    around = percent_ends(one.preferred.interval)
    text = f"{percent(one.preferred.value)}" + (f" [{around}]" if around else "")
    return f"{text}; {number(one.mean_rank.value)}; {places(one.places)}"


def _metrics(results: StudyResults) -> Iterator[str]:
    dimensions = [one for one in results.dimensions if one.worths]
    yield from _head(["metric", *(safe(one.name) for one in dimensions)])
    races = {one.key: race(one.worths) if one.worths else None for one in dimensions}
    names = metric_order(results)
    for name in names:
        score = results.scores.get(name)
        star = " \\*" if score and score.stand_in else ""
        cells = []
        for dimension in dimensions:
            assert dimension.worths is not None
            own = [one for one in dimension.worths.metrics if one.metric == name]
            first = bool(own) and standing_of(own[0], races[dimension.key]) == "first"
            cells.append(_cell(own[0].rho, bold=first) if own else "–")
        yield _row([safe(metric_label(name, score)) + star, *cells])
    ceilings = [one.worths.ceiling for one in dimensions if one.worths]
    yield _row(["*one person against the mean of the others*", *(_cell(one) for one in ceilings)])
    yield ""
    yield (
        "Spearman's rho with people, per case over its models, averaged over cases, with 95 % "
        f"interval over {pictures_of(results)} (last row: jackknife); in parentheses in "
        f"how many of the cases, if not in all. {LEADER}"
    )
    if any(score.stand_in for name, score in results.scores.items() if name in names):
        yield f"\n\\* {STAND_IN}."


def _agreement(results: StudyResults) -> Iterator[str]:
    heads = ["", "Spearman", "Kendall's tau-b", "Krippendorff's alpha", "same order"]
    yield from _head(heads)
    for dimension in results.dimensions:
        one = dimension.agreement
        cells = [_cell(found) for found in (one.spearman, one.kendall, one.alpha, one.same_order)]
        yield _row([safe(dimension.name), *cells])
    reasons = dict.fromkeys(
        f"{safe(d.name)}: {safe(d.agreement.spearman.reason)}"
        for d in results.dimensions
        if d.agreement.spearman.reason
    )
    yield ""
    yield from (f"- {reason}" for reason in reasons)


def _annotators(results: StudyResults) -> Iterator[str]:
    keys = results.dimensions
    heads = ["", "ranked", "skipped", "controls passed", "s a case"]
    yield from _head([*heads, *(f"with oneself, {safe(one.key)}" for one in keys), "in doubt"])
    for one in results.annotators:
        controls = one.controls_passed + one.controls_failed
        nothing = Estimate(None, None, 0, 0)
        yield _row(
            [
                safe(one.name),
                f"{one.ranked} of {one.asked}",
                str(one.skipped),
                f"{one.controls_passed} of {controls}" if controls else "–",
                number(one.seconds, 0),
                *(_cell(one.consistency.get(key.key, nothing)) for key in keys),
                safe("; ".join(doubts(one))),
            ]
        )


def _cell(one: Estimate, *, bold: bool = False) -> str:
    if one.value is None:
        return "–"
    text = f"**{number(one.value)}**" if bold else number(one.value)
    around = ends(one.interval)
    part = "" if one.n == one.of else f" ({one.n}/{one.of})"
    return text + (f" [{around}]" if around else "") + part


def _head(cells: Sequence[str]) -> Iterable[str]:
    return [_row(cells), "|---" + "|---:" * (len(cells) - 1) + "|"]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
