"""What a report about runs says of an experiment on learning."""

from __future__ import annotations

from medebench.page.document import static
from medebench.page.section import Section
from medebench.tuning.page.tuning_page import PACKAGE, render
from medebench.tuning.page.tuning_parts import Parts
from medebench.tuning.page.tuning_records import csv_files, records
from medebench.tuning.page.tuning_tables import done_text, missing
from medebench.tuning.tuning_answers import TuningAnswers
from medebench.tuning.tuning_outcome import TuningOutcome

ID = "learning"
_STYLE = "tuning.css"
_SHOWN = ("curves", "samples", "contrasts")


def tuning_section(
    outcome: TuningOutcome, answers: TuningAnswers, *, published: bool = True, page: str = ""
) -> Section:
    """The section "Learning", for `mb.report(runs, out, sections=[...])`.

    `page` is where the experiment's own page lies, seen from the report, if it is to be linked.
    """
    parts = Parts(outcome, answers, published)
    shown = [part for name in _SHOWN if (part := parts[name]) is not None]
    tables = {
        f"learning-{name}": text for name, text in csv_files(records(outcome, answers)).items()
    }
    html = render(
        "learning.html",
        words=answers.words,
        parts=shown,
        done=done_text(outcome),
        missing=missing(outcome),
        page=page,
        files=[(name.removeprefix("learning-").removesuffix(".csv"), name) for name in tables],
    )
    drawings = tuple(one for part in shown for one in part.drawings)
    styles = {_STYLE: static(PACKAGE, _STYLE)}
    return Section(ID, "Learning", html, styles, {}, drawings, tables)
