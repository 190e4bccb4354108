"""People rank a set of several kinds of work: each case shows the parts that it asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import medebench as mb
from medebench.study import read_study
from medebench.study.design import LETTERS, Study
from medebench.study.results.compute import study_results
from tests.reporting import mixed_runs
from tests.study.browser.person import ENTER, at, token

CASES = (
    *("vqa-multiple-choice-000003", "vqa-report-generation-000002"),
    *("editing-style-transfer-000002", "generation-organic-removal-000002"),
)
SHOWN = """[...document.querySelectorAll('.tile.output')].map((tile) => [
  tile.querySelectorAll('.frame').length, tile.querySelectorAll('.prose').length,
  tile.querySelectorAll('.none').length])
"""


@pytest.fixture
def study(tmp_path: Path) -> Study:
    cases = mb.load_cases(f"{mixed_runs.__file__}:cases").select(CASES)
    made = [
        mb.generate(cases, f"{mixed_runs.__file__}:{name}", tmp_path / name)
        for name in ("Good", "Worse")
    ]
    return mb.new_study(
        made, tmp_path / "study", per_organ=1, annotators=["one"], controls=0, repeats=0
    ).study


def test_texts_images_and_both_are_ranked_in_one_study(driver: Any, study: Study) -> None:
    assert study.design.dimensions == ["overall"] and study.design.gives == ["image", "text"]
    assert {tuple(one.gives) for one in study.design.cases} == {
        *(("text",), ("image",), ("image", "text"))
    }
    [annotator] = study.design.annotators
    with at(driver, study) as person:
        person.begin(token(study, "one"))
        for place, task in enumerate(annotator.tasks):
            person.at_place(place)
            gives = study.design.cases[task.case].gives
            parts = [int("image" in gives), int("text" in gives), 0]
            assert person.js(SHOWN) == [parts, parts]
            before = person.js("location.hash")
            letters = dict(zip(task.order, LETTERS, strict=False))
            person.press(letters["Good"].lower(), letters["Worse"].lower(), ENTER)
            person.leave(before)
    told, runs = read_study(study.path)
    standings = study_results(told, runs, resamples=50).dimensions[0].ordering.standings
    assert [one.model for one in standings] == ["Good", "Worse"]
