"""Three outputs that show what the numbers look like: the best, a typical one and the worst."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from medebench.analysis.score_frame import clean_scores
from medebench.errors import one_line
from medebench.files import read_bytes
from medebench.page.score_columns import Score
from medebench.reporting.case_artist import CaseView, OutputView
from medebench.reporting.collect import Entry, Material
from medebench.reporting.verdict import question

#: Characters of a text that are shown.
_SNIPPET = 160


@dataclass(frozen=True)
class Example:
    """One output of a model, and what it got."""

    rank: str
    entry: Entry
    case: str
    k: int
    #: (what it answers, number as printed), the score that decided first.
    scores: tuple[tuple[str, str], ...]
    #: The beginning of its text, if it has one.
    text: str = ""

    def shots(self, view: CaseView, output: OutputView) -> list[tuple[str, str]]:
        """The pictures there are, by key, and what each is called."""
        if before := view.key("previous"):
            after = view.key("reference")
            return [(before, "before"), (output.key, "output"), (after, "reference")]
        given = [(view.key("Input"), "input"), (output.key if output.width else "", "output")]
        return [one for one in [*given, (view.key("Reference"), "reference")] if one[0]]


def choose_examples(material: Material, score: Score | None, others: list[Score]) -> list[Example]:
    """By one score, over what the models delivered; nothing where that are fewer than three."""
    if score is None or not score.ranked:
        return []
    entries = {entry.name: entry for entry in material.models}
    rows = clean_scores(material.frame).filter(
        pl.col("metric") == score.name,
        pl.col("run").is_in(list(entries)),
        pl.col("value").is_not_null(),
    )
    rows = rows.sort(
        "value", "run", "case", "k", descending=[score.better == "lower", *[False] * 3]
    )
    if len(rows) < 3:
        return []
    named = {"best": rows[-1], "typical": rows[len(rows) // 2], "worst": rows[0]}
    return [
        Example(
            rank,
            entries[row["run"]],
            row["case"],
            row["k"],
            _told(material, row, score, others),
            _text(material, entries[row["run"]], row["case"], row["k"]),
        )
        for rank, one in named.items()
        for row in one.iter_rows(named=True)
    ]


def _text(material: Material, entry: Entry, case: str, k: int) -> str:
    """The beginning of an output's text; nothing where it has none, or none that can be read."""
    files = entry.run.output_files(material.places[case][1], k)
    if "text" not in files.parts or "text" not in material.task.gives:
        return ""
    try:
        return one_line(read_bytes(files.path("text")).decode("utf-8", "replace"), _SNIPPET)
    except OSError:
        return ""


def _told(
    material: Material, row: dict[str, object], score: Score, others: list[Score]
) -> tuple[tuple[str, str], ...]:
    shown = [score, *(one for one in others if one.name != score.name)]
    same = material.frame.filter(*(pl.col(name) == row[name] for name in ("run", "case", "k")))
    values = dict(same.select("metric", "value").iter_rows())
    there = [one for one in shown if one.name == score.name or one.name in values]
    return tuple((question(one), one.text(values.get(one.name))) for one in there)
