"""`build_report`: everything into one folder that opens from the disk and needs nothing else."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from medebench.cases import Case
from medebench.progress import Progress, silent
from medebench.report.collect import Material, collect
from medebench.report.details import detail_scripts
from medebench.report.diagnosis import Diagnosis, make_diagnosis
from medebench.report.export import comparisons_csv, organs_csv, tasks_csv
from medebench.report.figures import Drawing, draw_diagnosis, draw_figures, draw_learned
from medebench.report.folder import Folder, script
from medebench.report.gallery import gallery_data
from medebench.report.learned import Learned, learned_csv, make_learned
from medebench.report.packs import unpack
from medebench.report.page import Parts, page_data, render_page
from medebench.report.published import published_attention
from medebench.report.section import Section
from medebench.report.sets import sets_csv
from medebench.report.statistics import Statistics, compute
from medebench.report.tables import HeadlineTable, make_table
from medebench.report.views import Views, pack_views
from medebench.report.why import attention_csv, findings_csv
from medebench.runs.run import Run

SCRIPTS = (
    "dom.js",
    "packs.js",
    "store.js",
    "theme.js",
    "tables.js",
    "filters.js",
    "gallery.js",
    "large.js",
    "case.js",
)
STYLES = ("page.css", "gallery.css")


@dataclass(frozen=True)
class Report:
    index: Path
    table: HeadlineTable
    #: Whether there is a section of learned metrics.
    learned: bool = False
    #: How many scores are left out because their cases changed, and of how many cases.
    outdated: tuple[int, int] | None = None


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Rows by the hundred thousand all stay, and would be searched for rubbish again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_collector_paused()
def build_report(
    runs: Sequence[Run],
    out: str | Path,
    *,
    headline: str = "cp",
    title: str | None = None,
    published: bool = True,
    sections: Sequence[Section] = (),
    workers: int | None = None,
    progress: Progress = silent,
) -> Report:
    """Write the report of `runs` into `out` and say where its first page is.

    `sections` are added to the page by those who come after the report, such as a study.

    A second report into the same folder replaces the first: pictures that are still right stay,
    what is no longer part of it goes. The same input gives the same bytes.
    """
    material = collect(runs, headline)
    if material.score(headline) is None:
        headline = next((s.name for s in material.scores if s.dimension == "cp"), headline)
    material = replace(material, cases=_cases(material))
    folder = Folder(Path(out).expanduser().absolute())
    statistics = compute(material, workers)
    table = make_table(material, statistics, headline=headline, published=published)
    diagnosis = make_diagnosis(material)
    views = pack_views(material, diagnosis.found if diagnosis else (), folder, workers, progress)
    shares = {key: view.share for key, view in views.cases.items() if view.share is not None}
    drawings = draw_figures(material, statistics, shares, published)
    beside = _ground(material, diagnosis, folder, published)
    learned, worth = _learn(material, statistics, folder)
    for drawing in (*drawings, *beside, *worth):
        folder.write(f"figures/{drawing.name}.svg", drawing.svg)
        folder.write(f"figures/{drawing.name}.pdf", drawing.pdf)
    folder.write("table.csv", table.csv())
    folder.write("table.md", table.markdown())
    folder.write("table.tex", table.latex())
    folder.write("organs.csv", organs_csv(material, statistics))
    folder.write("tasks.csv", tasks_csv(material, statistics))
    folder.write("comparisons.csv", comparisons_csv(material, statistics))
    gallery = gallery_data(material, views, diagnosis)
    chunks = detail_scripts(material, views.order)
    for number, text in chunks.items():
        folder.write(f"assets/details/{number}.js", text)
    data = page_data(material, statistics, table, sorted(chunks), diagnosis)
    folder.write("assets/data.js", script("MEDEBENCH_DATA", data))
    folder.write("assets/cases.js", script("MEDEBENCH_CASES", gallery))
    static = files("medebench.report") / "static"
    scripts = (*SCRIPTS, "diagnosis.js") if diagnosis else SCRIPTS
    styles = (*STYLES, "diagnosis.css") if diagnosis else STYLES
    styles = (*styles, "learned.css") if learned else styles
    for name in (*scripts, *styles):
        folder.write(f"assets/{name}", (static / name).read_bytes())
    for section in sections:
        section.write(folder)
    styles = (*styles, *(name for section in sections for name in section.styles))
    examples = unpack(folder, _examples(diagnosis, views)) if diagnosis else {}
    parts = Parts(drawings, diagnosis, beside, learned, worth, examples, sections)
    html = render_page(material, statistics, table, parts, title, scripts, styles, views, published)
    folder.write("index.html", html)
    folder.close(views.facts)
    return Report(folder.path / "index.html", table, learned is not None, material.outdated)


def _ground(
    material: Material, diagnosis: Diagnosis | None, folder: Folder, published: bool
) -> list[Drawing]:
    """The tables and figures of the diagnosis, if the runs were grounded."""
    if diagnosis is None:
        folder.remove("findings.csv", "attention.csv")
        return []
    folder.write("findings.csv", findings_csv(diagnosis))
    if diagnosis.attention is None:
        folder.remove("attention.csv")
    else:
        beside = published_attention().iou if published else {}
        folder.write("attention.csv", attention_csv(diagnosis.attention, beside))
    return draw_diagnosis(diagnosis, material)


def _examples(diagnosis: Diagnosis, views: Views) -> Iterator[tuple[str, str, str]]:
    """The pictures that are shown among the text, where no script is needed to see them."""
    for one in (one for some in diagnosis.examples.values() for one in some):
        place = one.entry.index, one.case, one.k
        pack, case = views.pack_of(one.case), views.cases[one.case]
        for key in (case.previous, case.reference, views.outputs[place].key):
            yield "small", pack, key
        for over in views.overlays.get(place, ()):
            yield "lines", pack, over.key


def _learn(
    material: Material, statistics: Statistics, folder: Folder
) -> tuple[Learned | None, list[Drawing]]:
    """The learned metrics with their figure and tables, as far as there are any."""
    learned = make_learned(material, statistics)
    if learned and learned.table:
        folder.write("learned.csv", learned_csv(learned, material))
    else:
        folder.remove("learned.csv")
    if learned and learned.sets:
        folder.write("sets.csv", sets_csv(material))
    else:
        folder.remove("sets.csv")
    return learned, draw_learned(learned) if learned else []


def _cases(material: Material) -> dict[str, Case]:
    """The cases by key; one that is gone from its set is missing here, and the page says so."""
    found = {}
    for key, (entry, case_id, _) in material.places.items():
        cases = material.entries[entry].run.cases
        if case_id in cases:
            found[key] = cases[case_id]
    return found
