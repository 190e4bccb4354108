"""The page in a real browser, opened from the disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE
from tests.stresstest.page.conftest import HOSTILE
from tests.stresstest.page.made_up import MadeUp
from tests.study.browser.person import CHROMIUM, DRIVER, ESCAPE, NO_BROWSER, open_browser
from tests.study.browser.test_looking import CONTRASTS

pytest.importorskip("selenium.webdriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason=NO_BROWSER,
)
Browser = Any
Wait = Callable[[Callable[[], Any]], Any]
LEFT, RIGHT = "\ue012", "\ue014"
NARROW = {"width": 420, "height": 800, "deviceScaleFactor": 1, "mobile": True}
COUNT = "document.getElementById('g-count').textContent"
TITLE = "document.getElementById('edit-title').textContent"


@pytest.fixture(scope="module")
def driver() -> Iterator[Browser]:
    made = open_browser()
    yield made
    made.quit()


@pytest.fixture
def browser(driver: Browser, page: Path) -> Iterator[Browser]:
    """The page, freshly opened; an error in the console or a foreign address fails the test."""
    driver.get("about:blank")
    driver.get_log("performance")
    driver.get(page.as_uri())
    yield driver
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    errors = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    assert not errors, errors
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = [event["params"]["request"]["url"] for event in events
             if event["method"] == "Network.requestWillBeSent"]  # fmt: skip
    assert asked and all(url.startswith(("file:", "data:", "about:")) for url in asked)


@pytest.fixture
def wait(driver: Browser) -> Wait:
    from selenium.webdriver.support.ui import WebDriverWait

    return lambda condition: WebDriverWait(driver, PATIENCE, 0.05).until(lambda _: condition())


def js(browser: Browser, code: str) -> Any:
    return browser.execute_script(f"return {code}")


def ids(browser: Browser) -> list[str]:
    return list(
        js(browser, "[...document.querySelectorAll('#g-edits h3')].map(h => h.textContent)")
    )


def choose(browser: Browser, name: str, value: str) -> None:
    browser.execute_script(
        "const e = document.getElementById(arguments[0]); e.value = arguments[1];"
        "for (const n of ['input', 'change']) e.dispatchEvent(new Event(n, {bubbles: true}));",
        name,
        value,
    )


def test_filters_and_order(browser: Browser, wait: Wait, classified: MadeUp) -> None:
    edits = classified.outcome.edits
    assert len(ids(browser)) == 24 and js(browser, COUNT) == f"{len(edits)} of {len(edits)} edits"
    browser.execute_script("document.getElementById('g-next').click()")
    wait(lambda: len(ids(browser)) == len(edits) - 24)
    browser.execute_script("document.getElementById('gallery').scrollIntoView()")
    wait(lambda: js(browser, "document.querySelector('#g-edits img').naturalWidth > 0"))
    states = {
        "kept": [e.intended.id for e in edits if e.kept],
        "thrown": [e.intended.id for e in edits if not e.kept and e.score is not None],
        "failed": [e.intended.id for e in edits if e.score is None],
    }
    for state, names in states.items():
        choose(browser, "f-status", state)
        wait(lambda names=names: ids(browser) == names[:24])
    choose(browser, "f-status", "")
    for place, name in enumerate(("biased", "unbiased")):
        choose(browser, "f-predictor", str(place))
        choose(browser, "f-answer", "wrong")
        # No edit shows the disease: whoever still sees it is wrong.
        wrong = [e.intended.id for e in edits if (p := e.after[name]) is not None and p >= 0.5]
        wait(lambda wrong=wrong: ids(browser) == wrong[:24])
        assert js(browser, COUNT).startswith(f"{len(wrong)} of")
    browser.execute_script("document.querySelector('#filters [type=reset]').click()")
    choose(browser, "f-sort", "up")
    scored = sorted((e for e in edits if e.score is not None), key=lambda e: e.score or 0.0)
    wait(lambda: ids(browser) == [e.intended.id for e in scored][:24])
    choose(browser, "f-text", "out of memory")
    wait(lambda: ids(browser) == states["failed"])


def test_large_view_and_keys(browser: Browser, page: Path, wait: Wait, classified: MadeUp) -> None:
    names = [edit.intended.id for edit in classified.outcome.edits]
    browser.get("about:blank")
    browser.get(page.as_uri() + f"#edit={names[0]}")
    assert js(browser, "document.getElementById('edit').open") and js(browser, TITLE) == names[0]
    wait(lambda: js(browser, "document.querySelector('#edit-view img.right').naturalWidth > 0"))
    wait(lambda: js(browser, "document.querySelector('#edit-view img.over').naturalWidth > 0"))
    view = "document.getElementById('edit-view').getBoundingClientRect()"
    ratio = js(browser, f"{view}.width / {view}.height")
    assert ratio == pytest.approx(1, abs=0.01)  # the outlines lie where the picture is
    browser.switch_to.active_element.send_keys(RIGHT)
    assert js(browser, TITLE) == names[1] and js(browser, "location.hash") == f"#edit={names[1]}"
    browser.switch_to.active_element.send_keys(LEFT)
    assert js(browser, TITLE) == names[0]
    choose(browser, "edit-b", "difference")
    browser.find_element("id", "edit-slider").send_keys(RIGHT)
    assert js(browser, TITLE) == names[0]  # in the slider an arrow moves the slider
    browser.execute_script("document.getElementById('edit-next').click()")
    assert js(browser, "document.querySelector('.tag.right').textContent") == "difference"
    said = js(browser, "document.getElementById('edit-answers').innerText")
    assert "right" in said and "wrong" in said and "unbiased" in said
    choose(browser, "edit-over", "")
    assert js(browser, "document.querySelectorAll('#edit-view img.over').length") == 0
    browser.switch_to.active_element.send_keys(ESCAPE)
    wait(lambda: not js(browser, "document.getElementById('edit').open"))
    wait(lambda: js(browser, "location.hash") == "#gallery")
    # A filter is followed by the arrows too.
    choose(browser, "f-status", "failed")
    failed = [e.intended.id for e in classified.outcome.edits if e.score is None]
    wait(lambda: ids(browser) == failed)
    browser.execute_script("document.querySelector('.tile').click()")
    browser.switch_to.active_element.send_keys(RIGHT)
    assert js(browser, TITLE) == failed[1]
    assert js(browser, "document.getElementById('edit-place').textContent") == "2 of 2"
    assert "memory" in js(browser, "document.getElementById('edit-texts').innerText")


def test_hostile_text_is_shown_as_text(browser: Browser, classified: MadeUp, wait: Wait) -> None:
    one = next(e.intended.id for e in classified.outcome.edits if e.intended.prompt == HOSTILE)
    browser.execute_script(f"location.hash = '#edit={one}'")
    wait(lambda: js(browser, "document.getElementById('edit').open"))
    assert js(browser, "document.querySelector('#edit-texts dd').textContent") == HOSTILE
    assert js(browser, "document.querySelectorAll('[onerror]').length") == 0


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_contrast_narrow_screens_and_keyboard(
    browser: Browser, colours: str, classified: MadeUp
) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": colours}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    pairs = js(browser, CONTRASTS)
    assert len(pairs) > 60
    assert [pair for pair in pairs if pair[0] < 4.5] == []
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", NARROW)
    assert js(browser, "document.documentElement.scrollWidth") == NARROW["width"]
    # Whatever scrolls can be reached and scrolled with keys.
    boxes = browser.find_elements("css selector", "main .scroll")
    assert boxes
    for box in boxes:
        assert box.get_attribute("tabindex") == "0" and box.get_attribute("role") == "region"
    browser.execute_script("document.querySelector('.tile').click()")
    assert [pair for pair in js(browser, CONTRASTS) if pair[0] < 4.5] == []


def test_segmentation_shows_what_was_marked(
    browser: Browser, segmented_page: Path, segmented: MadeUp, wait: Wait
) -> None:
    browser.get(segmented_page.as_uri())
    choose(browser, "f-kind", "=pacemaker")
    wait(lambda: len(ids(browser)) == 8)
    choose(browser, "f-predictor", "0")
    choose(browser, "f-answer", "empty")
    wait(lambda: ids(browser) == ["s003-pacemaker"])
    choose(browser, "f-answer", "lost")
    lost = [e.intended.id for e in segmented.outcome.edits if e.intended.kind == "pacemaker"
            and (e.before["weak"] or 0) - (e.after["weak"] or 0) > 0.10]  # fmt: skip
    wait(lambda: ids(browser) == lost)
    browser.execute_script("location.hash = '#edit=s001-consolidation'")
    wait(lambda: js(browser, "document.getElementById('edit').open"))
    choose(browser, "edit-over", "p0")
    wait(lambda: js(browser, "document.querySelector('#edit-view img.over').naturalWidth > 0"))
