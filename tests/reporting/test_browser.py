"""The page in a real browser, opened from the disk."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import medebench as mb
from medebench.page.web_images import shrink
from medebench.reporting import build_report
from medebench.runs.ledger import WHOLE
from tests.patience import PATIENCE
from tests.reporting.conftest import (
    HOSTILE,
    FakeJudge,
    adopt_copies,
    attend,
    make_runs,
    make_set,
    put_learned,
    put_set,
)
from tests.study.browser.person import CHROMIUM, DRIVER, NO_BROWSER, open_browser

pytest.importorskip("selenium.webdriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason=NO_BROWSER,
)
Browser = Any
CASES = 30
NARROW = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty cases, so that the gallery has two pages; one text tries to break out."""
    folder = tmp_path_factory.mktemp("browser")
    texts = [f"Remove spot {i}." for i in range(CASES)]
    texts[4] = HOSTILE
    cases = mb.load_cases(make_set(folder / "set", count=CASES, texts=texts))
    runs = make_runs(cases, folder, controls=["identity"], judge=FakeJudge())
    attend(runs[0], skip=["c1"])
    mb.ground(runs)
    return build_report(runs, folder / "report").index


@pytest.fixture(scope="module")
def learned_pages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Reports with learned metrics: of outputs and of sets, and of nothing but sets."""
    folder = tmp_path_factory.mktemp("learned")
    cases = mb.load_cases(make_set(folder / "set"))
    runs = put_learned(cases, folder)
    few = "too few: 3 outputs beside a reference, 10 are needed"
    for run in runs:
        put_set(run, "fid_inception", {WHOLE: 80.0, "Eyes": 90.0, "Skin": few})
    bare = adopt_copies(cases, folder / "bare", ["only", "sets"])
    for run in bare:
        put_set(run, "kid_inception", {WHOLE: 0.25})
    return (
        build_report(runs, folder / "report").index,
        build_report(bare, folder / "sets").index,
    )


@pytest.fixture(scope="module")
def driver() -> Iterator[Browser]:
    made = open_browser((1280, 1000))
    yield made
    made.quit()


@pytest.fixture
def browser(driver: Browser, page: Path) -> Iterator[Browser]:
    """The page, freshly opened; any error in the console fails the test."""
    driver.get("about:blank")
    driver.get(page.as_uri())
    yield driver
    errors = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    assert not errors, errors


@pytest.fixture
def wait(driver: Browser) -> Callable[[Callable[[], Any]], Any]:
    from selenium.webdriver.support.ui import WebDriverWait

    return lambda condition: WebDriverWait(driver, PATIENCE, 0.05).until(lambda _: condition())


def js(browser: Browser, code: str) -> Any:
    return browser.execute_script(f"return {code}")


def ids(browser: Browser) -> list[str]:
    return list(
        js(browser, "[...document.querySelectorAll('#g-cases h3')].map(h => h.textContent)")
    )


def choose(browser: Browser, name: str, value: str) -> None:
    browser.execute_script(
        "const e = document.getElementById(arguments[0]); e.value = arguments[1];"
        "e.dispatchEvent(new Event('input', {bubbles: true}));"
        "e.dispatchEvent(new Event('change', {bubbles: true}));",
        name,
        value,
    )


def test_shows_pictures_a_page_at_a_time(browser: Browser, wait: Any) -> None:
    assert len(ids(browser)) == 24
    assert js(browser, "document.getElementById('g-count').textContent") == "30 of 30 cases"
    browser.execute_script("document.getElementById('gallery').scrollIntoView()")
    wait(lambda: js(browser, "document.querySelector('#g-cases img').naturalWidth > 0"))
    browser.execute_script("document.getElementById('g-next').click()")
    assert len(ids(browser)) == 6
    assert js(browser, "document.documentElement.scrollWidth <= window.innerWidth")


def test_filters(browser: Browser, wait: Any) -> None:
    choose(browser, "f-group-0", "Eyes")
    wait(lambda: len(ids(browser)) == 10)
    choose(browser, "f-text", "spot 7.")
    wait(lambda: ids(browser) == ["c7"])
    browser.execute_script("document.querySelector('#filters [type=reset]').click()")
    wait(lambda: len(ids(browser)) == 24)
    choose(browser, "f-run", "0")
    choose(browser, "f-score", "intended_offline")
    choose(browser, "f-low", "0")
    wait(lambda: js(browser, "document.getElementById('g-count').textContent").startswith("27 of"))


def test_sorts_by_the_score_of_an_editor(browser: Browser, wait: Any) -> None:
    choose(browser, "f-run", "1")
    choose(browser, "f-score", "ssim")
    wait(lambda: js(browser, "document.querySelectorAll('.tile').length") == 24 * 3)
    choose(browser, "f-sort", "worst")
    values = "[...document.querySelectorAll('#g-cases .value')].map(v => Number(v.textContent))"
    worst = wait(lambda: (v := js(browser, values)) == sorted(map(float, v)) and v)
    choose(browser, "f-sort", "best")
    wait(lambda: (v := js(browser, values)) == sorted(v, reverse=True) and v)
    assert len(worst) == 24


def test_editors_can_be_hidden_and_overlays_shown(browser: Browser, wait: Any) -> None:
    before = js(browser, "document.querySelectorAll('.tile').length")
    browser.execute_script("document.querySelector('#f-editors input').click()")
    wait(lambda: js(browser, "document.querySelectorAll('.tile').length") == before - 24)
    browser.execute_script("document.getElementById('gallery').scrollIntoView()")
    browser.execute_script("document.getElementById('g-change').click()")
    change = "document.querySelector('img.change')"
    wait(lambda: js(browser, f"{change}.naturalWidth > 0"))
    assert js(browser, f"getComputedStyle({change}).display") == "block"
    browser.execute_script("document.getElementById('g-outline').click()")
    browser.execute_script("document.querySelector('img.outline').scrollIntoView()")
    wait(lambda: js(browser, "document.querySelector('img.outline').naturalWidth > 0"))


def test_a_link_opens_a_case_and_keys_move(browser: Browser, page: Path, wait: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.get("about:blank")
    browser.get(page.as_uri() + "#case=c3")
    title = "document.getElementById('case-title').textContent"
    assert js(browser, "document.getElementById('case').open")
    assert js(browser, title) == "Case c3"
    assert "the judge looked away" in js(
        browser, "document.getElementById('case-scores').innerText"
    )
    wait(lambda: js(browser, "document.querySelector('#case-view img.right').naturalWidth > 0"))
    choose(browser, "f-sort", "id")
    wait(lambda: ids(browser)[:2] == ["c0", "c1"])
    active = browser.switch_to.active_element
    active.send_keys(Keys.ARROW_RIGHT)
    assert js(browser, title) == "Case c4"
    assert js(browser, "location.hash") == "#case=c4"
    browser.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    assert js(browser, title) == "Case c3"
    slider = browser.find_element("id", "case-slider")
    slider.send_keys(Keys.HOME)
    assert (
        js(browser, "document.getElementById('case-view').style.getPropertyValue('--cut')") == "0%"
    )
    assert js(browser, title) == "Case c3"  # arrows in the slider do not turn the page
    browser.execute_script("document.getElementById('case-details').open = true")
    wait(lambda: "what was seen" in js(browser, "document.getElementById('case-said').textContent"))
    assert js(browser, "document.querySelectorAll('#case-said ul')[0].children.length") == 2
    slider.send_keys(Keys.ESCAPE)
    wait(lambda: not js(browser, "document.getElementById('case').open"))
    assert js(browser, "location.hash") == "#gallery"


def test_hostile_text_is_shown_as_text(browser: Browser, page: Path) -> None:
    browser.get("about:blank")
    browser.get(page.as_uri() + "#case=c4")
    shown = js(browser, "document.querySelector('#case-texts dd').textContent")
    assert shown == HOSTILE
    assert js(browser, "document.querySelectorAll('[onerror]').length") == 0


def test_theme_and_headline(browser: Browser) -> None:
    back = "getComputedStyle(document.body).backgroundColor"
    before = js(browser, back)
    browser.find_element("id", "theme").click()
    assert js(browser, back) != before
    browser.find_element("id", "theme").click()
    order = (
        "[...document.querySelectorAll('#headline thead th')].map(h => h.dataset.score)"
        ".filter(s => s && s.startsWith('cp'))"
    )
    assert js(browser, order) == ["cp", "cp_published"]
    browser.execute_script("document.querySelector('input[value=cp_published]').click()")
    assert js(browser, order) == ["cp_published", "cp"]
    assert js(browser, "document.getElementById('pair-score').value") == "cp_published"
    shown = "[...document.querySelectorAll('figure')].filter(f => f.offsetParent).map(f => f.id)"
    figures = js(browser, shown)
    assert "figure-bars-cp_published" in figures and "figure-bars-cp" not in figures


def test_macro_and_tables(browser: Browser) -> None:
    row = "#headline tbody.model tr:last-child"
    cell = f"document.querySelector('{row} td[data-score=psnr]').innerText"
    micro = js(browser, cell)
    browser.execute_script("document.querySelector('input[value=macro]').click()")
    assert js(browser, cell) != micro
    assert js(browser, "document.querySelectorAll('#pairs tbody tr').length") == 1
    choose(browser, "pair-family", "against controls")
    assert js(browser, "document.querySelectorAll('#pairs tbody tr').length") == 2
    assert js(browser, "document.querySelectorAll('#group-table td.heat').length") == 9
    browser.execute_script("document.querySelector('input[value=tasks]').click()")
    assert js(browser, "document.querySelectorAll('#group-table td.heat').length") == 18
    name = js(browser, "document.querySelector('#group-table tbody th').textContent")
    assert name == "Eyes · Remove spots"


def test_why_edits_fail(browser: Browser, wait: Any) -> None:
    count = "document.querySelectorAll('#type-table tbody tr').length"
    assert js(browser, count) == 3
    browser.execute_script("document.getElementById('type-organs').open = true")
    organs = "[...document.querySelectorAll('#type-organ-table tbody tr')].map(r => r.innerText)"
    everyone = js(browser, organs)
    assert len(everyone) == 3
    choose(browser, "type-run", "2")
    assert js(browser, organs) != everyone
    assert all("100 %" in row for row in js(browser, organs))  # identity: nothing done
    browser.execute_script("document.querySelector('#diagnosis .shots').scrollIntoView()")
    shown = "[...document.querySelectorAll('#diagnosis .shots:first-child img')]"
    wait(lambda: js(browser, f"{shown}.every(i => i.complete && i.naturalWidth > 0)"))
    assert js(browser, "document.querySelectorAll('#diagnosis .shots img.over').length") > 4


def test_an_example_opens_its_case_with_its_editor(browser: Browser, wait: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    link = browser.find_element("css selector", ".kind:last-of-type .shots")
    run = int(
        js(browser, "[...document.querySelectorAll('.kind:last-of-type .shots')][0].hash")[-1]
    )
    link.send_keys(Keys.ENTER)
    wait(lambda: js(browser, "document.getElementById('case').open"))
    chosen = "document.getElementById('case-b').selectedOptions[0].textContent"
    assert js(browser, chosen) == js(browser, f"MB.store.runs[{run}].name")
    cells = "[...document.querySelectorAll('#case-scores .finding-cell')].map(c => c.innerText)"
    wait(lambda: any("% of the" in text for text in js(browser, cells)))
    assert len(js(browser, cells)) == 3
    choose(browser, "case-overlay", "change")
    wait(lambda: js(browser, "document.querySelector('#case-view img.over').naturalWidth > 0"))
    choose(browser, "case-overlay", "")
    assert js(browser, "document.querySelectorAll('#case-view img.over').length") == 0


def test_the_gallery_is_filtered_by_finding(browser: Browser, wait: Any) -> None:
    choose(browser, "f-type", "nothing")
    choose(browser, "f-run", "2")
    number = "document.getElementById('g-count').textContent"
    wait(lambda: js(browser, number) == "30 of 30 cases")
    choose(browser, "f-type", "success")
    wait(lambda: js(browser, number) == "0 of 30 cases")


def test_learned_metrics(browser: Browser, learned_pages: tuple[Path, Path]) -> None:
    browser.get(learned_pages[0].as_uri())
    cells = "[...document.querySelectorAll('#{} .v')].filter(v => v.offsetParent).length"
    assert js(browser, cells.format("learned-table")) == 9
    mean = "document.getElementById('{}').dataset.mean"
    browser.execute_script(
        "document.querySelector('input[name=learned-mean][value=macro]').click()"
    )
    assert js(browser, mean.format("learned-table")) == "macro"
    assert js(browser, mean.format("headline")) == "micro"
    assert js(browser, cells.format("learned-table")) == 9
    choose(browser, "group-score", "lpips_alex")
    assert js(browser, "document.getElementById('group-scale').textContent").endswith(
        "lower is better"
    )
    # Whatever scrolls can be reached and scrolled with keys.
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", NARROW)
    try:
        browser.execute_script("document.getElementById('set-organs').open = true")
        assert js(browser, "document.documentElement.scrollWidth") == NARROW["width"]
        boxes = browser.find_elements("css selector", "#learned .scroll[tabindex]")
        assert len(boxes) == 5
        for box in boxes:
            assert box.get_attribute("role") == "region"
            name = box.get_attribute("aria-label") or js(
                browser,
                f"document.getElementById('{box.get_attribute('aria-labelledby')}').innerText",
            )
            assert name
            browser.execute_script("arguments[0].focus()", box)
            assert browser.switch_to.active_element == box
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_page_of_nothing_but_sets(
    browser: Browser, learned_pages: tuple[Path, Path], wait: Any
) -> None:
    browser.get(learned_pages[1].as_uri())
    assert len(ids(browser)) == 9
    assert "0.2500" in js(browser, "document.getElementById('set-table').innerText")
    browser.execute_script("document.querySelector('.tile').click()")
    wait(lambda: js(browser, "document.getElementById('case').open"))
    choose(browser, "f-sort", "worst")
    wait(lambda: len(ids(browser)) == 9)


def test_narrow_screen_scrolls_inside_its_boxes(browser: Browser) -> None:
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", NARROW)
    try:
        assert js(browser, "document.documentElement.scrollWidth") == NARROW["width"]
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[mb.Run]]:
    """Two hundred cases in several packs, larger than a thumbnail: there are large views."""
    folder = tmp_path_factory.mktemp("many")
    made = make_set(folder / "set", count=200)
    for path in made.rglob("*.png"):
        picture = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
        cv2.imwrite(str(path), cv2.resize(picture, (256, 192), interpolation=cv2.INTER_NEAREST))
    runs = make_runs(mb.load_cases(made), folder, models=["good", "poor"], controls=[])
    return build_report(runs, folder / "report", scale=False).index, runs


#: The pixels of an image as the browser decoded it: width, height, RGBA of all.
PIXELS = """
    const image = document.querySelector(arguments[0]);
    if (!image || !image.naturalWidth) return null;
    const canvas = document.createElement("canvas");
    canvas.width = image.naturalWidth; canvas.height = image.naturalHeight;
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { width, height, data } = context.getImageData(0, 0, canvas.width, canvas.height);
    return [width, height, [...data]];
