"""Two tables for a paper: metrics against people, and the models as people rank them."""

from __future__ import annotations

from collections.abc import Sequence

from medebench.analysis.ranked import Estimate
from medebench.report.facts import STAND_IN
from medebench.report.latex import escape
from medebench.study.results.model import NAMES, DimensionResults, StudyResults
from medebench.study.results.texts import (
    NONE,
    ends,
    metric_label,
    number,
    percent,
    percent_ends,
)
from medebench.study.results.verdict import leader, metric_order, race, standing_of
from medebench.study.results.words import LEADER, overview, pictures_of


def latex(results: StudyResults) -> str:
    """Needs `\\usepackage{booktabs}`; nothing in a name can break it."""
    parts = ["% needs \\usepackage{booktabs}; written by medebench"]
    if any(one.worths for one in results.dimensions):
        parts.append(_metrics(results))
    parts.append(_standings(results))
    return "\n\n".join(parts) + "\n"


def _metrics(results: StudyResults) -> str:
    dimensions = [one for one in results.dimensions if one.worths]
    races = {one.key: race(one.worths) if one.worths else None for one in dimensions}
    rows, starred = [], False
    for name in metric_order(results):
        score = results.scores.get(name)
        stand_in = bool(score and score.stand_in)
        starred = starred or stand_in
        cells = [escape(metric_label(name, score)) + ("*" if stand_in else "")]
        for dimension in dimensions:
            assert dimension.worths is not None
            own = [one for one in dimension.worths.metrics if one.metric == name]
            first = bool(own) and standing_of(own[0], races[dimension.key]) == "first"
            cells.append(_rho(own[0].rho, first) if own else escape(NONE))
        rows.append(cells)
    ceilings = [one.worths.ceiling for one in dimensions if one.worths]
    last = [
        r"\emph{One person against the mean of the others}",
        *(_rho(one, False) for one in ceilings),
    ]
    caption = (
        f"Spearman's rank correlation of metrics with people, per case over its models, averaged "
        f"over cases, with 95 % intervals over {pictures_of(results)} (last row, one "
        f"person against the mean of the others: jackknife). {LEADER} {overview(results)}"
    )
    if starred:
        caption += f" *: {STAND_IN}."
    return _table("Metric", dimensions, rows, [last], caption, "tab:medebench-people-metrics")


def _standings(results: StudyResults) -> str:
    def line(name: str) -> list[str]:
        cells = [_standing(one, name, results) for one in results.dimensions]
        return [escape(name), *cells]

    models = [line(name) for name in results.models if name not in results.controls]
    controls = [line(name) for name in results.models if name in results.controls]
    caption = (
        f"How often people rank an output of the model above that of another model, in per cent, "
        f"with 95 % bootstrap intervals over {pictures_of(results)}. Bold: the model that leads a "
        f"column."
        f"{' Below the rule: controls.' if models and controls else ''} {overview(results)}"
    )
    label = "tab:medebench-people-standings"
    first, then = (models, controls) if models else (controls, [])
    return _table("Model", results.dimensions, first, then, caption, label)


def _standing(dimension: DimensionResults, name: str, results: StudyResults) -> str:
    found = [one for one in dimension.ordering.standings if one.model == name]
    if not found or found[0].preferred.value is None:
        return escape(NONE)
    text = percent(found[0].preferred.value).removesuffix(" %")
    small = percent_ends(found[0].preferred.interval).removesuffix(" %")
    first = name == leader(dimension, results.controls)
    return _stacked(escape(text), small.replace(" to ", "--"), first)


def _rho(one: Estimate, bold: bool) -> str:
    if one.value is None:
        return escape(NONE)
    small = escape(ends(one.interval))
    part = "" if one.n == one.of else f"{one.n}/{one.of}"
    return _stacked(escape(number(one.value)), ", ".join(filter(None, [small, part])), bold)


def _stacked(text: str, small: str, bold: bool) -> str:
    text = rf"\textbf{{{text}}}" if bold else text
    if not small:
        return text
    return rf"\begin{{tabular}}[t]{{@{{}}r@{{}}}}{text}\\[-1pt]{{\tiny {small}}}\end{{tabular}}"


def _table(
    head: str,
    dimensions: Sequence[DimensionResults],
    rows: Sequence[Sequence[str]],
    below: Sequence[Sequence[str]],
    caption: str,
    label: str,
) -> str:
    names = [one.key.upper() if one.key in NAMES else escape(one.key) for one in dimensions]
    lines = [
        r"\begin{table}",
        r"  \centering\footnotesize\setlength{\tabcolsep}{5pt}",
        rf"  \begin{{tabular}}{{l{'r' * len(names)}}}",
        r"    \toprule",
        f"    {' & '.join([head, *names])} \\\\",
        r"    \midrule",
        *(f"    {' & '.join(row)} \\\\" for row in rows),
    ]
    if below:
        lines += [r"    \midrule", *(f"    {' & '.join(row)} \\\\" for row in below)]
    lines += [
        r"    \bottomrule",
        r"  \end{tabular}",
        rf"  \caption{{{escape(caption)}}}",
        rf"  \label{{{label}}}",
        r"\end{table}",
    ]
    return "\n".join(lines)
