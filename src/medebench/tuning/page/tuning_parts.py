"""What the page of an experiment consists of, part by part; the report takes some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from medebench.page.figure import Drawing
from medebench.page.score_columns import Score
from medebench.page.table import Table
from medebench.tuning.page import tuning_tables
from medebench.tuning.page.figures import draw_tuning
from medebench.tuning.page.samples_table import (
    has_published_rows,
    published_table_seven,
    shown_table,
    trained_table,
)
from medebench.tuning.page.tuning_formats import scores_of
from medebench.tuning.tuning_answers import TuningAnswers
from medebench.tuning.tuning_outcome import TuningOutcome


@dataclass(frozen=True)
class Part:
    """A headed part: text, figures, tables, and tables that are folded away."""

    id: str
    title: str
    #: In the list of sections.
    short: str
    text: Sequence[str] = ()
    drawings: Sequence[Drawing] = ()
    tables: Sequence[Table] = ()
    folded: Sequence[Table] = ()
    more: Sequence[Drawing] = ()
    files: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Parts:
    outcome: TuningOutcome
    answers: TuningAnswers
    published: bool = True
    every: list[Part] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "every", [part for part in self._make() if part is not None])

    def __getitem__(self, name: str) -> Part | None:
        return next((part for part in self.every if part.id == name), None)

    @property
    def drawings(self) -> list[Drawing]:
        return [one for part in self.every for one in (*part.drawings, *part.more)]

    @property
    def tables(self) -> list[Table]:
        return [one for part in self.every for one in (*part.tables, *part.folded)]

    def _make(self) -> list[Part | None]:
        outcome, answers = self.outcome, self.answers
        scores = list(scores_of(outcome, answers).values())
        lead, rest = scores[:1], scores[1:]
        drawings = draw_tuning(outcome, answers, scores)
        curves = [one for one in drawings if one.name.startswith("curves")]
        sides = [one for one in drawings if one.name.startswith("contrasts")]
        return [
            Part(
                "curves",
                "Learning curves",
                "Curves",
                ["Two arms tell pairs from steps: with steps for each pair, pairs and updates grow "
                 "together, as published; with the same steps at every point, only the pairs do."],
                curves[:1],
                more=curves[1:],
                files=[("points.csv", "all points")],
            ) if curves else None,
            self._samples(),
            self._of_scores("changes", "Changes from the untouched model", "Changes", lead, rest),
            self._of_scores(
                "contrasts", "Arms side by side", "Controls", lead, rest, sides
            ),
            _part("trend", "Trend with more pairs", "Trend",
                  tuning_tables.trend_table(outcome, answers, scores), "trends.csv"),
            _part("forgetting", "What is forgotten", "Forgetting",
                  tuning_tables.forgetting_table(outcome, answers, scores), "forgetting.csv"),
            _part("memory", "Learned by heart?", "Memory",
                  tuning_tables.memory_table(outcome, answers), "memory.csv"),
        ]  # fmt: skip

    def _samples(self) -> Part:
        outcome, answers = self.outcome, self.answers
        trained = trained_table(outcome, answers, published=self.published)
        shown = shown_table(outcome, answers, published=self.published)
        tables = [one for one in (trained, shown) if one is not None]
        if self.published:
            paper = published_table_seven()
            if not has_published_rows(trained):
                tables.append(paper[0])
            if not has_published_rows(shown):
                tables.append(paper[1])
        return Part(
            "samples",
            "Scores by pairs, beside the paper’s",
            "Table",
            tables=tables,
            files=[
                ("table.csv", "CSV"),
                ("tables.md", "all tables, Markdown"),
                ("tables.tex", "LaTeX"),
            ],
        )

    def _of_scores(
        self,
        name: str,
        title: str,
        short: str,
        lead: Sequence[Score],
        rest: Sequence[Score],
        drawings: Sequence[Drawing] = (),
    ) -> Part | None:
        make = getattr(tuning_tables, f"{name}_table")
        first, others = (
            [t for one in some if (t := make(self.outcome, self.answers, one)) is not None]
            for some in (lead, rest)
        )
        if not first and not others:
            return None
        file = "points.csv" if name == "changes" else f"{name}.csv"
        return Part(name, title, short, (), drawings, first, others, files=[(file, "all scores")])


def _part(name: str, title: str, short: str, table: Table | None, file: str) -> Part | None:
    if table is None:
        return None
    return Part(name, title, short, tables=[table], files=[(file, "CSV")])
