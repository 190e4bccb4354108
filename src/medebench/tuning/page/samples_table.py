"""The table in the form of the paper's Table 7: tasks in rows, numbers of pairs in columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from medebench.analysis.published_paradigms import ByPairs, PublishedTask, published_paradigms
from medebench.analysis.published_tables import DIMENSIONS
from medebench.page.number import NONE, number
from medebench.page.score_columns import Score
from medebench.page.table import Cell, Column, Group, Row, Table, cell
from medebench.tuning.page.tuning_formats import (
    ARMS,
    arm_title,
    lead_scores,
    point_of,
    rows_of,
    task_label,
)
from medebench.tuning.tuning_answers import ALL, CurvePoint, TuningAnswers
from medebench.tuning.tuning_design import Arm, Untrained
from medebench.tuning.tuning_outcome import TuningOutcome

#: Two, as the paper prints them; files of numbers have all.
DECIMALS = 2
_FORM = "Tasks in rows, numbers of pairs in columns, as in the paper’s Table 7."


@dataclass(frozen=True)
class _Column:
    score: Score
    pairs: int

    @property
    def head(self) -> str:
        return f"{self.score.label}, {self.pairs}"

    @property
    def dimension(self) -> str:
        """What the paper calls it, if it has it."""
        name = self.score.dimension.upper()
        return name if name in DIMENSIONS else ""


def trained_table(
    outcome: TuningOutcome, answers: TuningAnswers, *, published: bool = True
) -> Table:
    """Fine-tuning; the column of 0 is the untouched model."""
    pairs = sorted({0, *outcome.design.samples})
    columns = _columns(lead_scores(outcome, answers), pairs)
    arms: list[Arm] = [arm for arm in ("per-sample", "same-steps") if _has(answers, arm)]
    groups = [_own(outcome, answers, arm, arm_title(arm, outcome.design), columns) for arm in arms]
    paper = published_paradigms()
    if published and any(column.dimension for column in columns):
        groups.append(_paper(f"published: {paper.trained}", columns, lambda one: one.by_samples))
    notes = [
        "With 95 % intervals over test cases, draws of the pairs and seeds; 0 pairs: the untouched "
        "model.",
        *(paper.doubts if len(groups) > len(arms) else []),
    ]
    return _table("Fine-tuned, by training pairs", columns, groups, notes, "tab:trained")


def shown_table(
    outcome: TuningOutcome, answers: TuningAnswers, *, published: bool = True
) -> Table | None:
    """Pairs shown in the prompt; None where nothing was shown."""
    if not _has(answers, "in-context"):
        return None
    columns = _columns(lead_scores(outcome, answers), outcome.design.demonstrations)
    title = f"{outcome.design.in_context or 'this experiment'}, {ARMS['in-context'].label}"
    groups = [_own(outcome, answers, "in-context", title, columns)]
    paper = published_paradigms()
    notes = ["The same pairs in the same order as for training."]
    if published and any(column.dimension for column in columns):
        title = f"published: {paper.shown}"
        groups.append(_paper(title, columns, lambda one: one.by_demonstrations))
        notes += paper.doubts[:1]
    return _table("Shown in context, by demonstrations", columns, groups, notes, "tab:shown")


def published_table_seven() -> list[Table]:
    """The paper's rows alone, where an experiment has none of its scores."""
    paper = published_paradigms()
    made = []
    for title, pairs, of, label in (
        (paper.trained, paper.samples, lambda one: one.by_samples, "tab:published-trained"),
        (
            paper.shown,
            paper.demonstrations,
            lambda one: one.by_demonstrations,
            "tab:published-shown",
        ),
    ):
        scores = [
            Score(name.lower(), name, "", "higher", 0, 1, DECIMALS, name.lower())
            for name in DIMENSIONS
        ]
        columns = _columns(scores, pairs)
        groups = [_paper("", columns, of)]
        notes = paper.doubts if label == "tab:published-trained" else paper.doubts[:1]
        made.append(_table(f"Published: {title}", columns, groups, notes, label))
    return made


def has_published_rows(table: Table | None) -> bool:
    return table is not None and any(one.title.startswith("published") for one in table.groups)


def _columns(scores: Sequence[Score], pairs: Sequence[int]) -> list[_Column]:
    return [_Column(score, n) for score in scores for n in pairs]


def _has(answers: TuningAnswers, arm: str) -> bool:
    return any(point.arm == arm for point in answers.points)


def _own(
    outcome: TuningOutcome,
    answers: TuningAnswers,
    arm: Arm | Untrained,
    title: str,
    columns: Sequence[_Column],
) -> Group:
    tasks = rows_of(outcome, {point.task for point in answers.points if point.arm == arm})
    rows = [
        Row(
            task_label(task),
            [
                _cell(point_of(outcome, answers, (task, arm, c.score.name), c.pairs), c)
                for c in columns
            ],
            aside=task == ALL,
        )
        for task in tasks
    ]
    return Group(rows, title)


def _cell(point: CurvePoint | None, column: _Column) -> Cell:
    if point is None:
        return Cell(NONE)
    return cell(point.mean, min(DECIMALS, column.score.decimals))


def _paper(
    title: str,
    columns: Sequence[_Column],
    of: Callable[[PublishedTask], ByPairs],
) -> Group:
    paper = published_paradigms()
    rows = []
    for one in paper.tasks:
        values = [of(one).get(column.pairs, {}).get(column.dimension) for column in columns]
        cells = [Cell(number(value, DECIMALS), value=value) for value in values]
        note = ""
        if paper.overlaps(one.task):
            note = f"{paper.sizes[one.task]} cases in the release"
        rows.append(Row(one.task, cells, note))
    return Group(rows, title)


def _table(
    title: str, columns: Sequence[_Column], groups: list[Group], notes: list[str], label: str
) -> Table:
    heads = [
        Column(column.head, better=column.score.better, stand_in=column.score.stand_in)
        for column in columns
    ]
    return Table([Column("Task", "left"), *heads], groups, title, _FORM, notes, label)
