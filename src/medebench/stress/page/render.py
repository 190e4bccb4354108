"""The templates, and what all pages of stress tests give them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

import medebench
from medebench.report.figures import Drawing
from medebench.report.palette import variables
from medebench.stress.measures import THRESHOLD
from medebench.stress.outcome import StressOutcome
from medebench.stress.page import texts
from medebench.stress.page.figures.draw import colours_of
from medebench.stress.page.figures.headline import first_set
from medebench.stress.page.making import Making
from medebench.stress.page.pictures import FULL_CHANGE
from medebench.stress.page.published import published
from medebench.stress.page.tables import ABSENT, cell, counts, headline_rows, kind_text

SCRIPTS = (
    "dom.js",
    "theme.js",
    "edits.js",
    "said.js",
    "choosing.js",
    "browse.js",
    "large.js",
    "looking.js",
)
STYLES = ("page.css", "gallery.css", "stress.css")


def render_page(outcome: StressOutcome, making: Making, drawings: Mapping[str, Drawing]) -> str:
    there = {which for one in outcome.predictors for which, cells in one.table.items() if cells}
    failed = Counter(
        edit.reason or "no reason given"
        for edit in outcome.edits
        if texts.status(edit) == texts.FAILED
    )
    return render(
        "index.html",
        title=outcome.name,
        outcome=outcome,
        making=making,
        drawings=drawings,
        colours=colours_of(outcome),
        columns=texts.columns(outcome),
        rows=list(headline_rows(outcome)),
        lead=texts.MEASURES[outcome.headline],
        measures=texts.measures(outcome),
        sets=[(which, label) for which, label in texts.SETS.items() if which in there],
        numbers=counts(outcome),
        reasons=failed.most_common(),
        kinds=len({edit.intended.kind for edit in outcome.edits}) > 1,
        paper=published(making.shift),
        glossary=texts.glossary(outcome.task),
        cell=cell,
        kind_text=kind_text,
        cutoff=THRESHOLD,
        full=f"{100 * FULL_CHANGE:.0f}",
        amplified=f"{1 / FULL_CHANGE:.0f}",
        scripts=SCRIPTS,
        styles=STYLES,
    )


def render(template: str, **given: Any) -> str:
    return (
        _environment()
        .get_template(template)
        .render(
            t=texts,
            absent=ABSENT,
            first_set=first_set,
            width=_width,
            variables=variables(),
            version=medebench.__version__,
            **given,
        )
    )


def _width(drawing: Drawing) -> int:
    """In points, as the figure was made."""
    found = re.search(r'viewBox="0 0 ([\d.]+) ', drawing.svg)
    assert found is not None
    return round(float(found[1]))


@cache
def _environment() -> Environment:
    made = Environment(
        # The report's templates serve where there is none of this name.
        loader=ChoiceLoader(
            [
                PackageLoader(one, "templates")
                for one in ("medebench.stress.page", "medebench.report")
            ]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # A number and its sign stay on one line.
    made.filters["whole"] = lambda text: text.replace(" %", "\u00a0%")
    return made
