"""`write_page`: everything a stress test found, into one folder that opens from the disk."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from medebench.progress import Progress, silent
from medebench.report.folder import Folder, script
from medebench.stress.outcome import StressOutcome
from medebench.stress.page.data import page_data
from medebench.stress.page.figures import colours_of, draw_outcome
from medebench.stress.page.making import Making, Pictures
from medebench.stress.page.pictures import write_pictures
from medebench.stress.page.render import SCRIPTS, STYLES, render_page
from medebench.stress.page.results import results_json
from medebench.stress.page.tables import (
    edits_csv,
    table_csv,
    table_md,
    table_tex,
    thresholds_csv,
)


def write_page(
    outcome: StressOutcome,
    pictures: Pictures,
    out: str | Path,
    making: Making | None = None,
    *,
    progress: Progress = silent,
) -> Path:
    """Write page, tables, figures and pictures into `out`, and say where the page is.

    `out` must be empty, new, or an earlier page, which is renewed: pictures that are still right
    stay, what is no longer part of it goes. The same outcome gives the same bytes.
    """
    making = making or Making()
    folder = Folder(Path(out).expanduser().absolute())
    colours = colours_of(outcome)
    shown = write_pictures(outcome, pictures, folder, colours, progress)
    drawings = draw_outcome(outcome, making)
    for drawing in drawings.values():
        folder.write(f"figures/{drawing.name}.svg", drawing.svg)
        folder.write(f"figures/{drawing.name}.pdf", drawing.pdf)
    results = results_json(outcome, shown, making)
    text = json.dumps(results, indent=2, ensure_ascii=False, allow_nan=False)
    folder.write("results.json", text + "\n")
    folder.write("table.csv", table_csv(outcome))
    folder.write("table.md", table_md(outcome, making))
    folder.write("table.tex", table_tex(outcome, making))
    folder.write("edits.csv", edits_csv(outcome, shown, making))
    if outcome.thresholds:
        folder.write("thresholds.csv", thresholds_csv(outcome))
    else:
        folder.remove("thresholds.csv")
    data = page_data(outcome, shown, colours, making)
    folder.write("assets/data.js", script("MEDEBENCH_STRESS", data))
    for name in (*SCRIPTS, *STYLES):
        folder.write(f"assets/{name}", static(name))
    folder.write("index.html", render_page(outcome, making, drawings))
    folder.close({})
    return folder.path / "index.html"


def static(name: str) -> str:
    """A script or style of ours, or one of the report's that serves here too."""
    for package in ("medebench.stress.page", "medebench.report"):
        path = files(package) / "static" / name
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise FileNotFoundError(name)