"""


def seen(browser: Browser, selector: str) -> Any:
    found = browser.execute_script(PIXELS, selector)
    if found is None:
        return None
    width, height, values = found
    return np.array(values, np.uint8).reshape(height, width, 4)[..., :3]


def likeness(browser: Browser, selector: str, picture: Any) -> float:
    """PSNR of what the browser shows and what it should."""
    shown = seen(browser, selector)
    if shown is None:
        return 0.0
    small = shrink(np.ascontiguousarray(picture), max(shown.shape[:2]))
    assert shown.shape == small.shape
    return float(cv2.PSNR(np.ascontiguousarray(shown), small))


def test_on_a_telephone_numbers_come_before_the_prose(browser: Browser, wait: Any) -> None:
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", NARROW)
    try:
        top = "document.querySelector('{}').getBoundingClientRect().top"
        places = [
            js(browser, top.format(one))
            for one in ("#verdict table", "#headline", "#scores .finding")
        ]
        assert places == sorted(places)
        assert places[0] < NARROW["height"]
        # A table that is wider than the screen says so, until its end is seen.
        hint = "getComputedStyle(document.querySelector('#verdict .scroll-hint')).display"
        wait(lambda: js(browser, hint) == "block")
        browser.execute_script("document.querySelector('#verdict .scroll').scrollLeft = 5000")
        end = "document.querySelector('#verdict .scroll').classList.contains('at-end')"
        wait(lambda: js(browser, end))
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    wait(lambda: js(browser, hint) == "none")


def test_groups_are_seen_at_once_and_the_gallery_begins_with_the_most_disputed(
    browser: Browser,
) -> None:
    box = "document.getElementById('group-table').parentElement"
    assert js(browser, f"{box}.scrollHeight <= {box}.clientHeight")
    assert js(browser, "document.getElementById('f-sort').value") == "disputed"
    gap = (
        "[...document.querySelectorAll('#g-cases h3')].map(h => MB.store.byKey.get(h.textContent))"
        ".map(one => MB.store.runs.filter(r => !r.control).map(r => MB.store.caseValue(r.index,"
        " one.index, MB.filters.metric().name)).filter(v => v !== null))"
        ".filter(known => known.length > 1).map(known => Math.max(...known) - Math.min(...known))"
    )
    gaps = js(browser, gap)
    assert len(gaps) > 10 and gaps == sorted(gaps, reverse=True)


def test_pictures_deep_in_the_gallery_are_those_of_the_run(
    browser: Browser, many: tuple[Path, list[mb.Run]], wait: Any
) -> None:
    index, runs = many
    output = {
        (run.name, case): cv2.imread(str(run.output_path(case, 0)))[..., ::-1]
        for run in runs
        for case in ("c173", "c174")
    }
    browser.get(index.as_uri())
    loaded = "performance.getEntriesByType('resource').map(e => e.name).join()"
    assert "assets/large/" not in js(browser, loaded)
    choose(browser, "f-text", "spot 173.")
    wait(lambda: ids(browser) == ["c173"])
    browser.execute_script("document.getElementById('gallery').scrollIntoView()")
    tile = "#g-cases .tile:nth-child({}) img"
    for at, name in ((tile.format(3), "good"), (tile.format(4), "poor")):
        wait(lambda at=at: seen(browser, at) is not None)
        assert likeness(browser, at, output[name, "c173"]) > 30
    browser.execute_script("document.getElementById('g-change').click()")
    wait(lambda: seen(browser, "#g-cases .tile:nth-child(4) img.change") is not None)
    browser.execute_script("document.querySelector('#g-cases .tile:nth-child(4)').click()")
    right = "#case-view img.right"
    wait(lambda: seen(browser, right) is not None)
    assert seen(browser, right).shape == (192, 256, 3)  # the large view
    assert likeness(browser, right, output["poor", "c173"]) > 30
    reference = mb.open_case(runs[0].cases["c173"]).reference
    choose(browser, "case-a", "1")
    wait(lambda: seen(browser, "#case-view img.left") is not None)
    assert likeness(browser, "#case-view img.left", reference) > 30
    browser.execute_script("document.getElementById('case-outline').click()")
    wait(lambda: seen(browser, "#case-view img.outline") is not None)
    # A case of another pack, by its address, and one that is not in the list that is shown.
    browser.get("about:blank")
    browser.get(index.as_uri() + "#case=c174&run=0")
    wait(lambda: seen(browser, right) is not None)
    assert likeness(browser, right, output["good", "c174"]) > 30


def test_only_pictures_that_are_near_are_loaded(
    browser: Browser, many: tuple[Path, list[mb.Run]], wait: Any
) -> None:
    """A page of the gallery holds 24 cases; those far below wait until somebody scrolls."""
    browser.get(many[0].as_uri())
    loaded = "[...document.querySelectorAll('#g-cases img')].filter(i => i.src).length"
    browser.execute_script("document.getElementById('gallery').scrollIntoView()")
    wait(lambda: js(browser, loaded) > 0)
    every = js(browser, "document.querySelectorAll('#g-cases img:not([class])').length")
    assert every == 24 * 4
    assert js(browser, loaded) < every
    browser.execute_script("document.querySelector('#g-cases article:last-child').scrollIntoView()")
    last = "#g-cases article:last-child .tile img"
    wait(lambda: seen(browser, last) is not None)


def test_a_report_that_was_moved_still_shows_its_pictures(
    browser: Browser, many: tuple[Path, list[mb.Run]], tmp_path: Path, wait: Any
) -> None:
    moved = tmp_path / "a b é" / "report"
    shutil.copytree(many[0].parent, moved)
    browser.get((moved / "index.html").as_uri() + "#case=c150")
    wait(lambda: seen(browser, "#case-view img.right") is not None)
