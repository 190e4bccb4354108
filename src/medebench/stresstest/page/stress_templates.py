"""The templates, and what all pages of stress tests give them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from medebench.page import document
from medebench.page.figure import Drawing
from medebench.page.section import Section
from medebench.stresstest.page import stress_formats
from medebench.stresstest.page.edit_images import FULL_CHANGE
from medebench.stresstest.page.figures import colours_of
from medebench.stresstest.page.figures.headline import first_set
from medebench.stresstest.page.page_facts import PageContext
from medebench.stresstest.page.stress_tables import ABSENT, cell, counts, headline_rows, kind_text
from medebench.stresstest.predictor_measures import THRESHOLD
from medebench.stresstest.stress_outcome import StressOutcome

PACKAGE = "medebench.stresstest.page"
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


def sections(
    outcome: StressOutcome, making: PageContext, drawings: Mapping[str, Drawing]
) -> list[Section]:
    """The parts of the page below its head."""
    given = _given(outcome, making, drawings)
    return [
        Section(
            "headline-section",
            "",
            render("headline.html", **given),
            drawings=tuple(drawings.values()),
        ),
        Section("edits", "Edits", render("edits.html", **given)),
        Section("measures", "Measures", render("measures.html", **given)),
        Section("gallery", "Gallery", render("gallery.html", **given)),
        Section("methods", "How it was made", render("how.html", **given)),
    ]


def render_head(outcome: StressOutcome, making: PageContext) -> Markup:
    return render("head.html", **_given(outcome, making, {}))


def _given(
    outcome: StressOutcome, making: PageContext, drawings: Mapping[str, Drawing]
) -> dict[str, Any]:
    there = {which for one in outcome.predictors for which, cells in one.table.items() if cells}
    failed = Counter(
        edit.reason or "no reason given"
        for edit in outcome.edits
        if stress_formats.status(edit) == stress_formats.FAILED
    )
    return {
        "title": outcome.name,
        "outcome": outcome,
        "making": making,
        "drawings": drawings,
        "colours": colours_of(outcome),
        "columns": stress_formats.columns(outcome),
        "rows": list(headline_rows(outcome)),
        "lead": stress_formats.MEASURES[outcome.headline],
        "measures": stress_formats.measures(outcome),
        "sets": [(which, label) for which, label in stress_formats.SETS.items() if which in there],
        "numbers": counts(outcome),
        "reasons": failed.most_common(),
        "kinds": len({edit.intended.kind for edit in outcome.edits}) > 1,
        "paper": making.published,
        "glossary": stress_formats.glossary(outcome.task),
        "cell": cell,
        "kind_text": kind_text,
        "cutoff": THRESHOLD,
        "full": f"{100 * FULL_CHANGE:.0f}",
        "amplified": f"{1 / FULL_CHANGE:.0f}",
    }


def render(template: str, **given: Any) -> Markup:
    common = {"t": stress_formats, "absent": ABSENT, "first_set": first_set}
    return document.render(PACKAGE, template, **common, **given)
