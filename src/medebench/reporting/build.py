"""`build_report`: everything into one folder that opens from the disk and needs nothing else."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from medebench.audit import SummaryRow, known_audit, summary, without_findings
from medebench.cases import Case
from medebench.page.content_key import content_key
from medebench.page.document import write_document
from medebench.page.figure_memory import FigureMemory
from medebench.page.image_packs import unpack
from medebench.page.page_folder import Folder, script
from medebench.page.score_columns import HEADLINES, dimensions
from medebench.page.section import Section
from medebench.page.table import Table
from medebench.progress import Progress, silent
from medebench.reporting.case_views import Views, pack_views
from medebench.reporting.collect import Failures, Material, collect
from medebench.reporting.contents import PACKAGE, Contents
from medebench.reporting.diagnosis import Diagnosis, make_diagnosis
from medebench.reporting.example_outputs import Example, choose_examples
from medebench.reporting.figures.draw_report import draw_figures
from medebench.reporting.gallery import gallery_data
from medebench.reporting.headline_table import HeadlineTable, make_table
from medebench.reporting.judge_details import detail_scripts
from medebench.reporting.learned import make_learned
from medebench.reporting.methods import judges, run_facts, warnings_of
from medebench.reporting.run_findings import Found
from medebench.reporting.scale_runs import is_scale, scale_runs
from medebench.reporting.sections import MATERIAL, RESULTS
from medebench.reporting.statistics_memory import recall_or_compute, what_counts
from medebench.reporting.table_data import comparisons_csv, group_csv, page_data
from medebench.reporting.verdict import make_verdicts
from medebench.runs.run_folder import Run, cases_of

_TITLE = "Text-guided medical image editing"
SCRIPTS = ["dom.js", "packs.js", "store.js", "theme.js", "tables.js", "filters.js"]
SCRIPTS += ["gallery.js", "large.js", "case.js"]
STYLES = ("page.css", "gallery.css")


@dataclass(frozen=True)
class Report:
    """A report that was written: its first page and its headline table."""

    index: Path
    table: HeadlineTable
    #: Whether each model can be trusted, if there is one.
    verdicts: Table | None = None
    #: Whether there is a section of learned metrics.
    learned: bool = False
    #: How many scores are left out because their cases changed, and of how many cases.
    outdated: tuple[int, int] | None = None

    def __repr__(self) -> str:
        return f"Report({self.index})"


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
    headline: str | None = None,
    title: str | None = None,
    published: bool = True,
    failures: Failures = "count",
    scale: bool = True,
    without: Sequence[str] = (),
    audit: bool = True,
    sections: Sequence[Section] = (),
    workers: int | None = None,
    progress: Progress = silent,
) -> Report:
    """Write the report of `runs` into `out` and say where its first page is.

    `headline` names the score that leads: for editing `cp` (as a rule) or `cp_published`, else one
    of the task's. `failures` says whether a failed output counts as doing nothing in what the page
    begins with ("count"), or is left out of it ("omit"); the page can show both. With `scale`, what
    doing nothing and copying the answer get is worked out where no control is among the runs.
    Cases with one of the findings `without` are left out; with `audit`, the page says what is wrong
    with the cases.
    `sections` are added to the page by those who come after the report, such as a study.

    A second report into the same folder replaces the first: pictures that are still right stay,
    what is no longer part of it goes. Numbers and figures are worked out again if anything that
    they are made from has changed. The same input gives the same bytes.
    """
    controls, no_scale = scale_runs(runs, workers, progress) if scale else ([], "")
    remaining = None
    if without:
        remaining = without_findings(cases_of(runs), without, workers=workers, progress=progress)
    material = collect([*runs, *controls], headline, failures, remaining)
    material = replace(material, cases=_cases(material))
    published = published and (material.editing or material.mixed)
    folder = Folder(Path(out).expanduser().absolute())
    key = content_key(what_counts(material))
    statistics = recall_or_compute(material, folder, workers, key)
    figures = FigureMemory(folder)
    lead = material.headline(headline)
    table = make_table(material, statistics, headline=lead, published=published)
    diagnosis = make_diagnosis(material)
    views = pack_views(material, diagnosis.found if diagnosis else (), folder, workers, progress)
    examples = {
        name: choose_examples(
            material, material.score(name), dimensions(material.scores, name, material.task)
        )
        for name in dict.fromkeys([*(n for n in HEADLINES if material.editing), lead])
    }
    shares = {key: view.share for key, view in views.cases.items() if view.share is not None}
    contents = Contents(
        material,
        statistics,
        table,
        diagnosis,
        make_learned(material, statistics),
        views,
        draw_figures(material, statistics, shares, published and material.editing, figures, key),
        figures,
        unpack(folder, _example_pictures(diagnosis, views, examples)),
        published,
        examples,
        [*warnings_of(material), *([no_scale] if no_scale else [])],
        _audited(runs, material, workers, progress) if audit else None,
    )
    folder.write("table.csv", table.csv())
    folder.write("table.md", table.markdown())
    folder.write("table.tex", table.latex())
    for group in material.groups:
        folder.write(group.file, group_csv(material, statistics, group))
    folder.write("comparisons.csv", comparisons_csv(statistics))
    chunks = detail_scripts(material, views.order)
    for number, text in chunks.items():
        folder.write(f"assets/details/{number}.js", text)
    data = page_data(material, statistics, table, sorted(chunks), diagnosis)
    gallery = gallery_data(material, views, diagnosis)
    made = [
        *(make(contents) for make in RESULTS),
        *sections,
        *(make(contents) for make in MATERIAL),
    ]
    shown = [section for section in made if section is not None]
    summary = material.task.summary
    name = title or (_TITLE if material.editing else summary[:1].upper() + summary[1:])
    write_document(
        folder,
        PACKAGE,
        shown,
        title=name,
        head=contents.render(
            "head.html",
            title=name,
            runs=run_facts(material),
            judges=judges(material),
            outputs=sum(len(e.outputs) for e in material.entries if not is_scale(e.run)),
            # With a verdict they stand below it.
            warnings=() if made[0] else contents.warnings,
        ),
        styles=STYLES,
        scripts=SCRIPTS,
        data={
            "data.js": script("MEDEBENCH_DATA", data),
            "cases.js": script("MEDEBENCH_CASES", gallery),
        },
        skip=(shown[0].id, "results"),
        headline=table.headline,
    )
    folder.close(views.facts | figures.facts)
    learned = contents.learned is not None
    verdicts = make_verdicts(material, statistics, lead)
    told = verdicts.table() if verdicts else None
    return Report(folder.path / "index.html", table, told, learned, material.outdated)


def _audited(
    runs: Sequence[Run], material: Material, workers: int | None, progress: Progress
) -> list[SummaryRow] | None:
    cases = cases_of(runs)
    if not len(cases):
        return None
    findings = known_audit(cases, workers=workers, progress=progress).findings
    return summary(findings, [score.name for score in material.scores])


def _example_pictures(
    diagnosis: Diagnosis | None, views: Views, examples: Mapping[str, Sequence[Example]]
) -> Iterator[tuple[str, str, str]]:
    """The pictures that are shown among the text, where no script is needed to see them."""
    found: list[Found | Example] = [one for some in examples.values() for one in some]
    found += [one for some in diagnosis.examples.values() for one in some] if diagnosis else []
    for one in found:
        place = one.entry.index, one.case, one.k
        pack, case = views.pack_of(one.case), views.cases[one.case]
        labels = "previous", "reference", "Input", "Reference"
        for key in (*filter(None, map(case.key, labels)), views.outputs[place].key):
            yield "small", pack, key
        for over in views.overlays.get(place, ()) if isinstance(one, Found) else ():
            yield "lines", pack, over.key


def _cases(material: Material) -> dict[str, Case]:
    """The cases by key; one that is gone from its set is missing here, and the page says so."""
    found = {}
    for key, (entry, case_id, _) in material.places.items():
        cases = material.entries[entry].run.cases
        if case_id in cases:
            found[key] = cases[case_id]
    return found
