"""The outcome as CSV, Markdown, LaTeX and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from medebench.analysis.estimate import Estimate
from medebench.page.table import Cell, Column, Group, Row, Table, csv_records, csv_text
from medebench.page.table_text import NEEDS
from medebench.stresstest.page.edit_images import EditImages
from medebench.stresstest.page.page_facts import PageContext
from medebench.stresstest.page.stress_formats import (
    NO_INTERVAL,
    SETS,
    StressColumn,
    columns,
    measures,
    status,
    why_not,
)
from medebench.stresstest.stress_outcome import PredictorOutcome, StressOutcome, Which

Tables = Mapping[Which, Mapping[str, Estimate]]
#: An estimate that a table lacks altogether.
ABSENT = Estimate(None, reason="not measured")


def cell(tables: Tables, column: StressColumn) -> Estimate:
    return tables.get(column.which, {}).get(column.measure.name, ABSENT)


def headline_rows(outcome: StressOutcome) -> Iterator[tuple[PredictorOutcome, str | None, Tables]]:
    """Each predictor, and below it each kind of edit; None is all kinds together."""
    for one in outcome.predictors:
        yield one, None, one.table
        for kind, tables in one.kinds.items():
            yield one, kind, tables


def kind_text(kind: str) -> str:
    return kind or "no kind given"


def table_csv(outcome: StressOutcome) -> str:
    """Long and complete: every predictor, kind, set and measure in full precision."""
    return csv_records(
        [
            {
                "predictor": one.name,
                "reference": "yes" if one.reference else "no",
                "verdict": outcome.verdict.get(one.name, ""),
                "kind": "all" if kind is None else kind_text(kind),
                "set": which,
                "measure": measure.name,
                "value": found.value,
                "low": found.low,
                "high": found.high,
                "pictures": found.n,
                "reason": found.reason,
            }
            for one, kind, tables in headline_rows(outcome)
            for which in SETS
            for measure in measures(outcome)
            if (found := tables.get(which, {}).get(measure.name)) is not None
        ]
    )


def edits_csv(outcome: StressOutcome, shown: Mapping[str, EditImages], making: PageContext) -> str:
    """A row for every edit and predictor."""
    rows: list[list[object]] = [
        [
            "edit", "sample", "group", "kind", "prompt", "label_before", "label_after",
            "status", "edit_score", "reason", "output",
            "change_edit_mask", "change_keep_mask", "change_elsewhere",
            "predictor", "before", "after", "right_before", "right_after",
        ]
    ]  # fmt: skip
    for edit in outcome.edits:
        one, sample = edit.intended, edit.intended.sample
        changes = shown[one.id].changes if one.id in shown else (None, None, None)
        head: list[object] = [one.id, sample.id, sample.cluster, one.kind, one.prompt]
        head += [sample.label, one.label, status(edit), edit.score, why_not(edit, outcome)]
        head += [edit.output, *changes]
        for predictor in outcome.predictors:
            name = predictor.name
            said = edit.before.get(name), edit.after.get(name)
            right = [
                making.right(outcome, name, label, value)
                for label, value in zip((sample.label, one.label), said, strict=True)
            ]
            words = ["" if r is None else "yes" if r else "no" for r in right]
            rows.append([*head, name, *said, *words])
        if not outcome.predictors:
            rows.append([*head, "", None, None, "", ""])
    return csv_text(rows)


def thresholds_csv(outcome: StressOutcome) -> str:
    rows: list[list[object]] = [
        ["threshold", "kept", "thrown", "predictor", "measure", "value", "low", "high", "verdict"]
    ]
    for at in outcome.thresholds:
        for name, found in at.edited.items():
            head = [at.threshold, at.kept, at.thrown, name, outcome.headline]
            rows.append([*head, found.value, found.low, found.high, at.verdict.get(name, "")])
    return csv_text(rows)


def headline_table(outcome: StressOutcome, making: PageContext | None = None) -> Table:
    """What became of each predictor, with the paper's rows below where `making` names its shift."""
    cols = columns(outcome)
    rows = []
    for one, kind, tables in headline_rows(outcome):
        cells = [_cell(cell(tables, column), column) for column in cols]
        if kind is None:
            verdict = Cell(outcome.verdict.get(one.name, ""))
            rows.append(Row(one.name, [verdict, *cells], "reference" if one.reference else ""))
        else:
            rows.append(Row(kind_text(kind), [Cell(), *cells], aside=True))
    groups, notes = [Group(rows)], list(outcome.words)
    paper = making.published if making else None
    if paper is not None:
        blank = [Cell()] * (len(cols) - 3)
        below = []
        for row in paper.rows:
            cells = [Cell(), Cell(row.original), Cell(), Cell(row.edited), *blank]
            below.append(Row(", ".join(filter(None, (row.predictor, row.kind))), cells))
        groups.append(Group(below, f"Published: {paper.title}; not comparable"))
    return Table(
        [Column("Predictor", "left"), Column("Verdict", "left"), *(Column(c.head) for c in cols)],
        groups,
        f"Stress test {outcome.name}",
        f"{_kept(outcome)} With 95 % intervals.",
        notes,
    )


