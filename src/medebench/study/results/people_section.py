"""The study as a section of the report."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup, escape

from medebench.page.document import render, static
from medebench.page.section import Section, link
from medebench.study.results import answer_text, people_tables
from medebench.study.results.figures.draw_study import colours_of, draw_results
from medebench.study.results.results_folder import spoken
from medebench.study.results.results_model import StudyResults
from medebench.study.results.study_tables import csv_files

ID = "people"
_PACKAGE = "medebench.study.results"
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
    html = render(
        _PACKAGE,
        "people.html",
        results=results,
        standings=people_tables.standings(results, colours_of(results, runs)),
        metrics=people_tables.metrics(results, published=True),
        agreement=people_tables.agreement(results),
        annotators=people_tables.annotators(results),
        drawings=drawings,
        files=[(_LABELS[name], link(ID, name)) for name in tables],
        said=said,
        words=answer_text,
    )
    styles = {_STYLE: static(_PACKAGE, _STYLE)}
    return Section(ID, "People", html, styles, tables, tuple(drawings.values()))


def said(sentences: Sequence[str]) -> Markup:
    """Sentences of `words` for the page: what stands between backticks becomes code."""
    text = str(escape(" ".join(sentences)))
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", text))
