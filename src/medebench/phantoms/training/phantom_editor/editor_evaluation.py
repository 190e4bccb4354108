"""The figures of the editor's model card, measured on phantoms it has never seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from medebench.analysis import Bounds, Interval, mean
from medebench.analysis.interval import UNIT
from medebench.cases import Case, CaseSet, OpenCase, load_cases, open_case
from medebench.errors import MedebenchError
from medebench.grounding.attention_floors import FLOORS, Floors, case_floors
from medebench.grounding.overlap import chance, energy_inside, hot_region, iou, pointing_hit
from medebench.images.picture import Picture
from medebench.metrics.context import cp
from medebench.metrics.intended import HIGH, LOW, edit_completion, edit_residual
from medebench.metrics.metric import Undefined
from medebench.metrics.pixel import mean_change
from medebench.outputs import Output
from medebench.phantoms.training.model_recipes import EDITOR_EVALUATION_SEED
from medebench.progress import Progress, silent
from medebench.systems import Request, SystemInstance, case_seed

#: Ten of each organ, three to five of each task.
COUNT = 130
#: Shows what the model does without an instruction.
BLANK = " "
#: Ends of the scales, by the first word of a measure's name.
_ENDS = {
    "done": Bounds(LOW, HIGH),
    "missed": Bounds(0.0, HIGH),
    "cp": Bounds(-1.0, 1.0),
    "change": UNIT,
    "difference": UNIT,
    "attention": UNIT,
}


class Figure(NamedTuple):
    """A mean over phantoms with its 95 % interval, or why there is none."""

    name: str
    mean: float
    interval: Interval | None
    phantoms: int
    why: str = ""


class Edited(NamedTuple):
    picture: Picture
    attention: NDArray[np.float32] | None


@dataclass(frozen=True)
class _CaseValues:
    """The measures of one phantom; those undefined for it are left out."""

    case: str
    values: dict[str, float]


def evaluate(
    chosen: SystemInstance, count: int = COUNT, progress: Progress = silent
) -> list[Figure]:
    """Edit each phantom with its own, with a wrong and with a blank instruction, and measure."""
    if not chosen.is_batched:
        raise MedebenchError(f"editor '{chosen.name}': is not a model; evaluate one with weights")
    cases = load_cases(f"phantoms:count={count},seed={EDITOR_EVALUATION_SEED}")
    floors = case_floors({case.id: case for case in cases})
    seen: list[_CaseValues] = []
    for case, wrong in _pairs(cases):
        opened = open_case(case)
        own, other, blank = _edit(chosen, opened, (case.prompt, wrong, BLANK))
        values = _measure(opened, own, other, blank) | _attention(opened, own, floors[case.id])
        seen.append(_CaseValues(case.id, values))
        progress(len(seen), count)
    return _figures(seen)


def _pairs(cases: CaseSet) -> Iterator[tuple[Case, str]]:
    """Each case with another's instruction: of its organ's next task where there is one."""
    listed = list(cases)
    for index, case in enumerate(listed):
        others = [*listed[index + 1 :], *listed[:index]]
        far = [one for one in others if one.key_concept != case.key_concept]
        near = [one for one in far if one.organ == case.organ and one.task != case.task]
        yield case, (near or far)[0].prompt


def _edit(chosen: SystemInstance, opened: OpenCase, texts: Sequence[str]) -> list[Edited]:
    made: list[Edited] = []
    seed = case_seed(0, opened.case.id, 0)
    for text in texts:
        # The pictures are the same; only what is said differs.
        said = open_case(replace(opened.case, prompt=text))
        (one,) = chosen.generate_batch([Request(said, 0, seed)])
        if not isinstance(one, Output) or one.image is None:
            raise MedebenchError(f"{opened.case.id}: {one}")
        made.append(Edited(one.image, one.attention))
    return made


def _measure(case: OpenCase, own: Edited, other: Edited, blank: Edited) -> dict[str, float]:
    roi, previous, reference = case.roi, case.previous, case.reference
    values: dict[str, float] = {}
    edited = {"own": own.picture, "wrong": other.picture, "blank": blank.picture}
    shown = {f"{name} instruction": one for name, one in edited.items()} | {"identity": previous}
    for name, output in shown.items():
        with suppress(Undefined):
            values[f"done, {name}"] = edit_completion(previous, output, reference, roi)
            values[f"missed, {name}"] = edit_residual(previous, output, reference, roi)
            values[f"cp, {name}"] = cp(previous, output, roi)
    for name in ("wrong", "blank"):
        if "done, own instruction" in values and f"done, {name} instruction" in values:
            more = values["done, own instruction"] - values[f"done, {name} instruction"]
            values[f"done, own less {name}"] = more
    values["change inside the ROI, own"] = mean_change(previous, own.picture, roi)
    values["change inside the ROI, wrong"] = mean_change(previous, other.picture, roi)
    values["difference of the two inside the ROI"] = mean_change(other.picture, own.picture, roi)
    return values


def _attention(case: OpenCase, edit: Edited, floors: Floors | str) -> dict[str, float]:
    """Attention measures beside chance and the floors of image-blind maps."""
    if edit.attention is None or isinstance(floors, str):
        return {}
    roi = case.roi
    blind = [(label, floors[name]) for name, label in FLOORS.items() if name in floors]
    try:
        region = hot_region(edit.attention)
        expected = chance(region, roi)
        return {
            "attention IoU": iou(region, roi),
            "attention IoU, chance": expected.iou,
            **{f"attention IoU, {label}": one.iou for label, one in blind},
            "attention IoU less chance": iou(region, roi) - expected.iou,
            "attention energy in the ROI": energy_inside(edit.attention, roi),
            "attention energy, chance": expected.energy,
            **{f"attention energy, {label}": one.energy for label, one in blind},
            "attention pointing game": pointing_hit(edit.attention, roi),
            "attention pointing game, chance": expected.pointing,
            **{f"attention pointing game, {label}": one.pointing for label, one in blind},
        }
    except Undefined:
        return {}


def _figures(seen: list[_CaseValues]) -> list[Figure]:
    names = dict.fromkeys(name for one in seen for name in one.values)
    figures = []
    for name in names:
        there = [one for one in seen if name in one.values]
        values = np.array([one.values[name] for one in there])
        cases = [one.case for one in there]
        found = mean(values, cases, _ends(name), exact=name.endswith("identity"))
        assert found is not None
        figures.append(Figure(name, found.value, found.interval(), len(there), found.reason))
    return figures


def _ends(name: str) -> Bounds:
    low, high = _ENDS[name.replace(",", "").split()[0]]
    return Bounds(low - high, high - low) if " less " in name else Bounds(low, high)