def table_md(outcome: StressOutcome, making: PageContext) -> str:
    """The headline table and the verdict for a README."""
    return headline_table(outcome, making).markdown()


def table_tex(outcome: StressOutcome, making: PageContext) -> str:
    """The headline table for a paper."""
    made = headline_table(outcome, making)
    return f"{NEEDS}\n{replace(made, caption=f'{made.title}. {made.caption}', notes=()).latex()}"


def counts(outcome: StressOutcome) -> dict[str, int]:
    found = dict.fromkeys(("kept", "thrown", "failed"), 0)
    for edit in outcome.edits:
        found[status(edit)] += 1
    return found


def _kept(outcome: StressOutcome) -> str:
    number = counts(outcome)
    text = f"{number['kept']} of {len(outcome.edits)} edits are used"
    if outcome.encoder:
        text += f" (edit score by {outcome.encoder}, at least {outcome.threshold:g})"
    return text + "."


def _cell(found: Estimate, column: StressColumn) -> Cell:
    measure = column.measure
    text = measure.text(found.value)
    ends = measure.ends(found.interval) or found.reason or NO_INTERVAL
    ends = "" if found.value is None else ends
    return Cell(text, ends, value=found.value, reason=found.reason)


def results_json(
    outcome: StressOutcome, shown: Mapping[str, EditImages], making: PageContext
) -> dict[str, Any]:
    """What `results.json` holds; a missing number is null, with its reason beside it."""
    return {
        "format": 1,
        "name": outcome.name,
        "task": outcome.task,
        "headline": outcome.headline,
        "positive": making.positive or None,
        "shift": making.shift.name if making.shift else None,
        "about": making.about or None,
        "pictures": len(outcome.samples),
        "edits_asked_for": len(outcome.edits),
        **{f"edits_{word}": n for word, n in counts(outcome).items()},
        "threshold": outcome.threshold,
        "encoder": outcome.encoder or None,
        "verdict": dict(outcome.verdict),
        "words": list(outcome.words),
        "predictors": [
            {
                "name": one.name,
                "reference": one.reference,
                "table": _tables(one.table),
                "kinds": {kind: _tables(tables) for kind, tables in one.kinds.items()},
            }
            for one in outcome.predictors
        ],
        "thresholds": [
            {
                "threshold": at.threshold,
                "kept": at.kept,
                "thrown": at.thrown,
                "edited": {name: _estimate(found) for name, found in at.edited.items()},
                "verdict": dict(at.verdict),
            }
            for at in outcome.thresholds
        ],
        "edits": [
            {
                "id": edit.intended.id,
                "sample": edit.intended.sample.id,
                "group": edit.intended.sample.cluster,
                "kind": edit.intended.kind,
                "prompt": edit.intended.prompt,
                "caption": edit.intended.sample.caption,
                "label_before": edit.intended.sample.label,
                "label_after": edit.intended.label,
                "status": status(edit),
                "score": edit.score,
                "reason": why_not(edit, outcome) or None,
                "output": edit.output or None,
                "mean_change": _changes(shown.get(edit.intended.id)),
                "before": dict(edit.before),
                "after": dict(edit.after),
            }
            for edit in outcome.edits
        ],
        "how": {title: dict(pairs) for title, pairs in making.facts},
    }


def _changes(shown: EditImages | None) -> dict[str, float | None] | None:
    parts = ("edit", "keep", "elsewhere")
    return None if shown is None else dict(zip(parts, shown.changes, strict=True))


def _tables(tables: Tables) -> dict[str, Any]:
    return {
        which: {name: _estimate(found) for name, found in cells.items()}
        for which, cells in tables.items()
    }


def _estimate(found: Estimate) -> dict[str, Any]:
    return {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "pictures": found.n,
        "reason": found.reason or None,
    }
