"""How the report behaves with thousands of outputs: `python tools/large_report.py --cases 1000`.

Makes cases and eight runs over them, scores them, builds the report twice, opens it in headless
Chromium and prints what each took. With 1,000 cases it holds 8,000 outputs and takes a while.
Many small pictures: `--cases 20000 --runs 2 --pixels 64`.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np
from selenium import webdriver

import medebench as mb
from medebench.reporting import build_report

EDITORS = ["identity", "reference", "inpaint", "inpaint:method=navier-stokes", "blur:sigma=1"]
EDITORS += ["blur:sigma=3", "noise:sigma=0.05", "noise:sigma=0.15"]
#: Folders of a set in the layout of the release, and what its metadata calls them.
ROLES = {"previous": "previous_image", "changed": "changed_image", "previous_mask": "previous_mask"}
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


def draw_set(folder: Path, count: int, pixels: int) -> Path:
    """Smooth random pictures with a disc that changes, in the layout of the release."""
    root = folder / "editing"
    for role in ROLES:
        (root / role).mkdir(parents=True)
    samples = []
    for i in range(count):
        random = np.random.default_rng(i)
        coarse = random.integers(0, 256, (8, 8, 3), dtype=np.uint8)
        previous = cv2.resize(coarse, (pixels, pixels), interpolation=cv2.INTER_CUBIC)
        mask = np.zeros((pixels, pixels), np.uint8)
        x, y = (int(c) for c in random.integers(pixels // 4, 3 * pixels // 4, 2))
        cv2.circle(mask, (x, y), int(random.integers(pixels // 12, pixels // 4)), 255, -1)
        changed = np.where(mask[..., None] > 0, 255 - previous, previous)
        for role, picture in zip(ROLES, (previous, changed, mask), strict=True):
            cv2.imwrite(str(root / role / f"{i}.png"), picture)
        files = {name: f"editing/{role}/{i}.png" for role, name in ROLES.items()}
        task = {"Organ": f"Organ {i % 70 % 13}", "Task": f"Task {i % 70}"}
        samples.append({"id": str(i), "prompt": f"Remove spot {i}."} | task | files)
    (root / "editing_metadata.json").write_text(json.dumps({"samples": samples}))
    return folder


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=len(EDITORS), help="how many of the editors")
    parser.add_argument("--pixels", type=int, help="drawn squares of this size, not phantoms")
    parser.add_argument("--no-audit", action="store_true", help="a report without the audit")
    given = parser.parse_args()
    options = {"audit": False} if given.no_audit else {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = f"phantoms:count={given.cases}"
        if given.pixels:
            source = str(draw_set(folder / "set", given.cases, given.pixels))
        cases = mb.load_cases(source)
        editors = EDITORS[-given.runs :]
        runs = [mb.edit(cases, one, folder / "runs" / one.replace(":", "-")) for one in editors]
        begin = cpu()
        mb.score(runs, judge=None if given.pixels else "offline")
        print(f"{given.cases * len(runs):,} outputs scored in {cpu() - begin:.0f} s of CPU")
        took = []
        for _ in range(2):
            begin = cpu()
            report = build_report(runs, folder / "report", **options)
            took.append(cpu() - begin)
        first, second = took
        share = f"{second / first:.0%} of it"
        print(f"report: {first:.1f} s of CPU; a second time: {second:.1f} s of CPU, {share}")
        files = [path for path in (folder / "report").rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        print(f"{len(files):,} files, {size / 1e6:.0f} MB; at most {most:.0f} MB of memory")
        loaded, sorted_in = in_browser(report.index)
        print(f"the page loads in {loaded:.1f} s and sorts in {sorted_in:.0f} ms")


if __name__ == "__main__":
    main()
