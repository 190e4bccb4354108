"""The study as a section of the report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from medebench.analysis.ordering import Standing
from medebench.analysis.worth import MetricWorth
from medebench.report.facts import STAND_IN
from medebench.report.figures import Drawing
from medebench.report.section import Section, link
from medebench.study.results import published, texts, verdict, words
from medebench.study.results.figures.draw import colours_of, draw_results
from medebench.study.results.figures.standings import model_order
from medebench.study.results.model import DimensionResults, StudyResults
from medebench.study.results.tables import csv_files
from medebench.study.results.write import spoken

ID = "people"
_STYLE = "people.css"
_LABELS = {
    "annotators.csv": "annotators",
    "agreement.csv": "agreement",
    "standings.csv": "models",
    "differences.csv": "differences of models",
    "metrics.csv": "metrics",
}


def section(results: StudyResults, runs: Sequence[str] = ()) -> Section:
    """`runs` are the names of the report's runs in its order: models then have their colours."""
    results = spoken(results)
    drawings = {one.name: one for one in draw_results(results, runs)}
    tables = csv_files(results)
    html = (
        _environment()
        .get_template("people.html")
        .render(
            results=results,
            rows=model_order(results),
            metrics=verdict.metric_order(results),
            races={d.key: verdict.race(d.worths) if d.worths else None for d in results.dimensions},
            colours=colours_of(results, runs),
            drawings=drawings,
            files=[(_LABELS[name], link(ID, name)) for name in tables],
            standing=_standing,
            worth=_worth,
            said=said,
            width=_width,
            stand_in=STAND_IN,
            t=texts,
            words=words,
            verdict=verdict,
            published=published,
        )
    )
    style = (files("medebench.study.results") / "static" / _STYLE).read_text(encoding="utf-8")
    # Safe: the template escapes whatever it is given.
    return Section(ID, "People", Markup(html), {_STYLE: style}, tables, tuple(drawings.values()))


def said(sentences: Sequence[str]) -> Markup:
    """Sentences of `words` for the page: what stands between backticks becomes code."""
    text = str(escape(" ".join(sentences)))
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", text))


def _width(drawing: Drawing) -> int:
    """In points, as the figure was made."""
    found = re.search(r'viewBox="0 0 ([\d.]+) ', drawing.svg)
    assert found is not None
    return round(float(found[1]))


def _standing(dimension: DimensionResults, model: str) -> Standing | None:
    return next((one for one in dimension.ordering.standings if one.model == model), None)


def _worth(dimension: DimensionResults, metric: str) -> MetricWorth | None:
    found = dimension.worths.metrics if dimension.worths else ()
    return next((one for one in found if one.metric == metric), None)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("medebench.study.results", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
