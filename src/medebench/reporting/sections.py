"""The parts of the report: each is a `Section` that one function makes from the `Contents`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from medebench.analysis.published_tables import DIMENSIONS, published_attention
from medebench.audit import AUDIT_VERSION, SummaryRow
from medebench.page.section import Section
from medebench.page.table import csv_text
from medebench.reporting import set_tables
from medebench.reporting.answers_read import answers_table
from medebench.reporting.ceiling import score_ceiling, type_ceiling
from medebench.reporting.contents import Contents
from medebench.reporting.failure_text import attention_csv, findings_csv
from medebench.reporting.figures.draw_report import draw_diagnosis, draw_learned
from medebench.reporting.format_tables import counts_table, format_tables
from medebench.reporting.learned import learned_csv
from medebench.reporting.methods import judges, repeats, reproduce, run_facts
from medebench.reporting.paper_tables import paper_tables, pass_rate_table, tables_csv
from medebench.reporting.score_agreement import agreement_table, means_of
from medebench.reporting.steering import attempts, tuned_runs
from medebench.reporting.summary_text import finding
from medebench.reporting.sweep_section import sweeps_section
from medebench.reporting.verdict import GOOD, NAMES, POOR, SIGNS, make_verdicts


def verdict_section(contents: Contents) -> Section | None:
    """None where there is no model to judge, or nothing that leads."""
    every = {
        headline: found
        for headline in contents.headlines or [contents.table.headline]
        if (found := make_verdicts(contents.material, contents.statistics, headline))
    }
    if not every:
        return None
    first = every.get(contents.table.headline) or next(iter(every.values()))
    return contents.section(
        "verdict",
        "Verdict",
        "verdict.html",
        styles=["verdict.css"],
        tables={"verdict.csv": first.table().csv()},
        every=every,
        views=contents.views,
        examples=contents.examples,
        example_files=contents.example_files,
        signs=SIGNS,
        names=NAMES,
        good=GOOD,
        poor=POOR,
        foreign=not contents.material.mixed
        and any(row.finding == "other-photograph" for row in contents.audited or ()),
        warnings=contents.warnings,
    )


def scores_section(contents: Contents) -> Section | None:
    if not contents.table.columns:
        return None
    findings = {
        headline: finding(contents.material, contents.statistics, headline)
        for headline in contents.headlines or [contents.table.headline]
    }
    return contents.section(
        "scores", "Scores", "scores.html", score_ceiling=score_ceiling, findings=findings
    )


def comparisons_section(contents: Contents) -> Section | None:
    if not contents.table.columns or len(contents.material.entries) < 2:
        return None
    return contents.section("comparisons", "Comparisons", "comparisons.html")


def formats_section(contents: Contents) -> Section | None:
    """A table for each format; None for sets of one kind of work."""
    material = contents.material
    tables = format_tables(material, contents.statistics, contents.table.headline)
    if not tables:
        return None
    counts = counts_table(material)
    return contents.section(
        "formats",
        "Formats",
        "formats.html",
        styles=["formats.css"],
        tables={
            "formats-tables.csv": tables_csv([one.table for one in tables]),
            "scored.csv": counts.csv(),
        },
        formats=tables,
        counts=counts,
    )


def answers_section(contents: Contents) -> Section | None:
    """None where no score tells how it read the answers."""
    found = answers_table(contents.material, contents.statistics)
    if found is None:
        return None
    return contents.section(
        "answers", "Answers", "answers.html", tables={"answers.csv": found.csv()}, answers=found
    )


def paper_section(contents: Contents) -> Section | None:
    """None where nothing was published about such sets."""
    papers = paper_tables(contents.material, contents.statistics) if contents.published else []
    if not papers:
        return None
    rates = pass_rate_table(contents.material)
    every = [one.table for one in papers] + ([rates] if rates else [])
    return contents.section(
        "paper",
        "Paper",
        "paper.html",
        tables={"paper.csv": tables_csv(every)},
        papers=papers,
        rates=rates,
    )


def alike_section(contents: Contents) -> Section | None:
    """None with fewer systems than can be put in an order that means something."""
    if not contents.material.mixed:
        return None
    means = means_of(contents.material, contents.statistics)
    found = agreement_table(means, "Which scores agree")
    if found is None:
        return None
    return contents.section(
        "alike", "Agreement", "alike.html", tables={"agreement.csv": found.csv()}, agreement=found
    )


def groups_section(contents: Contents) -> Section | None:
    if not contents.table.columns:
        return None
    title = contents.material.groups[0].plural
    return contents.section("groups", title[:1].upper() + title[1:], "breakdown.html")


def figures_section(contents: Contents) -> Section | None:
    if not contents.drawings:
        return None
    return contents.section("figures", "Figures", "figures.html", drawings=contents.drawings)


def learned_section(contents: Contents) -> Section | None:
    """None where no learned metric was computed."""
    learned = contents.learned
    if learned is None:
        return None
    tables = {}
    if learned.table:
        tables["learned.csv"] = learned_csv(learned, contents.material)
    if learned.sets:
        tables["sets.csv"] = set_tables.sets_csv(contents.material)
    return contents.section(
        "learned",
        "Learned",
        "learned.html",
        styles=["learned.css"],
        drawings=draw_learned(learned, contents.figures),
        tables=tables,
        dimensions=DIMENSIONS,
        sets=set_tables,
    )


def failures_section(contents: Contents) -> Section | None:
    """None where no run was grounded."""
    diagnosis = contents.diagnosis
    if diagnosis is None:
        return None
    published = published_attention() if contents.published and contents.material.editing else None
    tables = {"findings.csv": findings_csv(diagnosis)}
    if diagnosis.attention is not None:
        beside = published.iou if published else {}
        tables["attention.csv"] = attention_csv(diagnosis.attention, beside)
    return contents.section(
        "diagnosis",
        "Failures",
        "diagnosis.html",
        styles=["diagnosis.css"],
        scripts=["diagnosis.js"],
        drawings=draw_diagnosis(diagnosis, contents.material, contents.figures),
        tables=tables,
        views=contents.views,
        example_files=contents.example_files,
        attention_published=published,
        type_ceiling=type_ceiling,
    )


def audit_section(contents: Contents) -> Section | None:
    """What is wrong with the cases; None where they were not audited."""
    if contents.audited is None:
        return None
    return contents.section(
        "audit",
        "Cases",
        "audit.html",
        tables={"audit.csv": _audit_csv(contents.audited)},
        rows=contents.audited,
        labels={score.name: score.label for score in contents.material.scores},
        audit_version=AUDIT_VERSION,
        without=contents.material.without,
    )


def _audit_csv(rows: Sequence[SummaryRow]) -> str:
    heads = [["finding", "severity", "cases", "label", "effect", "scores", "audit_version"]]
    told = [
        [r.finding, r.severity, r.cases, r.label, r.effect, " ".join(r.spoils), AUDIT_VERSION]
        for r in rows
    ]
    return csv_text([*heads, *told])


def gallery_section(contents: Contents) -> Section:
    cases = contents.views.cases.values()
    images = "image" in contents.material.task.gives
    inputs = any(case.previous for case in contents.material.cases.values())
    return contents.section(
        "gallery",
        "Gallery",
        "gallery.html",
        outlined=contents.material.editing
        or any(view.outline or any(shot.mark for shot in view.shots) for view in cases),
        changes=contents.material.editing or (images and inputs),
    )


def methods_section(contents: Contents) -> Section:
    material = contents.material
    return contents.section(
        "methods",
        "Methods",
        "methods.html",
        runs=run_facts(material),
        judges=judges(material),
        repeats=repeats(material),
        tuned=tuned_runs(material),
        attempts=attempts(material),
        reproduce=reproduce(material, contents.table, contents.diagnosis),
    )


Maker = Callable[[Contents], Section | None]
#: In the order of the page; what others add to it stands before the last two.
RESULTS: tuple[Maker, ...] = (
    verdict_section,
    scores_section,
    answers_section,
    formats_section,
    comparisons_section,
    groups_section,
    alike_section,
    paper_section,
    learned_section,
    failures_section,
    figures_section,
    sweeps_section,
    audit_section,
)
MATERIAL: tuple[Maker, ...] = (gallery_section, methods_section)
