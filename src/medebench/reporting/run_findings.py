"""The findings of all runs, read from their ledgers, and the clearest example of each type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from medebench.aliases import with_current_names
from medebench.grounding import FAILURE_TYPES, Evidence, FailureType, Thresholds
from medebench.grounding.finding_margin import margin
from medebench.judge.score_names import judge_of
from medebench.page.private_paths import without_folders
from medebench.reporting.collect import Entry, Material
from medebench.runs.ledger import STALE, STALE_CASE, ScoreRow
from medebench.runs.stages.run_diagnosis import FINDING

#: Examples shown of each type.
EXAMPLES = 4
_EVIDENCE = {one.name for one in fields(Evidence)}
_AGAIN: dict[str, str] = {
    STALE: "the output changed after it was grounded; ground again",
    STALE_CASE: "the case changed after it was grounded; ground again",
}


@dataclass(frozen=True)
class Found:
    """What was found about one output: a type, or the reason why there is none."""

    entry: Entry
    #: The case's key (see `Material`) and its id in the run.
    case: str
    case_id: str
    k: int
    organ: str
    task: str
    source: str
    type: FailureType | None
    #: What decided, or the reason.
    why: str
    evidence: Evidence
    #: Whose EA and VQ were taken, if anybody's.
    judge: str
    #: Thresholds that are not the default ones.
    given: tuple[tuple[str, float], ...] = ()
    #: What the editor's attention was recorded for, where it was.
    concept: str = ""

    @property
    def label(self) -> str:
        return FAILURE_TYPES[self.type] if self.type else "no finding"

    @property
    def margin(self) -> float:
        if self.type is None:
            return 0.0
        return margin(self.type, self.evidence, Thresholds(**dict(self.given)))


def read_findings(material: Material) -> list[Found]:
    """One for each output of the runs that were grounded, in the order of the report."""
    found = []
    for entry in material.entries:
        own = {material.places[key][1]: key for key in entry.cases}
        rows, concepts = [], {}
        for row in entry.told:
            if row.metric == FINDING:
                rows.append(row)
            elif row.metric == "attention_iou":
                concepts[row.case_id, row.k] = str(row.detail.get("concept") or "")
        for row in rows:
            key = own.get(row.case_id)
            if key is None or (key, row.k) not in entry.outputs:
                continue
            known = _read(row)
            case = entry.rows[row.case_id]
            found.append(
                Found(
                    entry,
                    key,
                    row.case_id,
                    row.k,
                    material.groups[0].of(case, None),
                    case.task,
                    case.source,
                    why=without_folders(entry.run, known.pop("why")),
                    concept=concepts.get((row.case_id, row.k), ""),
                    **known,
                )
            )
    return found


def _read(row: ScoreRow) -> dict[str, Any]:
    detail = row.detail
    told = with_current_names(detail.get("evidence", {}))
    judge = str(detail.get("judge") or "")
    if judge == "offline":
        # Earlier findings took the stand-in's numbers for a judge's.
        judge, told = "", told | {"intended": told.get("ea"), "ea": None, "vq": None}
    evidence = {k: v for k, v in told.items() if k in _EVIDENCE}
    given = with_current_names(detail.get("thresholds", {}))
    kind = detail.get("type")
    known = row.value is not None and kind in FAILURE_TYPES
    reason = _AGAIN.get(row.reason or "", row.reason)
    return {
        "type": kind if known else None,
        "why": str(detail.get("why", "")) if known else reason,
        "evidence": Evidence(**evidence),
        "judge": judge,
        "given": tuple(sorted((k, v) for k, v in given.items() if k in Thresholds.model_fields)),
    }


def clearest(found: Iterable[Found], kind: FailureType, most: int = EXAMPLES) -> list[Found]:
    """The examples of a type: the largest margins, but of many editors and of many cases.

    One by one, the clearest finding of an editor that has been shown least, of a case that has
    been shown least; models come before controls.
    """
    left = [one for one in found if one.type == kind]
    chosen: list[Found] = []
    while left and len(chosen) < most:
        best = min(left, key=lambda one: _turn(one, chosen))
        chosen.append(best)
        left.remove(best)
    return chosen


def _turn(one: Found, chosen: Sequence[Found]) -> tuple[Any, ...]:
    editors = sum(other.entry is one.entry for other in chosen)
    cases = sum(other.case == one.case for other in chosen)
    iou = one.evidence.change_iou or 0.0
    place = -iou if one.type in ("success", "weak") else iou
    return (
        one.entry.control,
        cases > 0,
        editors,
        -round(one.margin, 3),
        place,
        one.entry.index,
        one.case,
        one.k,
    )


def judges_of(found: Iterable[Found], material: Material) -> list[tuple[str, bool, int]]:
    """(judge, whether it is a stand-in, how many findings rest on it), most first."""
    counts: dict[tuple[str, bool], int] = {}
    names = {judge_of(s.name): (s.judge, s.stand_in) for s in material.scores if s.judge}
    for one in found:
        if one.judge and one.type:
            who = names.get(one.judge, (one.judge, False))
            counts[who] = counts.get(who, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(who, stand_in, count) for (who, stand_in), count in ordered]
