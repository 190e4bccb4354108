"""The page itself: what the template is given, and the data of its switchable tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

import medebench
from medebench.report import sets, why
from medebench.report.ceiling import score_ceiling, type_ceiling
from medebench.report.collect import Material
from medebench.report.diagnosis import Diagnosis
from medebench.report.export import Key, row_names
from medebench.report.facts import HEADLINES, STAND_IN, Score, judge_of, order
from medebench.report.figures import Drawing
from medebench.report.formats import interval_text
from medebench.report.learned import DIMENSIONS, Learned
from medebench.report.methods import judges, repeats, reproduce, run_facts, warnings_of
from medebench.report.palette import run_colours, variables
from medebench.report.published import published_attention
from medebench.report.section import Section
from medebench.report.statistics import UNIT, Statistics, Summary
from medebench.report.tables import MARK, MARK_MEANING, HeadlineTable
from medebench.report.tuning import attempts, tuned_runs
from medebench.report.views import Views
from medebench.report.words import finding

_TITLE = "Text-guided medical image editing"


@dataclass(frozen=True)
class Parts:
    """Figures, and the sections that not every report has, with theirs."""

    drawings: Sequence[Drawing]
    diagnosis: Diagnosis | None
    diagnosis_drawings: Sequence[Drawing]
    learned: Learned | None
    learned_drawings: Sequence[Drawing]
    #: By key, where the pictures of the diagnosis lie.
    example_files: Mapping[str, str]
    #: Of those who come after the report.
    added: Sequence[Section] = ()


def render_page(
    material: Material,
    statistics: Statistics,
    table: HeadlineTable,
    parts: Parts,
    title: str | None,
    scripts: Sequence[str],
    styles: Sequence[str],
    views: Views,
    published: bool,
) -> str:
    environment = Environment(
        loader=PackageLoader("medebench.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    headlines = [name for name in HEADLINES if material.score(name)]
    template = environment.get_template("index.html")
    return template.render(
        title=title or _TITLE,
        material=material,
        table=table,
        columns=table.columns,
        groups=groups,
        findings={h: finding(material, statistics, h) for h in headlines or [table.headline]},
        headlines=headlines,
        drawings=parts.drawings,
        colours=run_colours(len(material.models), len(material.controls)),
        variables=variables(),
        warnings=warnings_of(material),
        runs=run_facts(material),
        judges=judges(material),
        repeats=repeats(material),
        tuned=tuned_runs(material),
        attempts=attempts(material),
        reproduce=reproduce(material, table, parts.diagnosis),
        version=medebench.__version__,
        mark=MARK,
        mark_meaning=MARK_MEANING,
        stand_in=STAND_IN,
        interval=interval_text,
        judge_of=judge_of,
        scripts=scripts,
        styles=styles,
        views=views,
        diagnosis=parts.diagnosis,
        example_files=parts.example_files,
        diagnosis_drawings=parts.diagnosis_drawings,
        learned=parts.learned,
        learned_drawings=parts.learned_drawings,
        added=parts.added,
        dimensions=DIMENSIONS,
        sets=sets,
        attention_published=published_attention() if published else None,
        why=why,
        score_ceiling=score_ceiling,
        type_ceiling=type_ceiling,
        outputs=sum(len(entry.outputs) for entry in material.entries),
    )


def groups(table: HeadlineTable) -> list[tuple[str, str, Any]]:
    titles = {"model": "Models", "control": "Controls, whose answer is known"}
    found = [(kind, title, table.of(kind)) for kind, title in titles.items() if table.of(kind)]
    if table.published:
        found.append(("published", table.published.caption, table.of("published")))
    return found


def page_data(
    material: Material,
    statistics: Statistics,
    table: HeadlineTable,
    chunks: Sequence[int],
    diagnosis: Diagnosis | None = None,
) -> dict[str, Any]:
    """What `static/tables.js` and the gallery need besides the cases."""
    colours = run_colours(len(material.models), len(material.controls))
    numbers = {entry.name: entry.index for entry in material.entries}
    scores = order(material.scores, table.headline)
    return {
        "headline": table.headline,
        "detailChunks": list(chunks),
        "runs": [
            [entry.name, colours[entry.index].variable, entry.control, entry.sees, entry.extent]
            for entry in material.entries
        ],
        "scores": [[s.name, s.label, s.better, s.decimals, s.stand_in, s.summary] for s in scores],
        "basis": table.basis,
        "types": None if diagnosis is None else _types(diagnosis),
        "finer": {
            "organs": _finer(material, statistics.organs, table.bases, scores),
            "tasks": _finer(material, statistics.tasks, table.bases, scores),
        },
        "pairs": [
            {
                "family": family,
                "metric": metric,
                "rows": [
                    [
                        numbers[p.run_a],
                        numbers[p.run_b],
                        _short(p.difference),
                        *(map(_short, p.interval) if p.interval else (None, None)),
                        _short(p.p),
                        _short(p.p_holm),
                        p.n_cases,
                        p.n_dropped,
                        p.why,
                    ]
                    for p in pairs
                ],
            }
            for (family, metric), pairs in statistics.pairs.items()
        ],
    }


def _types(diagnosis: Diagnosis) -> dict[str, Any]:
    """Names of the types, and for each run and organ how often each of them occurs."""
    organs = sorted({one.organ for one in diagnosis.found})
    kinds = [*diagnosis.types, None]
    counts: dict[tuple[int, str], list[int]] = {}
    for one in diagnosis.found:
        cells = counts.setdefault((one.entry.index, one.organ), [0] * len(kinds))
        cells[kinds.index(one.type)] += 1
    return {
        "names": [list(item) for item in diagnosis.types.items()],
        "organs": organs,
        "counts": [[run, organs.index(o), *cells] for (run, o), cells in sorted(counts.items())],
    }


def _finer(
    material: Material,
    summaries: Mapping[Key, Summary],
    bases: Sequence[str],
    scores: Sequence[Score],
) -> dict[str, Any]:
    """By basis, the names of the rows and for each score a grid of rows and runs."""
    found = {}
    for basis in bases:
        names = row_names(summaries, basis)
        found[basis] = {
            "rows": [name.replace(UNIT, " · ") for name in names],
            "cells": {
                score.name: [
                    [_cell(summaries.get((basis, e.name, score.name, n))) for e in material.entries]
                    for n in names
                ]
                for score in scores
            },
        }
    return found


def _cell(found: Summary | None) -> list[float | int | str | None] | None:
    if found is None:
        return None
    one = found.micro
    numbers = [_short(one.mean), _short(one.low), _short(one.high), found.n_cases]
    return [*numbers, found.coverage, one.why]


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
