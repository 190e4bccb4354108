"""How the report behaves with thousands of outputs: `python tools/large_report.py --cases 1000`.

Makes cases and eight runs over them, scores them, builds the report twice, opens it in headless
Chromium and prints what each took. With 1,000 cases it holds 8,000 outputs and takes a while.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

from selenium import webdriver

import medebench as mb
from medebench.report import build_report

EDITORS = ["identity", "reference", "inpaint", "inpaint:method=navier-stokes", "blur:sigma=1"]
EDITORS += ["blur:sigma=3", "noise:sigma=0.05", "noise:sigma=0.15"]
#: Sort by the chosen score and wait until the page has drawn; returns milliseconds.
SORT = """
    const done = arguments[0], begin = performance.now();
    const sort = document.getElementById("f-sort");
    sort.selectedIndex = sort.options.length - 1;
    sort.dispatchEvent(new Event("change", { bubbles: true }));
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin)));
"""


def in_browser(page: Path) -> tuple[float, float]:
    """Seconds to load the page, milliseconds to sort the gallery."""
    options = webdriver.ChromeOptions()
    for word in ("headless=new", "no-sandbox", "disable-gpu", "disable-background-networking"):
        options.add_argument(f"--{word}")
    options.binary_location = shutil.which("chromium") or ""
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        begin = time.perf_counter()
        driver.get(page.as_uri())
        loaded = time.perf_counter() - begin
        return loaded, float(driver.execute_async_script(SORT))
    finally:
        driver.quit()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases = mb.load_cases(f"phantoms:count={given.cases}")
        runs = [
            mb.edit(cases, editor, folder / "runs" / editor.replace(":", "-")) for editor in EDITORS
        ]
        begin = time.perf_counter()
        mb.score(runs, judge="offline")
        scored = time.perf_counter() - begin
        times = []
        for _ in range(2):
            begin = time.perf_counter()
            report = build_report(runs, folder / "report")
            times.append(time.perf_counter() - begin)
        size = sum(path.stat().st_size for path in (folder / "report").rglob("*"))
        loaded, sorted_in = in_browser(report.index)
        print(
            f"{given.cases * len(EDITORS):,} outputs: scored in {scored:.0f} s, report in "
            f"{times[0]:.0f} s, again in {times[1]:.0f} s, {size / 1e6:.0f} MB; the page loads in "
            f"{loaded:.1f} s and sorts in {sorted_in:.0f} ms"
        )


if __name__ == "__main__":
    main()
