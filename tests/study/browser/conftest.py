"""A browser, and a small study in front of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medebench.study.design import Study
from tests.study.browser.person import CHROMIUM, DRIVER, NO_BROWSER, Person, at, open_browser
from tests.study.small import small_design, write_study


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    """One browser for all tests of a process."""
    pytest.importorskip("selenium.webdriver")
    if not (CHROMIUM and DRIVER):
        pytest.skip(NO_BROWSER)
    made = open_browser()
    yield made
    made.quit()


@pytest.fixture
def small(driver: Any, tmp_path: Path) -> Iterator[tuple[Study, Person]]:
    study = write_study(tmp_path / "study", small_design())
    with at(driver, study) as person:
        yield study, person
