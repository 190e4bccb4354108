"""Attention maps of outputs as scores: how well an editor looked where it was to edit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from medebench.cases import Case, OpenCase, open_case
from medebench.errors import InputError, one_line
from medebench.files import read_bytes, sha256
from medebench.grounding import chance, energy_inside, hot_region, iou, pointing_hit
from medebench.grounding.maps import read_map
from medebench.metrics import Undefined
from medebench.runs.case_state import CaseState
from medebench.runs.ledger import Ledger, OutputRow, ScoreRow
from medebench.runs.run import Run

#: Measures of a map; each has a twin `..._chance`, its level if the ROI lay anywhere.
ATTENTION = ("attention_iou", "attention_pointing", "attention_energy")
SCORES = (*ATTENTION, *(f"{name}_chance" for name in ATTENTION))
#: What is copied from the output into the detail of its scores.
_TOLD = ("concept", "source", "token", "layers", "steps")

#: By output: the picture, the case and the map that its scores were computed from.
Known = dict[tuple[str, int], tuple[str | None, str | None, str | None]]
Heat = NDArray[np.float32]
Result = TypeVar("Result")


@dataclass(frozen=True)
class _Look:
    """An output of an editor that shows its attention."""

    run: int
    row: OutputRow
    path: Path
    #: The case as it is now.
    state: CaseState
    #: The map's hash; None where there is no map.
    variant: str | None


@dataclass(frozen=True)
class Looks:
    case: Case
    looks: tuple[_Look, ...]


def plan_looks(
    runs: Sequence[Run], ledgers: Sequence[Ledger], retry_failed: bool = False
) -> list[Looks]:
    """Outputs with attention that was not measured yet, by case; none of editors without any."""
    groups: dict[Case, Looks] = {}
    for index, (run, ledger) in enumerate(zip(runs, ledgers, strict=True)):
        outputs = ledger.outputs()
        if not any("attention" in row.detail for row in outputs.values()):
            continue
        cases, known = run.cases, _known(ledger, retry_failed)
        for (case_id, k), row in outputs.items():
            path = run.attention_path(case_id, k)
            there = path.is_file() and "attention" in row.detail and row.sha256 is not None
            variant = sha256(read_bytes(path))[:16] if there else None
            case, state = cases[case_id], run.states[case_id]
            if known.get((case_id, k), ()) == (row.sha256, state.digest, variant):
                continue
            before = groups[case].looks if case in groups else ()
            groups[case] = Looks(case, (*before, _Look(index, row, path, state, variant)))
    return list(groups.values())


def _known(ledger: Ledger, retry_failed: bool) -> Known:
    """By output, what the last of its scores belongs to."""
    return {
        (row.case_id, row.k): (row.output, row.seen, row.detail.get("variant"))
        for row in ledger.scores()
        if row.metric == SCORES[-1] and not (retry_failed and row.reason is not None)
    }


def attend(work: Looks) -> list[tuple[int, OutputRow | ScoreRow]]:
    """The attention scores of all given outputs of a case."""
    case = open_case(work.case)
    return [
        (look.run, row)
        for look in work.looks
        for row in _rows(look, _reason(look) or _read(look, case), case)
    ]


def _reason(look: _Look) -> str | None:
    """Why there is nothing to measure, if so."""
    row = look.row
    if row.sha256 is None:
        return f"no output: {row.reason}"
    told = row.detail.get("attention")
    if not isinstance(told, dict):
        return "no attention was recorded for this output"
    if told.get("reason"):
        return f"no attention: {one_line(str(told['reason']))}"
    if look.variant is None:
        return "the attention map is missing; edit the case again"
    return look.state.reason


def _read(look: _Look, case: OpenCase) -> str | Heat:
    try:
        if case.case.roi is None:
            return "the case has no ROI"
        return read_map(look.path, *case.roi.shape)
    except InputError as error:
        return one_line(str(error))


def _rows(look: _Look, heat: str | Heat, case: OpenCase) -> list[ScoreRow]:
    row = look.row
    told = row.detail.get("attention")
    detail: dict[str, Any] = {} if look.variant is None else {"variant": look.variant}
    if isinstance(told, dict):
        detail |= {name: told[name] for name in _TOLD if told.get(name) is not None}

    def made(name: str, found: float | str, more: dict[str, Any]) -> ScoreRow:
        value, reason = (None, found) if isinstance(found, str) else (found, None)
        seen, told = look.state.digest, detail | more
        return ScoreRow(row.case_id, row.k, name, row.sha256, value, reason, told, seen=seen)

    if isinstance(heat, str):
        return [made(name, heat, {}) for name in SCORES]
    rows = []
    found, level, reached = _grounded(heat, case.roi)
    for name in ATTENTION:
        more: dict[str, Any] = {}
        if not isinstance(level[name], str):
            more["chance"] = level[name]
        if name == "attention_iou" and reached is not None:
            more["reached_by_chance"] = reached
        rows.append(made(name, found[name], more))
    return rows + [made(f"{name}_chance", level[name], {}) for name in ATTENTION]


def _grounded(
    heat: Heat, roi: NDArray[np.bool_]
) -> tuple[dict[str, float | str], dict[str, float | str], float | None]:
    """Measures and their chance levels, each a number or a reason; the share of better places."""
    region = _try(partial(hot_region, heat))
    found: dict[str, float | str] = {
        "attention_iou": region if isinstance(region, str) else _try(partial(iou, region, roi)),
        "attention_pointing": _try(partial(pointing_hit, heat, roi)),
        "attention_energy": _try(partial(energy_inside, heat, roi)),
    }
    by_chance = region if isinstance(region, str) else _try(partial(chance, region, roi))
    # Any map has the ROI's share as the chance level of these two.
    share = float(roi.mean())
    level = {
        name: share if not isinstance(found[name], str) else found[name] for name in ATTENTION[1:]
    }
    if isinstance(by_chance, str):
        # Without its chance level an IoU would be averaged over other outputs than that level.
        return found | {"attention_iou": by_chance}, {"attention_iou": by_chance} | level, None
    return found, {"attention_iou": by_chance.iou} | level, by_chance.iou_reached


def _try(function: Callable[[], Result]) -> Result | str:
    try:
        return function()
    except Undefined as error:
        return one_line(str(error))
