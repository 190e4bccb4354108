"""Why an output failed: one type per output, from the change and a judge's scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from pydantic import Field, model_validator

from medebench.aliases import with_current_names
from medebench.metrics.metric import Undefined
from medebench.settings import Settings

FailureType = Literal["success", "nothing", "weak", "wrong_place", "repainted", "damaged"]

#: Key and label, from best to worst, in the order of every table and picture.
FAILURE_TYPES: dict[FailureType, str] = {
    "success": "success",
    "nothing": "nothing done",
    "weak": "right place, wrong or weak edit",
    "wrong_place": "wrong place",
    "repainted": "whole image repainted",
    "damaged": "damaged quality",
}


def _share(default: float, description: str) -> Any:
    return Field(default=default, ge=0, le=1, description=description)


class Thresholds(Settings):
    """Where one type ends and the next begins. Shares are 0 to 1, colour differences CIE76."""

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, given: Any) -> Any:
        return with_current_names(given) if isinstance(given, Mapping) else given

    repainted_context: float = _share(
        0.5, "repainted: this share of the ROI's surroundings changed"
    )
    repainted_tone: float = Field(
        default=12.0,
        ge=0,
        description="repainted: the tone of the whole image shifted by this",
    )
    blurred_detail: float = Field(
        default=0.33,
        gt=0,
        lt=1,
        description="damaged: this share of the fine detail is left, around the ROI or inside it",
    )
    noisy_detail: float = Field(
        default=2.2,
        gt=1,
        description="damaged: this many times the fine detail; inside the ROI also: this many "
        "times finer than in the input and the reference",
    )
    nothing_area: float = _share(0.01, "nothing done: less than this share of the frame changed")
    nothing_cover: float = _share(0.1, "nothing done: and less than this share of the ROI")
    wrong_spill: float = _share(0.6, "wrong place: this share of the change lies outside the ROI")
    good_ea: float = _share(0.7, "success: a judge's EA of at least this")
    poor_vq: float = _share(0.5, "damaged: a judge's VQ is below this and below EA")
    good_residual: float = _share(
        0.45, "success without a judge: at most this much of the way to the reference is left"
    )
    good_structure: float = _share(
        0.55, "success without a judge: the ROI's structure correlates with the reference's by this"
    )


@dataclass(frozen=True)
class Evidence:
    """What is known about one output; None where a score could not be had."""

    change_area: float | None = None
    change_cover: float | None = None
    change_context: float | None = None
    #: None also where nothing changed.
    change_spill: float | None = None
    change_iou: float | None = None
    change_tone: float | None = None
    change_detail: float | None = None
    roi_detail: float | None = None
    roi_grain: float | None = None
    roi_structure: float | None = None
    roi_residual: float | None = None
    edit_completion: float | None = None
    edit_residual: float | None = None
    #: A judge's; None for the offline stand-in, which knows no more than the pixels above.
    ea: float | None = None
    vq: float | None = None
    #: The stand-in's, to be shown; it decides nothing.
    intended: float | None = None
    attention_iou: float | None = None

    @classmethod
    def of(cls, scores: Mapping[str, float | None], judge: str | None = None) -> Evidence:
        """From the scores of one output by metric name, with those of one judge or of none.

        `judge` is what follows `ea_` and `vq_` in the names of its scores.
        """
        names = {one.name for one in fields(cls)} - {"ea", "vq", "intended"}
        known = cls(
            **{name: scores.get(name) for name in names}, intended=scores.get("intended_offline")
        )
        if judge is None:
            return known
        return replace(known, ea=scores.get(f"ea_{judge}"), vq=scores.get(f"vq_{judge}"))


@dataclass(frozen=True)
class Finding:
    type: FailureType
    #: One sentence, with the numbers that decided.
    why: str
    evidence: Evidence

    @property
    def label(self) -> str:
        return FAILURE_TYPES[self.type]


_DEFAULT = Thresholds()
#: A mean colour difference that is just visible side by side.
_SEEN_TONE = 2.0
_ONLY = "only a model can judge the edit"


def diagnose(evidence: Evidence, thresholds: Thresholds = _DEFAULT) -> Finding:
    """The first rule that holds decides; a later one is only asked where all before it do not."""
    one, at = evidence, thresholds
    area, cover, context = _place(one)
    if context >= at.repainted_context:
        return Finding("repainted", f"{context:.0%} of the surroundings of the ROI changed", one)
    if one.change_tone is not None and one.change_tone >= at.repainted_tone:
        return Finding("repainted", f"all colours are off by {one.change_tone:.0f} on average", one)
    if harm := _harm(one.change_detail, at):
        return Finding("damaged", harm, one)
    if area < at.nothing_area and cover < at.nothing_cover and not _faint(one, at):
        tone = f"; only the tone shifted, by {one.change_tone:.0f}" if _shifted(one) else ""
        return Finding("nothing", f"{area:.1%} of the image changed{tone}", one)
    if one.ea is None and (harm := _harm_inside(one, at)):
        return Finding("damaged", f"inside the ROI {harm}", one)
    good, right = _right(one, at)
    poor = one.ea is not None and one.vq is not None and one.vq < at.poor_vq
    if good and not poor:
        return Finding("success", right, one)
    if one.change_spill is not None and one.change_spill >= at.wrong_spill and not good:
        where = f"{one.change_spill:.0%} of the change lies outside the ROI"
        if one.attention_iou is not None:
            where += f" (attention IoU {one.attention_iou:.2f})"
        return Finding("wrong_place", where, one)
    if good is None:
        raise Undefined(right)
    if poor and one.vq is not None and (one.ea is None or one.vq < one.ea):
        return Finding("damaged", f"VQ is {one.vq:.2f}", one)
    return Finding("weak", f"{cover:.0%} of the ROI changed, but {right}", one)


def _place(one: Evidence) -> tuple[float, float, float]:
    if one.change_area is None:
        raise Undefined("the output was not compared with its input")
    if one.change_cover is None:
        raise Undefined("without an ROI there is no right place")
    # An ROI that is the whole picture has no surroundings to repaint.
    context = 0.0 if one.change_context is None else one.change_context
    return one.change_area, one.change_cover, context


def _harm(detail: float | None, at: Thresholds) -> str | None:
    if detail is None:
        return None
    if detail <= at.blurred_detail:
        return f"blurred: {detail:.0%} of the fine detail is left"
    if detail >= at.noisy_detail:
        return f"noisy: {detail:.1f} times the fine detail of the input"
    return None


def _harm_inside(one: Evidence, at: Thresholds) -> str | None:
    if harm := _harm(one.roi_detail, at):
        return harm
    if one.roi_grain is not None and one.roi_grain >= at.noisy_detail:
        return f"scattered or noisy: its detail is {one.roi_grain:.1f} times finer than before"
    return None


def _shifted(one: Evidence) -> bool:
    return one.change_tone is not None and one.change_tone >= _SEEN_TONE


def _faint(one: Evidence, at: Thresholds) -> bool:
    """An edit too faint for the region, wrinkles for one, but the intended one all the same.

    A shifted tone can look like that by accident, so there must be none.
    """
    left = one.edit_residual
    return left is not None and not _shifted(one) and left <= at.good_residual


def _right(one: Evidence, at: Thresholds) -> tuple[bool | None, str]:
    """Whether the edit is the one asked for, and by what measure; None where nothing can tell.

    A judge's word outranks pixels. Pixels can only be held against the reference: what comes close
    to it in colour, structure and detail is right, also where it is another photograph; what does
    not is wrong in colour, or for somebody else to judge.
    """
    if one.ea is not None:
        return one.ea >= at.good_ea, f"EA is {one.ea:.2f}"
    left, alike = one.edit_residual, one.roi_structure
    if left is None:
        if one.roi_residual is None or alike is None:
            return None, f"{_ONLY}: no reference, or no change or structure in it to compare with"
        if one.roi_residual > at.good_residual or alike < at.good_structure:
            return None, f"{_ONLY}: the reference is another photograph"
        way = f"it has the reference's colours (the way left is {one.roi_residual:.0%})"
    else:
        way = f"the way left to the reference is {left:.0%}"
        if left > at.good_residual and _shifted(one) and (alike or 0.0) >= at.good_structure:
            return None, f"{_ONLY}: the tone of the whole picture was shifted, so colours cannot"
        if one.edit_completion is not None:
            way += f" ({one.edit_completion:.0%} done)"
        if left > at.good_residual:
            return False, way
    if doubt := _doubt(one, at):
        return None, f"{_ONLY}: {way}, but {doubt}"
    structure = "" if alike is None else f" and its structure (correlation {alike:.2f})"
    return True, way + structure


def _doubt(one: Evidence, at: Thresholds) -> str | None:
    """What keeps pixels from calling an edit right whose colours are: half of the way to harm."""
    if one.roi_structure is not None and one.roi_structure < at.good_structure:
        return f"the ROI is not built like the reference's (correlation {one.roi_structure:.2f})"
    detail, grain = one.roi_detail, one.roi_grain
    if detail is not None and not (
        math.sqrt(at.blurred_detail) < detail < math.sqrt(at.noisy_detail)
    ):
        return f"the ROI has {detail:.1f} times the detail"
    if grain is not None and grain >= math.sqrt(at.noisy_detail):
        return f"the detail in the ROI is {grain:.1f} times finer"
    return None
