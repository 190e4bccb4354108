"""The diagnosis in plain words and in rows, made from the numbers and never saying more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from medebench.analysis.estimate import Estimate
from medebench.grounding import FAILURE_TYPES, FailureType, Thresholds
from medebench.grounding.attention_floors import FLOORS, FloorName
from medebench.page.number import between as ends
from medebench.page.number import number as as_text
from medebench.page.number import percent, percent_between
from medebench.page.table import csv_text
from medebench.reason_groups import group_reasons, reasons_in_words
from medebench.reporting.collect import Entry
from medebench.reporting.diagnosis import GAIN, Attention, Diagnosis, Profile
from medebench.reporting.floor_rows import FloorRow
from medebench.reporting.run_findings import Found
from medebench.runs.stages.attention_scores import ATTENTION

Cell = tuple[str, str, str]

#: What each type means, in a half sentence.
MEANINGS: dict[FailureType, str] = {
    "success": "the edit that was asked for",
    "nothing": "the picture is as it was, or only its tone has shifted",
    "weak": "the right region changed, but not, or not enough, as asked",
    "wrong_place": "most of the change lies outside the ROI",
    "repainted": "the surroundings changed as well, or all colours did",
    "damaged": "blurred, noisy, or not like a real picture any more",
}
_NAMED: dict[FloorName, str] = {
    "blob": "a blob in the middle of the frame",
    "frame": "the whole frame",
    "other": "another case’s ROI",
}
#: A model is named with a type that makes up at least this share of its outputs.
_TYPICAL = 0.5
_LEAST = 5


def summary(diagnosis: Diagnosis) -> list[str]:
    one = diagnosis.everything
    shown = [p for p in diagnosis.profiles if p.entry and not p.entry.control]
    who = f"{len(shown)} models" if len(shown) > 1 else shown[0].name if shown else "the controls"
    found = [_successes(diagnosis, who)]
    failures = sorted(
        ((count, kind) for kind, count in one.counts.items() if count and kind != "success"),
        key=lambda item: -item[0],
    )
    if failures:
        parts = [f"{FAILURE_TYPES[kind]} ({count:,})" for count, kind in failures]
        found.append(f"The failures, most frequent first: {', '.join(parts)}.")
    if len(shown) > 1 and (typical := _typical(shown)):
        found.append(f"In at least half of an editor’s outputs: {'; '.join(typical)}.")
    if one.none:
        groups = group_reasons(Counter(o.why for o in _counted(diagnosis) if not o.type).items())
        found.append(
            f"What is undecided is no random part of the outputs: {reasons_in_words(groups)}."
        )
    return found


def _counted(diagnosis: Diagnosis) -> list[Found]:
    """Outputs of models; where there are none, of controls."""
    return [o for o in diagnosis.found if not o.entry.control] or list(diagnosis.found)


def _successes(diagnosis: Diagnosis, who: str) -> str:
    """How many edits are right, between the least and the most that the undecided ones allow."""
    one = diagnosis.everything
    right, outputs = one.counts["success"], one.outputs
    least, most = percent(right / outputs), percent((right + one.none) / outputs)
    bounds = f"{least} of all if no undecided one is, {most} if all are"
    if not any(not stand_in for _, stand_in, _ in diagnosis.judges):
        return (
            f"How many of the {outputs:,} edits of {who} are right is not known: no judge has "
            f"looked. By pixels alone {right:,} of {one.known:,} come close to their reference"
            + (f", and {one.none:,} cannot be decided ({bounds})." if one.none else ".")
        )
    if one.none:
        return f"Of the {outputs:,} outputs of {who}, {right:,} are a success: {bounds}."
    return (
        f"Of the {outputs:,} outputs of {who}, {right:,} are a success "
        f"({percent(one.success.value)}{_ends(one.success)})."
    )


def _typical(profiles: Sequence[Profile]) -> list[str]:
    """ "wrong place for A (7 of 9)"."""
    found: dict[FailureType, list[str]] = {}
    for one in sorted(profiles, key=lambda p: -max(p.counts.values())):
        for kind, count in one.counts.items():
            if kind != "success" and one.known >= _LEAST and count >= _TYPICAL * one.known:
                found.setdefault(kind, []).append(f"{one.name} ({count} of {one.known})")
    return [f"{FAILURE_TYPES[kind]} for {', '.join(names)}" for kind, names in found.items()]


def basis(diagnosis: Diagnosis) -> list[str]:
    """What the findings rest on."""
    found = []
    for judge, stand_in, count in diagnosis.judges:
        note = ", a stand-in and no model" if stand_in else ""
        found.append(f"EA and VQ of {count:,} findings: {judge}{note}.")
    rest = sum(one.type is not None and not one.judge for one in diagnosis.found)
    if rest:
        found.append(
            f"{rest:,} findings rest on pixels alone, without a model as judge: an edit that comes "
            "close to the reference is a success, one that does not is left undecided where the "
            "reference is another photograph."
        )
    known = sum(one.evidence.edit_residual is not None for one in diagnosis.found)
    if known < len(diagnosis.found):
        found.append(
            f"How far an output is from its reference (edit_residual) is known for {known:,} of "
            f"{len(diagnosis.found):,} outputs; of the others the reference is another photograph, "
            "or missing."
        )
    for text, runs in diagnosis.thresholds.items():
        found.append(f"Thresholds of {', '.join(runs)}: {text}.")
    if diagnosis.ungrounded:
        found.append(f"Not grounded: {', '.join(diagnosis.ungrounded)}.")
    return found


def thresholds(diagnosis: Diagnosis) -> list[tuple[str, str, str]]:
    """(name, default value, meaning) of every threshold."""
    return [
        (name, f"{field.default:g}", field.description or "")
        for name, field in Thresholds.model_fields.items()
    ]


def attention_rows(table: Attention) -> list[tuple[Entry, list[Cell]]]:
    """For each editor its cells: (value, interval, chance or coverage or floor)."""
    rows = []
    for entry in table.entries:
        iou, gain, pointing, energy = (
            _attention_cell(table, entry.name, name)
            for name in ("attention_iou", GAIN, *ATTENTION[1:])
        )
        rows.append((entry, [iou, gain, _lead_cell(table, entry.name), pointing, energy]))
    return rows


def floor_rows(table: Attention) -> list[tuple[FloorRow, list[Cell]]]:
    """The same for maps that never saw the picture; what is above chance is not their matter."""
    rows = []
    for row in table.floors:
        iou, pointing, energy = (_attention_cell(table, row.run, name) for name in ATTENTION)
        rows.append((row, [iou, ("–", "", ""), ("–", "", ""), pointing, energy]))
    return rows


def _attention_cell(table: Attention, run: str, name: str) -> Cell:
    one = table.overall.get((run, name), Estimate())
    level = table.overall.get((run, f"{name}_chance"), Estimate())
    scored, total = table.coverage.get((run, name), (0, 0))
    by_chance = "" if level.value is None else f"chance {number(level.value)}"
    signed = name == GAIN
    more = by_chance or f"{scored:,} of {total:,}"
    return number(one.value, signed=signed), between(one, signed=signed), more


def _lead_cell(table: Attention, run: str) -> Cell:
    if run not in table.leads:
        return "–", "", ""
    best, pair = table.leads[run]
    one = Estimate(pair.difference, pair.interval, reason=pair.why)
    return number(one.value, signed=True), between(one, signed=True), FLOORS[best.name]


def looking(table: Attention) -> list[str]:
    """Whether each editor looks at the ROI more than the strongest floor does."""
    found = []
    for entry in table.entries:
        if entry.name not in table.leads:
            found.append(f"{entry.name}: the cases are not at hand, so there is no floor.")
            continue
        best, pair = table.leads[entry.name]
        level = number(table.overall[best.run, "attention_iou"].value)
        floor = f"the strongest floor, {_NAMED[best.name]} ({level})"
        by = "" if pair.difference is None else number(pair.difference, signed=True)
        if pair.interval is None:
            found.append(f"{entry.name} against {floor}: {by}; too few sources to tell.")
            continue
        ends = between(Estimate(pair.difference, pair.interval), signed=True)
        if pair.interval.low > 0:
            text = f"{entry.name} looks at the ROI: its IoU is above {floor}"
        elif pair.interval.high < 0:
            text = f"{entry.name} looks at the ROI less than {floor}"
        else:
            text = f"{entry.name} cannot be told from {floor}"
        found.append(f"{text}: {by}, 95 % interval {ends}.")
    return found


def findings_csv(diagnosis: Diagnosis) -> str:
    evidence = (
        *("change_iou", "change_cover", "change_context", "change_spill", "change_area"),
        *("change_tone", "change_detail", "roi_detail", "roi_grain", "roi_structure"),
        *(
            "roi_residual",
            "edit_completion",
            "edit_residual",
            "ea",
            "vq",
            "intended",
            "attention_iou",
        ),
    )
    heads = ["run", "control", "organ", "task", "case", "k", "type", "finding", "judge"]
    rows: list[Sequence[object]] = [[*heads, "why", "margin", *evidence]]
    for one in diagnosis.found:
        control = "yes" if one.entry.control else "no"
        where = [one.entry.name, control, one.organ, one.task, one.case, one.k]
        about = [one.type or "", one.label, one.judge, one.why, round(one.margin, 4)]
        rows.append([*where, *about, *(getattr(one.evidence, name) for name in evidence)])
    return csv_text(rows)


def attention_csv(table: Attention, published: dict[str, float]) -> str:
    heads = ["organ", "run", "cases", "iou", "low", "high", "chance", "published", "floor", "why"]
    rows: list[Sequence[object]] = [heads]
    shown = [(entry.name, entry.name, "no") for entry in table.entries]
    shown += [(row.run, row.label, "yes") for row in table.floors]
    for organ in table.organs:
        for run, label, floor in shown:
            one = table.by_organ.get((run, "attention_iou", organ), Estimate())
            level = table.by_organ.get((run, "attention_iou_chance", organ), Estimate())
            numbers = [one.value, one.low, one.high, level.value, published.get(organ)]
            rows.append(
                [organ, label, table.cases.get((run, organ), 0), *numbers, floor, one.reason]
            )
    return csv_text(rows)


def number(value: float | None, *, signed: bool = False) -> str:
    return as_text(value, 3, signed=signed)


def between(one: Estimate, *, signed: bool = False) -> str:
    """The interval; why there is none, where there is a value."""
    missing = "" if one.value is None else one.reason or "no interval"
    return ends(one.interval, 3, signed=signed) or missing


def _ends(one: Estimate) -> str:
    if one.interval is None:
        return f", {one.reason}" if one.reason else ""
    return f", 95 % interval {percent_between(one.interval)}"
