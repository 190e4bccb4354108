"""Why an output failed: one type per output, from where it changed and what a judge says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal

from pydantic import Field

from medebench.metrics.base import Undefined
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


class Thresholds(Settings):
    """Where one type ends and the next begins. Shares are 0 to 1, colour differences CIE76."""

    repainted_context: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="repainted: this share of the ROI's surroundings changed",
    )
    repainted_tone: float = Field(
        default=12.0, ge=0, description="repainted: the whole picture's tone was shifted by this"
    )
    blurred_detail: float = Field(
        default=0.33, ge=0, lt=1, description="damaged: this share of the fine detail is left"
    )
    noisy_detail: float = Field(
        default=2.5, gt=1, description="damaged: this many times the input's fine detail"
    )
    nothing_area: float = Field(
        default=0.01,
        ge=0,
        le=1,
        description="nothing done: less than this share of the frame changed",
    )
    nothing_cover: float = Field(
        default=0.1, ge=0, le=1, description="nothing done: and less than this share of the ROI"
    )
    wrong_spill: float = Field(
        default=0.6,
        ge=0,
        le=1,
        description="wrong place: this share of the change lies outside the ROI",
    )
    good_ea: float = Field(
        default=0.7, ge=0, le=1, description="success: a judge's EA from here on"
    )
    poor_vq: float = Field(
        default=0.5, ge=0, le=1, description="damaged: a judge's VQ below this and EA"
    )
    good_ea_offline: float = Field(
        default=0.8,
        ge=0,
        le=1,
        description="as good_ea, for the offline stand-in, which gives half the change 0.8",
    )
    poor_vq_offline: float = Field(
        default=0.3, ge=0, le=1, description="as poor_vq, for the offline stand-in"
    )
    good_missed: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="success without a judge: at most this is left of the way to the reference",
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
    done: float | None = None
    missed: float | None = None
    ea: float | None = None
    vq: float | None = None
    #: True where `ea` and `vq` are those of the offline stand-in, whose scale is another.
    stand_in: bool = False
    attention_iou: float | None = None

    @classmethod
    def of(cls, scores: Mapping[str, float | None], judge: str | None = None) -> Evidence:
        """From the scores of one output by metric name, with those of one judge or of none.

        `judge` is what follows `ea_` and `vq_` in the names of its scores: "offline", or a model's.
        """
        names = {one.name for one in fields(cls)} - {"ea", "vq", "stand_in"}
        known = cls(**{name: scores.get(name) for name in names})  # type: ignore[arg-type]
        if judge is None:
            return known
        ea, vq = scores.get(f"ea_{judge}"), scores.get(f"vq_{judge}")
        return replace(known, ea=ea, vq=vq, stand_in=judge == "offline")


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


def diagnose(evidence: Evidence, thresholds: Thresholds = _DEFAULT) -> Finding:
    """The first rule that holds decides; a later one is only asked where all before it do not."""
    one, at = evidence, thresholds
    area, cover, context = _place(one)
    if context >= at.repainted_context:
        return _found("repainted", f"{context:.0%} of the surroundings of the ROI changed", one)
    if one.change_tone is not None and one.change_tone >= at.repainted_tone:
        return _found("repainted", f"all colours are off by {one.change_tone:.0f} on average", one)
    if harm := _harm(one.change_detail, at):
        return _found("damaged", harm, one)
    if area < at.nothing_area and cover < at.nothing_cover and not _faint(one, at):
        return _found("nothing", f"{area:.1%} of the picture changed{_toned(one)}", one)
    good, right = _right(one, at)
    poor = one.vq is not None and one.vq < (at.poor_vq_offline if one.stand_in else at.poor_vq)
    if good and not poor:
        return _found("success", right, one)
    if one.change_spill is not None and one.change_spill >= at.wrong_spill and not good:
        where = f"{one.change_spill:.0%} of the change lies outside the ROI"
        return _found("wrong_place", where + _attended(one), one)
    if good is None:
        raise Undefined(right)
    if poor and one.vq is not None and (one.ea is None or one.vq < one.ea):
        return _found("damaged", f"{_named('VQ', one)} is {one.vq:.2f}", one)
    return _found("weak", f"{cover:.0%} of the ROI changed, but {right}", one)


def _found(kind: FailureType, why: str, evidence: Evidence) -> Finding:
    return Finding(kind, why, evidence)


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


def _faint(one: Evidence, at: Thresholds) -> bool:
    """An edit too faint for the region, wrinkles for one, but the intended one all the same.

    A shifted tone can look like that by accident, so there must be none.
    """
    toned = one.change_tone is not None and one.change_tone >= _SEEN_TONE
    return one.missed is not None and not toned and one.missed <= at.good_missed


def _right(one: Evidence, at: Thresholds) -> tuple[bool | None, str]:
    """Whether the edit is the one asked for, and by what measure; None where nothing can tell.

    A model's judgement outranks pixels. The stand-in sees nothing but pixels of the reference, so
    where that is another photograph, it cannot tell either.
    """
    if one.ea is not None and not one.stand_in:
        return one.ea >= at.good_ea, f"EA is {one.ea:.2f}"
    if one.missed is None:
        return None, "only a model can judge the edit: no reference, or it is another photograph"
    if one.ea is not None:
        return one.ea >= at.good_ea_offline, f"{_named('EA', one)} is {one.ea:.2f}"
    way = f"the way left to the reference is {one.missed:.0%}"
    done = "" if one.done is None else f" ({one.done:.0%} done)"
    return one.missed <= at.good_missed, way + done


def _named(score: str, one: Evidence) -> str:
    return f"{score} (offline stand-in)" if one.stand_in else score


def _toned(one: Evidence) -> str:
    if one.change_tone is None or one.change_tone < _SEEN_TONE:
        return ""
    return f"; only the tone was shifted, by {one.change_tone:.0f}"


def _attended(one: Evidence) -> str:
    return "" if one.attention_iou is None else f" (attention IoU {one.attention_iou:.2f})"
