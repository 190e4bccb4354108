"""What the editor can do, on phantoms it has never seen: the figures of its model card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from medebench.analysis import Interval, mean
from medebench.cases import Case, CaseSet, OpenCase, load_cases, open_case
from medebench.cases.image import Picture
from medebench.editors import BatchEditor, Chosen, Edit, Request, case_seed
from medebench.errors import MedebenchError
from medebench.grounding.overlap import chance, energy_inside, hot_region, iou, pointing_hit
from medebench.metrics.base import Undefined
from medebench.metrics.context import cp
from medebench.metrics.intended import edit_completion, edit_residual
from medebench.metrics.pixel import mean_change
from medebench.progress import Progress, silent
from medebench.tuning.phantom_editor.recipe import EVALUATION_SEED

#: Ten of each organ, three to five of each task.
COUNT = 130
#: What the model does when it is told nothing.
BLANK = " "


class Figure(NamedTuple):
    """A mean over phantoms with its 95 % interval."""

    name: str
    mean: float
    interval: Interval | None
    phantoms: int


@dataclass(frozen=True)
class _Seen:
    """What one phantom gave; a measure that is not defined for it is not there."""

    case: str
    values: dict[str, float]


def evaluate(chosen: Chosen, count: int = COUNT, progress: Progress = silent) -> list[Figure]:
    """Edit each phantom with its own, with a wrong and with a blank instruction, and measure."""
    editor = chosen.editor
    if not isinstance(editor, BatchEditor):
        raise MedebenchError(f"editor '{chosen.name}': is not a model")
    cases = load_cases(f"phantoms:count={count},seed={EVALUATION_SEED}")
    seen: list[_Seen] = []
    for case, wrong in _pairs(cases):
        opened = open_case(case)
        own, other, blank = _edit(editor, opened, (case.prompt, wrong, BLANK))
        seen.append(_Seen(case.id, _measure(opened, own, other, blank)))
        progress(len(seen), count)
    return _figures(seen)


def _pairs(cases: CaseSet) -> Iterator[tuple[Case, str]]:
    """Each case with another's instruction: of its organ's next task where there is one."""
    listed = list(cases)
    for index, case in enumerate(listed):
        others = [*listed[index + 1 :], *listed[:index]]
        near = [
            one
            for one in others
            if one.organ == case.organ
            and one.task != case.task
            and one.key_concept != case.key_concept
        ]
        far = [one for one in others if one.key_concept != case.key_concept]
        yield case, (near or far)[0].prompt


def _edit(editor: BatchEditor, opened: OpenCase, texts: Sequence[str]) -> list[Edit]:
    made: list[Edit] = []
    seed = case_seed(0, opened.case.id, 0)
    for text in texts:
        # The pictures are the same; only what is said differs.
        said = open_case(replace(opened.case, prompt=text))
        (one,) = editor.edit_batch([Request(said, 0, seed)])
        if not isinstance(one, Edit):
            raise MedebenchError(f"{opened.case.id}: {one}")
        made.append(one)
    return made


def _measure(case: OpenCase, own: Edit, other: Edit, blank: Edit) -> dict[str, float]:
    roi, previous, reference = case.roi, case.previous, case.reference
    values: dict[str, float] = {}

    def add(name: str, output: Picture) -> None:
        values[f"done, {name}"] = edit_completion(previous, output, reference, roi)
        values[f"missed, {name}"] = edit_residual(previous, output, reference, roi)
        values[f"cp, {name}"] = cp(previous, output, roi)

    for name, output in (
        ("own instruction", own.picture),
        ("wrong instruction", other.picture),
        ("blank instruction", blank.picture),
        ("identity", previous),
    ):
        try:
            add(name, output)
        except Undefined:
            continue
    for name in ("wrong", "blank"):
        if "done, own instruction" in values and f"done, {name} instruction" in values:
            more = values["done, own instruction"] - values[f"done, {name} instruction"]
            values[f"done, own less {name}"] = more
    values["change inside the ROI, own"] = mean_change(previous, own.picture, roi)
    values["change inside the ROI, wrong"] = mean_change(previous, other.picture, roi)
    values["difference of the two inside the ROI"] = mean_change(other.picture, own.picture, roi)
    return values | _attention(case, own)


def _attention(case: OpenCase, edit: Edit) -> dict[str, float]:
    if edit.attention is None:
        return {}
    roi = case.roi
    try:
        region = hot_region(edit.attention)
        expected = chance(region, roi)
        return {
            "attention IoU": iou(region, roi),
            "attention IoU, chance": expected.iou,
            "attention IoU less chance": iou(region, roi) - expected.iou,
            "attention energy in the ROI": energy_inside(edit.attention, roi),
            "attention energy, chance": expected.energy,
            "attention pointing game": pointing_hit(edit.attention, roi),
            "attention pointing game, chance": expected.pointing,
        }
    except Undefined:
        return {}


def _figures(seen: list[_Seen]) -> list[Figure]:
    names = dict.fromkeys(name for one in seen for name in one.values)
    figures = []
    for name in names:
        there = [one for one in seen if name in one.values]
        values = np.array([one.values[name] for one in there])
        found = mean(values, [one.case for one in there])
        assert found is not None
        figures.append(Figure(name, found.value, found.interval(), len(there)))
    return figures
