"""Attention maps of outputs as scores: how well an editor looked where it was to edit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from medebench.cases import OpenCase
from medebench.errors import InputError, one_line
from medebench.files import read_bytes, sha256
from medebench.grounding import chance, energy_inside, hot_region, iou, pointing_hit
from medebench.grounding.attention_files import read_map
from medebench.metrics import Undefined
from medebench.reason import Reason, reason_of
from medebench.runs.ledger import Ledger, OutputRow, ScoreRow
from medebench.runs.run_folder import Run
from medebench.runs.stages.output_stage import OutputStage
from medebench.runs.visits import Opened, Target, take_files

#: Measures of a map; each has a twin `..._chance`, its level if the ROI lay anywhere.
ATTENTION = ("attention_iou", "attention_pointing", "attention_energy")
SCORES = (*ATTENTION, *(f"{name}_chance" for name in ATTENTION))
#: What is copied from the output into the detail of its scores.
_TOLD = ("concept", "source", "token", "layers", "steps")

Heat = NDArray[np.float32]
Result = TypeVar("Result")


class AttentionScores(OutputStage):
    needs = ""

    def __init__(self, runs: Sequence[Run], ledgers: Sequence[Ledger]) -> None:
        self.wanted = dict.fromkeys(SCORES)
        self._runs: dict[int, Run] = {}
        for index, (run, ledger) in enumerate(zip(runs, ledgers, strict=True)):
            if _is_attended(ledger):
                # A picture that was replaced by hand has no attention any more.
                take_files(run, ledger)
            if _is_attended(ledger):
                self._runs[index] = run

    def wants(self, target: Target, sha: str | None) -> Sequence[str]:
        if target.run not in self._runs:
            return ()
        look, known = self._look(target), target.scored.get(SCORES[-1])
        now = look.row.sha256, target.now.digest, look.variant
        same = known is not None and (known.output, known.seen, known.variant) == now
        return () if same else SCORES

    def _look(self, target: Target) -> _Look:
        path, row = self._runs[target.run].attention_path(*target.place), target.known
        there = path.is_file() and "attention" in row.detail and row.sha256 is not None
        return _Look(target, row, path, sha256(read_bytes(path))[:16] if there else None)

    def do(self, opened: Opened, names: Sequence[str]) -> list[ScoreRow]:
        look = self._look(opened.target)
        return _rows(look, _reason(look) or _read(look, opened.case), opened.case)


def _is_attended(ledger: Ledger) -> bool:
    return any("attention" in row.detail for row in ledger.outputs().values())


@dataclass(frozen=True)
class _Look:
    """An output of an editor that shows its attention."""

    target: Target
    row: OutputRow
    path: Path
    #: The map's hash; None where there is no map.
    variant: str | None


def _reason(look: _Look) -> Reason | None:
    """Why there is nothing to measure, if so."""
    row = look.row
    if row.sha256 is None:
        return Reason("no-output", f"no output: {row.reason}")
    told = row.detail.get("attention")
    if not isinstance(told, dict):
        return Reason("no-part", "no attention was recorded for this output")
    if told.get("reason"):
        return Reason("no-part", f"no attention: {one_line(str(told['reason']))}")
    if look.variant is None:
        return Reason("missing-file", "the attention map is missing; edit the case again")
    return look.target.outdated


def _read(look: _Look, case: OpenCase) -> Reason | Heat:
    try:
        if case.case.roi is None:
            return Reason("undefined", "the case has no ROI")
        return read_map(look.path, *case.roi.shape)
    except InputError as error:
        return Reason("unreadable", one_line(str(error)))


def _rows(look: _Look, heat: Reason | Heat, case: OpenCase) -> list[ScoreRow]:
    row = look.row
    told = row.detail.get("attention")
    detail: dict[str, Any] = {} if look.variant is None else {"variant": look.variant}
    if isinstance(told, dict):
        detail |= {name: told[name] for name in _TOLD if told.get(name) is not None}

    def made(name: str, found: float | Reason, more: dict[str, Any]) -> ScoreRow:
        value, reason = (None, found) if isinstance(found, Reason) else (found, None)
        seen, told = look.target.now.digest, detail | more
        return ScoreRow(row.case_id, row.k, name, row.sha256, value, reason, told, seen=seen)

    if isinstance(heat, Reason):
        return [made(name, heat, {}) for name in SCORES]
    rows = []
    found, level, reached = _grounded(heat, case.roi)
    for name in ATTENTION:
        more: dict[str, Any] = {}
        if not isinstance(level[name], Reason):
            more["chance"] = level[name]
        if name == "attention_iou" and reached is not None:
            more["reached_by_chance"] = reached
        rows.append(made(name, found[name], more))
    return rows + [made(f"{name}_chance", level[name], {}) for name in ATTENTION]


def _grounded(
    heat: Heat, roi: NDArray[np.bool_]
) -> tuple[dict[str, float | Reason], dict[str, float | Reason], float | None]:
    """Measures and their chance levels, each a number or a reason; the share of better places."""
    region = _try(partial(hot_region, heat))
    found: dict[str, float | Reason] = {
        "attention_iou": region if isinstance(region, Reason) else _try(partial(iou, region, roi)),
        "attention_pointing": _try(partial(pointing_hit, heat, roi)),
        "attention_energy": _try(partial(energy_inside, heat, roi)),
    }
    by_chance = region if isinstance(region, Reason) else _try(partial(chance, region, roi))
    # Any map has the ROI's share as the chance level of these two.
    share = float(roi.mean())
    level = {
        name: share if not isinstance(found[name], Reason) else found[name]
        for name in ATTENTION[1:]
    }
    if isinstance(by_chance, Reason):
        # Without its chance level an IoU would be averaged over other outputs than that level.
        return found | {"attention_iou": by_chance}, {"attention_iou": by_chance} | level, None
    return found, {"attention_iou": by_chance.iou} | level, by_chance.iou_reached


def _try(function: Callable[[], Result]) -> Result | Reason:
    try:
        return function()
    except Undefined as error:
        return reason_of(error)
