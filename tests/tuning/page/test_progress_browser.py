"""The live page in a real browser, opened from the disk: it updates by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medebench.tuning.page import write_progress, write_tuning_page
from tests.patience import PATIENCE
from tests.study.browser.person import CHROMIUM, DRIVER, NO_BROWSER, open_browser
from tests.tuning.page.conftest import Pair
from tests.tuning.page.live import state

pytest.importorskip("selenium.webdriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=NO_BROWSER)
Browser = Any
#: A system's name without a place to break.
LONG = "diffusers:pipelines/instruct-pix2pix-of-ours,steps=20,size=512"
NARROW = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}


@pytest.fixture(scope="module")
def driver() -> Iterator[Browser]:
    made = open_browser((1280, 1000))
    yield made
    made.quit()


@pytest.fixture
def browser(driver: Browser) -> Iterator[Browser]:
    """Any error in the console fails the test."""
    yield driver
    errors = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    assert not errors, errors


@pytest.fixture
def wait(driver: Browser) -> Callable[[Callable[[], Any]], Any]:
    from selenium.webdriver.support.ui import WebDriverWait

    return lambda condition: WebDriverWait(driver, PATIENCE, 0.1).until(lambda _: condition())


def js(browser: Browser, code: str) -> Any:
    return browser.execute_script(f"return {code}")


SAID = "document.getElementById('p-said').textContent"
STAGES = "[...document.querySelectorAll('#p-grid button')].map(b => b.className)"


def test_shows_what_is_new_without_being_loaded_again(
    browser: Browser, wait: Any, tmp_path: Path
) -> None:
    from selenium.webdriver.common.keys import Keys

    page = write_progress(tmp_path, state(tmp_path, {0: ("training", 50)}))
    assert page is not None
    browser.get(page.as_uri())
    wait(lambda: "0 of 8 trainings done" in js(browser, SAID))
    assert js(browser, STAGES)[:2] == ["training", "open"]
    assert js(browser, "document.querySelectorAll('#p-now polyline').length") == 1
    wait(lambda: js(browser, "document.querySelector('#p-now img').naturalWidth > 0"))
    browser.execute_script("window.mine = 'still there'")

    # The keyboard: one stop for all trainings, arrows move among them.
    browser.execute_script("document.querySelector('#p-grid [tabindex=\"0\"]').focus()")
    assert js(browser, "document.querySelectorAll('#p-grid [tabindex=\"0\"]').length") == 1
    for key, name in (
        (Keys.ARROW_RIGHT, "4 pairs, draw 2"),
        (Keys.ARROW_DOWN, "8 pairs, draw 2"),
        (Keys.HOME, "8 pairs, draw 1"),
        (Keys.ARROW_UP, "4 pairs, draw 1"),
    ):
        browser.switch_to.active_element.send_keys(key)
        assert name in js(browser, "document.activeElement.getAttribute('aria-label')")
        assert name in js(browser, "document.getElementById('p-one').textContent")

    stages = {0: ("done", 200), 1: ("training", 100), 3: ("failed", 5)}
    assert write_progress(tmp_path, state(tmp_path, stages), every=0)  # type: ignore[arg-type]
    wait(lambda: "1 of 8 trainings done" in js(browser, SAID))
    assert js(browser, STAGES)[:4] == ["done", "training", "open", "failed"]
    assert "1 failed" in js(browser, SAID)
    # What was chosen stays chosen, and where the keyboard was, it is.
    assert "4 pairs, draw 1" in js(browser, "document.activeElement.getAttribute('aria-label')")
    assert "done" in js(browser, "document.getElementById('p-one').textContent")
    assert js(browser, "document.querySelectorAll('#p-losses polyline').length") == 3

    results = tmp_path / "report" / "index.html"
    over = state(tmp_path, dict.fromkeys(range(8), ("done", 50)), finished=True, results=results)
    assert write_progress(tmp_path, over)
    wait(lambda: "8 of 8 trainings done" in js(browser, SAID))
    assert js(browser, "document.querySelector('#p-results a').href") == results.as_uri()
    assert js(browser, "document.getElementById('now').hidden")
    assert js(browser, "window.mine") == "still there"


def test_fits_a_telephone(browser: Browser, wait: Any, tmp_path: Path, phantom: Pair) -> None:
    stages = {0: ("training", 100), 1: ("done", 200)}
    now = replace(state(tmp_path, stages), title=f"{LONG} learns")  # type: ignore[arg-type]
    live = write_progress(tmp_path, now)
    assert live is not None
    outcome, answers = phantom
    outcome = replace(outcome, design=replace(outcome.design, system=LONG))
    page = write_tuning_page(outcome, answers, tmp_path / "report")
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", NARROW)
    try:
        for one, there in ((live, "#p-now polyline"), (page, "figure svg")):
            browser.get(one.as_uri())
            wait(lambda there=there: js(browser, f"!!document.querySelector('{there}')"))
            assert js(browser, "document.documentElement.scrollWidth <= window.innerWidth")
            title = "document.querySelector('h1')"
            assert js(browser, f"{title}.scrollWidth <= {title}.clientWidth")
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_page_of_results_follows_the_theme(
    browser: Browser, tmp_path: Path, phantom: Pair
) -> None:
    page = write_tuning_page(*phantom, tmp_path / "report")
    ink = "getComputedStyle(document.querySelector('figure svg text')).fill"
    found = {}
    for theme in ("light", "dark"):
        browser.get(f"{page.as_uri()}?theme={theme}")
        found[theme] = js(browser, ink)
    assert found["light"] != found["dark"]
    browser.execute_script("document.getElementById('theme').click()")
    assert js(browser, ink) == found["light"]
    # Wide tables scroll with the keyboard.
    boxes = "[...document.querySelectorAll('.scroll')]"
    assert js(browser, f"{boxes}.every(b => b.tabIndex === 0 && b.getAttribute('aria-label'))")
