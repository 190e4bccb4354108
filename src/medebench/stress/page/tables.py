"""The outcome as CSV, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from medebench.report.formats import csv_text, md
from medebench.report.latex import escape
from medebench.stress.outcome import PredictorOutcome, Quantity, StressOutcome, Which
from medebench.stress.page.making import Making
from medebench.stress.page.pictures import Shown
from medebench.stress.page.published import published
from medebench.stress.page.texts import NONE, SETS, Column, columns, measures, status, why_not

Tables = Mapping[Which, Mapping[str, Quantity]]
#: A quantity that a table lacks altogether.
ABSENT = Quantity(None, reason="not measured")


def cell(tables: Tables, column: Column) -> Quantity:
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
    rows: list[list[object]] = [
        [
            "predictor", "reference", "verdict", "kind", "set", "measure",
            "value", "low", "high", "pictures", "reason",
        ]
    ]  # fmt: skip
    for one, kind, tables in headline_rows(outcome):
        head = [
            one.name,
            "yes" if one.reference else "no",
            outcome.verdict.get(one.name, ""),
            "all" if kind is None else kind_text(kind),
        ]
        for which in SETS:
            for measure in measures(outcome):
                found = tables.get(which, {}).get(measure.name)
                if found is not None:
                    low, high = found.interval or (None, None)
                    numbers = [found.value, low, high, found.pictures]
                    rows.append([*head, which, measure.name, *numbers, found.reason])
    return csv_text(rows)


def edits_csv(outcome: StressOutcome, shown: Mapping[str, Shown], making: Making) -> str:
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
        head: list[object] = [
            one.id,
            sample.id,
            sample.cluster,
            one.kind,
            one.prompt,
            sample.label,
            one.label,
        ]
        head += [status(edit), edit.score, why_not(edit, outcome), edit.output, *changes]
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
            low, high = found.interval or (None, None)
            numbers = [found.value, low, high]
            head = [at.threshold, at.kept, at.thrown, name, outcome.headline]
            rows.append([*head, *numbers, at.verdict.get(name, "")])
    return csv_text(rows)


def table_md(outcome: StressOutcome, making: Making) -> str:
    """The headline table and the verdict for a README."""
    cols = columns(outcome)
    heads = ["Predictor", "Verdict", *(c.head for c in cols)]
    lines = ["| " + " | ".join(heads) + " |", "|---|---" + "|---:" * len(cols) + "|"]
    for one, kind, tables in headline_rows(outcome):
        name = f"*{md(kind_text(kind))}*" if kind is not None else md(_name(one))
        word = md(outcome.verdict.get(one.name, "")) if kind is None else ""
        cells = [_md_cell(cell(tables, column), column) for column in cols]
        lines.append("| " + " | ".join([name, word, *cells]) + " |")
    if (paper := published(making.shift)) is not None:
        for row in paper.rows:
            name = f"{row.predictor}, {row.kind}" if row.kind else row.predictor
            blank = " |" * (len(cols) - 3)
            numbers = f"{row.original} | | {row.edited} |"
            lines.append(f"| *published: {md(name)}* | | {numbers}{blank}")
    notes = [_kept(outcome), *outcome.words]
    notes += [f"Published: {paper.caption}."] if paper else []
    return "\n".join([*lines, "", *(f"{md(note)}\n" for note in notes)])


def table_tex(outcome: StressOutcome, making: Making) -> str:
    """The headline table for a paper; needs `\\usepackage{booktabs}`."""
    cols = columns(outcome)
    lines = [
        "% needs \\usepackage{booktabs}; written by medebench",
        r"\begin{table}",
        r"  \centering\footnotesize\setlength{\tabcolsep}{4pt}",
        rf"  \begin{{tabular}}{{ll{'r' * len(cols)}}}",
        r"    \toprule",
        "    " + " & ".join(["Predictor", "Verdict", *(escape(c.head) for c in cols)]) + r" \\",
        r"    \midrule",
    ]
    for one, kind, tables in headline_rows(outcome):
        name = escape(_name(one)) if kind is None else rf"\quad {escape(kind_text(kind))}"
        word = escape(outcome.verdict.get(one.name, "")) if kind is None else ""
        cells = [_tex_cell(cell(tables, column), column) for column in cols]
        lines.append("    " + " & ".join([name, word, *cells]) + r" \\")
    paper = published(making.shift)
    if paper is not None:
        lines.append(r"    \midrule")
        title = escape(f"Published: {paper.title}; not comparable")
        lines.append(rf"    \multicolumn{{{len(cols) + 2}}}{{l}}{{\emph{{{title}}}}} \\")
        for row in paper.rows:
            name = escape(f"{row.predictor}, {row.kind}" if row.kind else row.predictor)
            numbers = [text.replace("±", r"$\pm$") for text in (row.original, row.edited)]
            cells = [numbers[0], "", numbers[1], *[""] * (len(cols) - 3)]
            lines.append("    " + " & ".join([name, "", *cells]) + r" \\")
    caption = escape(f"Stress test {outcome.name}. {_kept(outcome)} Small: 95 % intervals.")
    lines += [
        r"    \bottomrule",
        r"  \end{tabular}",
        rf"  \caption{{{caption}}}",
        r"\end{table}",
        "",
    ]
    return "\n".join(lines)


def counts(outcome: StressOutcome) -> dict[str, int]:
    found = dict.fromkeys(("kept", "thrown", "failed"), 0)
    for edit in outcome.edits:
        found[status(edit)] += 1
    return found


def _name(one: PredictorOutcome) -> str:
    return f"{one.name} (reference)" if one.reference else one.name


def _kept(outcome: StressOutcome) -> str:
    number = counts(outcome)
    text = f"{number['kept']} of {len(outcome.edits)} edits are used"
    if outcome.encoder:
        text += f" (edit score by {outcome.encoder}, at least {outcome.threshold:g})"
    return text + "."


def _md_cell(found: Quantity, column: Column) -> str:
    text = column.measure.text(found.value)
    ends = column.measure.ends(found.interval)
    return f"{text} [{ends}]" if ends else text


def _tex_cell(found: Quantity, column: Column) -> str:
    if found.value is None:
        return escape(NONE)
    text = escape(column.measure.text(found.value))
    ends = column.measure.ends(found.interval)
    return rf"{text} {{\tiny ({escape(ends)})}}" if ends else text
