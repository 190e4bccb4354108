"""`write_tuning_page`: everything an experiment found, into one folder that opens from the disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from markupsafe import Markup

from medebench.page import document
from medebench.page.document import write_document
from medebench.page.escape import markdown as safe
from medebench.page.number import counted
from medebench.page.page_folder import Folder
from medebench.page.private_paths import without_any_folder
from medebench.page.section import Section
from medebench.page.table_text import NEEDS
from medebench.settings import in_words
from medebench.tuning.page import tuning_tables
from medebench.tuning.page.tuning_examples import Example, TuningPictures, make_examples
from medebench.tuning.page.tuning_formats import scores_of, settings_text
from medebench.tuning.page.tuning_parts import Part, Parts
from medebench.tuning.page.tuning_records import csv_files, records, results_json
from medebench.tuning.tuning_answers import TuningAnswers
from medebench.tuning.tuning_outcome import TuningOutcome

PACKAGE = "medebench.tuning.page"
SCRIPTS = ("dom.js", "theme.js")
STYLES = ("page.css", "tuning.css")
TITLE = "Learning from few pairs"


def write_tuning_page(
    outcome: TuningOutcome,
    answers: TuningAnswers,
    out: str | Path,
    *,
    pictures: TuningPictures | None = None,
    title: str = "",
    published: bool = True,
    command: str = "",
) -> Path:
    """Write page, tables, figures and examples into `out`, and say where the page is.

    `out` must be empty, new, or an earlier page, which is renewed. `pictures` gives the images of a
    few test cases; without it there are no examples. `published` puts the paper's rows beside the
    table; `command` is what reproduces it. The same input gives the same bytes.
    """
    folder = Folder(Path(out).expanduser().absolute())
    parts = Parts(outcome, answers, published)
    made = records(outcome, answers)
    results = json.dumps(
        results_json(outcome, answers, made), indent=2, ensure_ascii=False, allow_nan=False
    )
    folder.write("results.json", results + "\n")
    folder.write_all(csv_files(made))
    samples = parts["samples"]
    assert samples is not None
    folder.write("table.csv", samples.tables[0].csv())
    folder.write("tables.md", _markdown(title or TITLE, answers, parts))
    folder.write("tables.tex", "\n".join([NEEDS, *(one.latex() for one in parts.tables)]))
    examples = make_examples(outcome, answers, pictures, folder) if pictures else []
    sections = [
        *(_section(part) for part in parts.every),
        *([_examples(outcome, answers, examples)] if examples else []),
        Section("methods", "Methods", _methods(outcome, command)),
    ]
    write_document(
        folder,
        PACKAGE,
        sections,
        title=title or TITLE,
        head=_head(outcome, answers, title or TITLE),
        styles=STYLES,
        scripts=SCRIPTS,
        data={},
        skip=("top", "answer"),
        top="Answer",
    )
    folder.close({})
    return folder.path / "index.html"


def render(template: str, **given: Any) -> Markup:
    return document.render(PACKAGE, template, **given)


def _section(part: Part) -> Section:
    html = render("part.html", part=part)
    return Section(part.id, part.short, html, drawings=(*part.drawings, *part.more))


def _examples(
    outcome: TuningOutcome, answers: TuningAnswers, examples: Sequence[Example]
) -> Section:
    score = scores_of(outcome, answers).get(answers.primary)
    by_task = {task: list(some) for task, some in groupby(examples, lambda one: one.task)}
    return Section("examples", "Examples", render("examples.html", by_task=by_task, score=score))


def _head(outcome: TuningOutcome, answers: TuningAnswers, title: str) -> Markup:
    score = scores_of(outcome, answers).get(answers.primary)
    design = outcome.design
    return render(
        "head.html",
        title=title,
        outcome=outcome,
        system=without_any_folder(outcome.design.system),
        answers=answers,
        primary=score.label if score else answers.primary,
        tasks=len({fold.task for fold in outcome.folds}),
        done=tuning_tables.done_text(outcome),
        missing=tuning_tables.missing(outcome),
        repeated=f"{counted(design.draws, 'draw')} × {counted(design.seeds, 'seed')}",
    )


def _methods(outcome: TuningOutcome, command: str) -> Markup:
    trained = tuning_tables.trainings_table(outcome)
    return render(
        "methods.html",
        design=[
            (name, without_any_folder(text))
            for name, text in tuning_tables.design_facts(outcome.design)
        ],
        training=settings_text(outcome.design),
        facts=_facts(outcome.facts),
        splits=tuning_tables.splits_table(outcome),
        trained=trained,
        missing=tuning_tables.missing(outcome),
        command=without_any_folder(command),
    )


def _facts(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Where it comes from, as a list of names and texts; how metrics are described is no fact."""
    found = []
    for name, value in facts.items():
        if name == "metrics" or value in (None, "", {}):
            continue
        text = in_words(value) if isinstance(value, Mapping) else str(value)
        found.append((name.replace("_", " "), without_any_folder(text)))
    return found


def _markdown(title: str, answers: TuningAnswers, parts: Parts) -> str:
    lines = [f"# {safe(title)}", "", *(f"{safe(text)}\n" for text in answers.words)]
    for part in parts.every:
        every = [*part.tables, *part.folded]
        if not every:
            continue
        lines += [f"## {safe(part.title)}", ""]
        for table in every:
            lines += [f"### {safe(table.title)}", "", table.markdown()]
    return "\n".join(lines)
