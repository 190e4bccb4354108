"""The page of a set of several kinds of work in a real browser, opened from the disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import medebench as mb
from tests.reporting.mixed_runs import make_runs
from tests.study.browser.person import CHROMIUM, DRIVER, NO_BROWSER, Person, open_browser

pytest.importorskip("selenium.webdriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=NO_BROWSER)
QUESTION, REPORT = "vqa-multiple-choice-000002", "vqa-report-generation-000002"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mixed-page")
    return mb.report(make_runs(folder), folder / "report", audit=False).index


@pytest.fixture(scope="module")
def person(page: Path) -> Iterator[Person]:
    driver = open_browser()
    driver.get(page.as_uri())
    yield Person(driver, page.as_uri())
    driver.quit()


def _open(person: Any, case: str) -> None:
    person.driver.execute_script(f"location.hash = 'case={case}'")
    person.until(lambda: person.text("#case-title") == f"Case {case}")
    person.until(lambda: not person.js("document.querySelector('#case-answers .trouble:empty')"))


def test_a_question_shows_what_is_right_and_what_was_read(person: Any) -> None:
    _open(person, QUESTION)
    right = person.text("#case-texts mark.mark-right")
    read = person.js("[...document.querySelectorAll('.answer .read')].map((e) => e.textContent)")
    assert right[:3] in ("A. ", "B. ", "C. ", "D. ")
    assert f"right: read as {right[0]}" in read
    heads = person.js(
        "[...document.querySelectorAll('#case-scores thead th')].map((e) => e.textContent)"
    )
    assert heads == ["Run", "choice accuracy"]
    assert not person.errors()


def test_texts_stand_side_by_side_with_their_differences(person: Any) -> None:
    _open(person, REPORT)
    marked = "[...document.querySelectorAll('.expected mark.mark-only')].map((e) => e.textContent)"
    person.until(lambda: person.js(marked))
    first = person.js(marked)
    assert "The heart is of normal size" in " ".join(first)
    buttons = person.driver.find_elements("css selector", ".answer .compare")
    assert buttons[0].get_attribute("aria-pressed") == "true"
    buttons[-1].click()
    person.until(lambda: person.js(marked) != first)
    assert " ".join(person.text(".expected h3").split()) == "Reference, beside most-frequent"
    words = "[...document.querySelectorAll('.expected mark.mark-finding')].length"
    assert person.js(words)
    assert not person.errors()


def test_the_gallery_and_the_tables_leave_out_what_a_case_does_not_ask(person: Any) -> None:
    person.driver.execute_script("document.querySelector('#case').close()")
    rows = "document.querySelectorAll('#group-table tbody tr').length"
    assert person.js(rows) == 1  # choices are asked in one task
    formats = "document.querySelector('input[name=finer][value=formats]')"
    person.driver.execute_script(f"{formats}.click()")
    heads = "document.querySelector('#group-table thead th').textContent"
    assert person.js(heads) == "Format"
    frames = """[...document.querySelectorAll('#g-cases article')].filter((one) =>
      one.querySelector('h3').textContent.startsWith('vqa')).flatMap((one) =>
      [...one.querySelectorAll('.wordy .frame')]).length"""
    assert person.js(frames) == 0
    assert person.js("document.querySelectorAll('#formats .kit').length") == 4
    assert not person.errors()
