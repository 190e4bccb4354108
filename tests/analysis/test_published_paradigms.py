"""The paper's Table 7 is data, and the same data as it was handed over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from medebench.analysis.published_paradigms import published_paradigms

HANDED_OVER = Path(__file__).parents[3] / "shared" / "published" / "medebench_table7.json"


def test_every_task_has_every_cell():
    paper = published_paradigms()
    assert paper.samples == (0, 4, 8, 16)
    assert paper.demonstrations == (0, 1, 2, 3)
    assert len(paper.tasks) == 6
    for task in paper.tasks:
        for by_pairs, counts in (
            (task.by_samples, paper.samples),
            (task.by_demonstrations, paper.demonstrations),
        ):
            assert tuple(by_pairs) == counts
            for cells in by_pairs.values():
                assert set(cells) == {"EA", "CP", "VQ"}
                assert all(0 <= value <= 1 for value in cells.values())


def test_equals_what_was_handed_over():
    if not HANDED_OVER.is_file():
        pytest.skip("Table 7 is not here (it belongs into ../shared/published)")
    told = json.loads(HANDED_OVER.read_text())
    trained, shown = (value for value in told.values() if isinstance(value, dict))
    paper = published_paradigms()
    for given, found in (
        (trained, {one.task: one.by_samples for one in paper.tasks}),
        (shown, {one.task: one.by_demonstrations for one in paper.tasks}),
    ):
        assert {task: {str(n): v for n, v in by.items()} for task, by in found.items()} == given
    assert f"{paper.images} images per task" in told["source"]


def test_tells_where_test_and_training_cannot_be_disjoint():
    paper = published_paradigms()
    small = {one.task for one in paper.tasks if paper.overlaps(one.task)}
    assert len(small) == 4
    assert {paper.sizes[task] for task in small} == {30, 31, 36}
    assert not paper.overlaps("Remove moles")
    said = " ".join(paper.doubts)
    assert all(f"{task} {paper.sizes[task]}" in said for task in small)
    assert "one draw" in said and "one seed" in said and "no interval" in said
