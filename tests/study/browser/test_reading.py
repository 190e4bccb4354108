"""People rank texts, and images with texts, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import medebench as mb
from medebench.study import read_study
from medebench.study.design import LETTERS, RUINED, Study, Task
from medebench.study.results.compute import study_results
from tests.study.browser.person import ENTER, ESCAPE, Person, answers, at, token
from tests.study.toys import MARKUP, REPORT, make_runs, write_cases

BEST = ("alpha", "beta", "gamma", RUINED)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    runs = make_runs(write_cases(tmp_path / "cases", count=4), tmp_path)
    return mb.new_study(
        runs, tmp_path / "study", per_organ=1, annotators=["keys", "mouse"], controls=1, repeats=1
    ).study


def order(task: Task) -> list[str]:
    letters = dict(zip(task.order, LETTERS, strict=False))
    return [letters[name] for name in BEST if name in letters]


def text_of(person: Person, letter: str) -> str:
    code = "document.querySelector(`.tile[data-name=${arguments[0]}] .prose`).textContent"
    return str(person.js(code, letter))


def test_two_people_rank_texts_and_the_results_know_the_order(driver: Any, study: Study) -> None:
    """One by keyboard, one by mouse; markup in an answer is shown as the text it is."""
    with at(driver, study) as person:
        for who in ("keys", "mouse"):
            annotator = study.design.annotator(who)
            assert annotator is not None
            person.begin(token(study, who))
            for place, task in enumerate(annotator.tasks):
                person.at_place(place)
                if RUINED not in task.order:
                    letters = order(task)
                    found = [text_of(person, letter) for letter in letters]
                    assert found[0].startswith(REPORT * 5) and found[2].startswith(MARKUP)
                before = person.js("location.hash")
                if who == "keys":
                    person.press(*(letter.lower() for letter in order(task)), ENTER)
                else:
                    person.rank_by_mouse({"overall": [[letter] for letter in order(task)]})
                    person.find("#next").click()
                person.leave(before)
        assert person.js("document.title") != "hit"
        assert not person.js("document.querySelector('.prose *')")
        sent = "\n".join([*person.requests(), driver.page_source])
        assert all(run.name not in sent for run in study.design.runs)
    for who in ("keys", "mouse"):
        assert all(one.state == "done" for one in answers(study, who).values())
    told, runs = read_study(study.path)
    results = study_results(told, runs, resamples=50)
    standings = results.dimensions[0].ordering.standings
    assert [one.model for one in standings] == ["alpha", "beta", "gamma"]
    assert all(one.controls_failed == 0 for one in results.annotators)


def test_long_texts_scroll_and_can_be_enlarged(driver: Any, study: Study) -> None:
    with at(driver, study) as person:
        person.begin(token(study, "keys"))
        annotator = study.design.annotator("keys")
        assert annotator is not None
        best, middle, _ = order(annotator.tasks[0])
        box = "document.querySelector(`.tile[data-name=${arguments[0]}] .prose`)"
        assert person.js(f"{box}.scrollHeight > {box}.clientHeight + 100", best)
        assert person.js(f"getComputedStyle({box}).whiteSpace", best) == "pre-wrap"
        # The page does not scroll, and every answer has the same look.
        assert person.js("document.documentElement.scrollHeight <= innerHeight")
        look = (
            f"(s => [s.fontSize, s.fontFamily, s.color, s.width].join())(getComputedStyle({box}))"
        )
        assert person.js(look, best) == person.js(look, middle)
        assert not person.js("document.querySelector('.chip img')")
        person.press(best.lower(), "z")
        assert person.text("#large-words").startswith("There is a small apical pneumothorax")
        person.press(middle.lower())
        assert person.text("#large-words").startswith("Pneumothorax on the left.")
        person.press(ESCAPE)
        assert not person.js("document.getElementById('large').open")


def test_images_with_texts(driver: Any, tmp_path: Path) -> None:
    """The image and its text are in one tile; flicker and zoom work as for images alone."""
    runs = make_runs(write_cases(tmp_path / "cases", draws=True, count=4), tmp_path)
    study = mb.new_study(runs, tmp_path / "study", per_organ=1, annotators=["Ann"]).study
    with at(driver, study) as person:
        person.begin(token(study, "Ann"))
        tiles = "[...document.querySelectorAll('.tile.output')]"
        assert person.js(
            f"{tiles}.every(t => t.querySelector('.frame') && t.querySelector('.prose'))"
        )
        widths = person.js("[...document.querySelectorAll('.frame')].map(f => f.clientWidth)")
        assert len(widths) >= 4 and max(widths[:4]) - min(widths[:4]) <= 1
        assert person.js(
            "[...document.querySelectorAll('.chip')].every(c => c.querySelector('img'))"
        )
        assert not person.js("document.getElementById('flicker').hidden")
        assert person.js("document.querySelectorAll('.dimension').length") == 2
