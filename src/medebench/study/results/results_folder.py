"""A study's results as a folder, as Markdown and as a section of the report."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup, escape

from medebench.files import sweep, unwritable
from medebench.page.document import render, static
from medebench.page.escape import markdown as safe
from medebench.page.page_folder import Folder
from medebench.page.section import Section, link
from medebench.study.results import answer_text, people_tables
from medebench.study.results.answer_text import answers, attention, overview, parts
from medebench.study.results.figures.draw_study import colours_of, draw_results
from medebench.study.results.people_tables import latex
from medebench.study.results.results_model import StudyResults
from medebench.study.results.study_tables import csv_files, results_json

#: By which a folder of results is known.
MARKER = ".medebench-study-results.json"
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


def spoken(results: StudyResults) -> StudyResults:
    """The results with the answer in words, where that has not been put in yet."""
    said = (
        one if one.answer else replace(one, answer=answers(one, results))
        for one in results.dimensions
    )
    return replace(results, dimensions=tuple(said))


def write_results(results: StudyResults, out: str | Path) -> list[Path]:
    """Write all files into `out` and say where they are.

    An earlier set of results in the same folder is renewed: what is no longer part of it goes,
    what somebody else put there stays.
    """
    path = Path(out).expanduser().absolute()
    folder = Folder(path, marker=MARKER, own=(), holds="holds no results")
    try:
        results = spoken(results)
        content = json.dumps(results_json(results), indent=2, ensure_ascii=False, allow_nan=False)
        made: dict[str, str | bytes] = {
            "results.md": markdown(results),
            "results.tex": latex(results),
            "results.json": content + "\n",
            **csv_files(results),
        }
        for drawing in draw_results(results):
            made |= drawing.files()
        folder.expect(made)
        for place in (path, path / "figures"):
            sweep(place)
        folder.write_all(made)
        folder.close({})
    except OSError as error:
        raise unwritable(path, error) from error
    return [path / name for name in made]


def markdown(results: StudyResults) -> str:
    lines = [f"# {safe(results.title) or 'Study'}", "", safe(overview(results)), ""]
    lines += [f"**Attention.** {safe(text)}\n" for text in attention(results)]
    for dimension in results.dimensions:
        lines += [f"## {safe(dimension.name)}", ""]
        for what, said in parts(dimension, results).items():
            lines.append(f"- **{what}.** {' '.join(map(sentence, said))}")
        lines.append("")
    lines += ["## Models", "", people_tables.standings(results).markdown()]
    if any(dimension.worths for dimension in results.dimensions):
        lines += ["## Metrics", "", people_tables.metrics(results).markdown()]
    lines += ["## Agreement", "", people_tables.agreement(results).markdown()]
    lines += ["## Annotators", "", people_tables.annotators(results).markdown()]
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
