"""`write_page`: everything a stress test found, into one folder that opens from the disk."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from medebench.page import document
from medebench.page.document import write_document
from medebench.page.figure import Drawing
from medebench.page.page_folder import Folder, script
from medebench.page.palette import Colour
from medebench.page.section import Section
from medebench.progress import Progress, silent
from medebench.stresstest.page import stress_formats
from medebench.stresstest.page.edit_images import FULL_CHANGE, SMALL, EditImages, write_pictures
from medebench.stresstest.page.figures import colours_of, draw_outcome
from medebench.stresstest.page.figures.headline import first_set
from medebench.stresstest.page.page_facts import PageContext, Pictures
from medebench.stresstest.page.stress_formats import status, why_not
from medebench.stresstest.page.stress_tables import (
    ABSENT,
    cell,
    counts,
    edits_csv,
    headline_rows,
    kind_text,
    results_json,
    table_csv,
    table_md,
    table_tex,
    thresholds_csv,
)
from medebench.stresstest.predictor_measures import THRESHOLD
from medebench.stresstest.stress_outcome import EditOutcome, StressOutcome
from medebench.stresstest.stress_verdict import FRAGILE_DICE

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


def write_page(
    outcome: StressOutcome,
    pictures: Pictures,
    out: str | Path,
    making: PageContext | None = None,
    *,
    progress: Progress = silent,
) -> Path:
    """Write page, tables, figures and pictures into `out`, and say where the page is.

    `out` must be empty, new, or an earlier page, which is renewed: pictures that are still right
    stay, what is no longer part of it goes. The same outcome gives the same bytes.
    """
    making = making or PageContext()
    folder = Folder(Path(out).expanduser().absolute())
    colours = colours_of(outcome)
    shown = write_pictures(outcome, pictures, folder, colours, progress)
    drawings = draw_outcome(outcome, making)
    results = results_json(outcome, shown, making)
    text = json.dumps(results, indent=2, ensure_ascii=False, allow_nan=False)
    folder.write("results.json", text + "\n")
    folder.write("table.csv", table_csv(outcome))
    folder.write("table.md", table_md(outcome, making))
    folder.write("table.tex", table_tex(outcome, making))
    folder.write("edits.csv", edits_csv(outcome, shown, making))
    if outcome.thresholds:
        folder.write("thresholds.csv", thresholds_csv(outcome))
    data = _data(outcome, shown, colours, making)
    write_document(
        folder,
        PACKAGE,
        sections(outcome, making, drawings),
        title=outcome.name,
        head=render_head(outcome, making),
        styles=STYLES,
        scripts=SCRIPTS,
        data={"data.js": script("MEDEBENCH_STRESS", data)},
        skip=("top", "verdict"),
        top="Verdict",
    )
    folder.close({})
    return folder.path / "index.html"


def _data(
    outcome: StressOutcome,
    shown: Mapping[str, EditImages],
    colours: Mapping[str, Colour],
    making: PageContext,
) -> dict[str, Any]:
    """What the scripts of the page are given; see `static/edits.js` for the reader."""
    return {
        "task": outcome.task,
        "threshold": outcome.threshold,
        "scored": bool(outcome.encoder),
        "positive": making.positive,
        "small": SMALL,
        "lost": FRAGILE_DICE,
        "predictors": [
            {
                "name": one.name,
                "colour": colours[one.name].variable,
                "control": one.reference,
                "cutoff": making.cutoffs.get(one.name, THRESHOLD),
            }
            for one in outcome.predictors
        ],
        "edits": [
            _edit(outcome, edit, shown.get(edit.intended.id, EditImages()), making)
            for edit in outcome.edits
        ],
    }


def _edit(
    outcome: StressOutcome, edit: EditOutcome, shown: EditImages, making: PageContext
) -> dict[str, Any]:
    one, sample = edit.intended, edit.intended.sample
    names = [predictor.name for predictor in outcome.predictors]
    before, after = (
        [_short(said.get(name)) for name in names] for said in (edit.before, edit.after)
    )
    right = [
        [making.right(outcome, name, label, said.get(name)) for name in names]
        for label, said in ((sample.label, edit.before), (one.label, edit.after))
    ]
    every = {
        "id": one.id,
        "sample": sample.id if sample.id != one.id else "",
        "group": sample.group,
        "kind": one.kind,
        "prompt": one.prompt,
        "caption": sample.caption,
        "labels": [sample.label, one.label] if sample.label or one.label else None,
        "status": status(edit),
        "score": _short(edit.score),
        "why": why_not(edit, outcome),
        "output": edit.output,
        "size": [shown.width, shown.height] if shown.width else None,
        "before": shown.before,
        "after": shown.after,
        "difference": shown.difference,
        "wanted": shown.wanted,
        "masks": shown.masks,
        "has": [shown.has_edit, shown.has_keep],
        "predicted": [shown.predicted.get(name) for name in names] if shown.predicted else None,
        "changes": [_short(value) for value in shown.changes] if shown.difference else None,
        "trouble": shown.trouble,
        "said": [before, after],
        "right": right if any(value is not None for some in right for value in some) else None,
    }
    return {name: value for name, value in every.items() if value not in ("", None)}


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")


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
