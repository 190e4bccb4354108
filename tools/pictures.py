"""The pictures of the docs: `python tools/pictures.py medebench-demo`, after `make demo`.

The report is photographed in headless Chromium (scores above, a few rows of the gallery below), and
so is the panel of a study of the demo's runs; the contact sheet of phantoms is drawn.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By

from medebench.phantoms.drawings import render, sample
from medebench.runs import open_run
from medebench.study.server.answer_store import open_store
from medebench.study.server.serve import serving
from medebench.study.study_setup import new_study

IMAGES = Path(__file__).parent.parent / "docs" / "images"
WIDTH = 1280


def browser() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    for word in ("headless=new", "no-sandbox", "disable-gpu", "disable-background-networking"):
        options.add_argument(f"--{word}")
    options.add_argument("--hide-scrollbars")
    options.add_argument(f"--window-size={WIDTH},1600")
    # Named, so that nothing looks for a driver elsewhere.
    options.binary_location = shutil.which("chromium") or ""
    return webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))


def photograph(report: Path) -> Image.Image:
    """Scores and gallery, one below the other."""
    driver = browser()
    try:
        driver.get((report / "index.html").resolve().as_uri() + "?theme=light")
        driver.implicitly_wait(5)
        parts = []
        driver.execute_script("document.querySelector('nav.bar').style.display = 'none'")
        for selector, top, bottom in (("body", 0, 1158), ("#gallery", 90, 765)):
            element = driver.find_element(By.CSS_SELECTOR, selector)
            driver.execute_script("arguments[0].scrollIntoView()", element)
            driver.execute_async_script("setTimeout(arguments[0], 1500)")
            shot = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
            parts.append(shot.crop((0, top, WIDTH, bottom)))
        whole = Image.new("RGB", (WIDTH, sum(part.height for part in parts)), "white")
        at = 0
        for part in parts:
            whole.paste(part, (0, at))
            at += part.height
        return whole
    finally:
        driver.quit()


def photograph_panel(runs: Path) -> Image.Image:
    """The panel of a study, half ranked."""
    with tempfile.TemporaryDirectory() as folder:
        opened = [open_run(path) for path in sorted(runs.iterdir())]
        study = new_study(opened, Path(folder) / "study", per_organ=1, title="Phantoms").study
        with open_store(study) as store:
            token = store.invite("annotator-1")
        driver = browser()
        try:
            driver.set_window_size(1440, 900)
            with serving(study) as url:
                driver.get(f"{url}/join#{token}")
                driver.implicitly_wait(5)
                driver.find_element(By.ID, "begin").click()
                driver.find_element(By.CSS_SELECTOR, "#pictures img")
                driver.execute_async_script("setTimeout(arguments[0], 1500)")
                keys = ActionChains(driver)
                for key in "bdea=fc\ue007bae":
                    keys.send_keys(key).pause(0.1)
                keys.perform()
                driver.execute_async_script("setTimeout(arguments[0], 1500)")
                shot = driver.get_screenshot_as_png()
        finally:
            driver.quit()
    return Image.open(io.BytesIO(shot)).convert("RGB")


def contact_sheet(count: int, cell: int, columns: int, gutter: int = 6) -> Image.Image:
    """Phantoms before and after their edits, `columns` pairs a row, on white."""
    high, wide = cell + gutter, 2 * cell + 2 + gutter
    size = (columns * wide + gutter, -(-count // columns) * high + gutter)
    sheet = Image.new("RGB", size, "white")
    for index in range(count):
        case = render(sample(index))
        row, column = divmod(index, columns)
        for k, pixels in enumerate((case.previous, case.reference)):
            small = Image.fromarray(pixels).resize((cell, cell), Image.Resampling.LANCZOS)
            sheet.paste(small, (gutter + column * wide + k * (cell + 2), gutter + row * high))
    return sheet


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    demo = Path(sys.argv[1])
    photograph(demo / "report").quantize(256).save(IMAGES / "report.png", optimize=True)
    photograph_panel(demo / "runs").quantize(256).save(IMAGES / "panel.png", optimize=True)
    contact_sheet(18, cell=200, columns=3).save(IMAGES / "phantoms.jpg", quality=85)


if __name__ == "__main__":
    main()
