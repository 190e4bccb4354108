"""The table in the form of the paper's Table 7."""

from __future__ import annotations

from dataclasses import replace

import pytest

from medebench.analysis.estimate import Estimate
from medebench.analysis.published_paradigms import published_paradigms
from medebench.tuning.page.samples_table import (
    has_published_rows,
    published_table_seven,
    shown_table,
    trained_table,
)
from medebench.tuning.page.tuning_formats import EVERY_TASK, point_of
from tests.tuning.page.conftest import Pair
from tests.tuning.synthetic_outcome import CP, EA


def test_numbers_are_those_of_the_answers(usual: Pair):
    outcome, answers = usual
    table = trained_table(outcome, answers)
    heads = [column.head for column in table.columns]
    assert heads[1:5] == ["EA, 0", "EA, 4", "EA, 8", "EA, 16"]
    assert len(heads) == 13
    first, second = table.groups[:2]
    assert [row.name for row in first.rows][-1] == EVERY_TASK
    row = first.rows[0]
    for place, n in enumerate((0, 4, 8, 16)):
        arm = "per-sample" if n else "untouched"
        point = answers.point(row.name, arm, EA, n)
        assert point is not None
        assert row.cells[place].value == point.mean.value
        assert row.cells[place].ends
    # Both arms begin at the same model, and take as many steps at the most pairs.
    for place in (0, 3):
        assert second.rows[0].cells[place].value == row.cells[place].value
    assert "50 for each" in first.title and "800" in second.title


def test_the_paper_stands_beside_it_with_its_doubts(usual: Pair):
    outcome, answers = usual
    trained, shown = trained_table(outcome, answers), shown_table(outcome, answers)
    assert shown is not None
    paper = published_paradigms()
    for table, of in (
        (trained, lambda one: one.by_samples),
        (shown, lambda one: one.by_demonstrations),
    ):
        group = table.groups[-1]
        assert has_published_rows(table)
        assert [row.name for row in group.rows] == [one.task for one in paper.tasks]
        for row, one in zip(group.rows, paper.tasks, strict=True):
            printed = [value for by in ("EA", "CP", "VQ") for value in _column(of(one), by)]
            assert [cell.value for cell in row.cells] == printed
            assert not any(cell.ends for cell in row.cells)
        assert any("one seed" in note for note in table.notes)
    assert "31" in trained.groups[-1].rows[0].note


def _column(by_pairs, name):
    return [cells[name] for cells in by_pairs.values()]


def test_other_scores_leave_the_paper_to_itself(phantom: Pair):
    outcome, answers = phantom
    table = trained_table(outcome, answers)
    assert table.columns[1].head == "done, 0"
    assert not has_published_rows(table)
    alone = published_table_seven()
    assert [len(one.rows) for one in alone] == [6, 6]
    assert alone[0].rows[0].cells[3].value == 0.43
    assert not has_published_rows(trained_table(*phantom, published=False))


def test_what_was_not_measured_says_why(usual: Pair):
    outcome, answers = usual
    gone = Estimate(reason="no output was scored")
    points = [
        replace(p, mean=gone) if (p.arm, p.samples, p.metric) == ("per-sample", 8, CP) else p
        for p in answers.points
    ]
    table = trained_table(outcome, replace(answers, points=points))
    cell = table.groups[0].rows[0].cells[6]
    assert cell.value is None
    assert cell.reason == "no output was scored"


def test_an_arm_takes_the_point_of_another_only_where_steps_are_the_same(usual: Pair):
    outcome, answers = usual
    where = "Reconstruct ear", "same-steps", EA
    points = [p for p in answers.points if (p.arm, p.samples) != ("same-steps", 16)]
    answers = replace(answers, points=points)
    found = point_of(outcome, answers, where, 16)
    assert found is answers.point("Reconstruct ear", "per-sample", EA, 16)
    without = [p for p in answers.points if (p.arm, p.samples) != ("same-steps", 4)]
    assert point_of(outcome, replace(answers, points=without), where, 4) is None


@pytest.mark.parametrize("form", ["markdown", "latex", "csv"])
def test_every_form_has_the_numbers(usual: Pair, form: str):
    text = getattr(trained_table(*usual), form)()
    assert "Remove varicose veins" in text
    assert "0.77" in text
