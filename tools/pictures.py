"""The pictures of the README: `python tools/pictures.py medebench-demo/report`, after `make demo`.

The report is photographed in headless Chromium (scores above, a few rows of the gallery below); the
contact sheet of phantoms is drawn.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.by import By

from medebench.cases.phantoms import contact_sheet

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
        for selector, top, bottom in (("body", 0, 985), ("#gallery", 90, 950)):
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


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    photograph(Path(sys.argv[1])).quantize(256).save(IMAGES / "report.png", optimize=True)
    sheet = Image.fromarray(np.asarray(contact_sheet(18, seed=0, cell=200, columns=3)))
    sheet.save(IMAGES / "phantoms.jpg", quality=85)


if __name__ == "__main__":
    main()
