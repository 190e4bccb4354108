"""How clear a finding is: how far its evidence lies beyond the thresholds that decided."""

from __future__ import annotations

from medebench.grounding.failure_types import Evidence, FailureType, Thresholds


def margin(kind: FailureType, evidence: Evidence, thresholds: Thresholds) -> float:
    """0 at a threshold, 1 at the far end of the scale; the least where several had to hold.

    For choosing examples: the clearest of a type are those with the largest margin.
    """
    one, at = evidence, thresholds
    if kind == "repainted":
        # Either of the two is enough.
        context = _above(one.change_context, at.repainted_context)
        return max(context, _times(one.change_tone, at.repainted_tone))
    if kind == "damaged":
        details = (one.change_detail, one.roi_detail if one.ea is None else None)
        blurred = max(_below(detail, at.blurred_detail) for detail in details)
        noisy = max(_times(detail, at.noisy_detail) for detail in details)
        if one.ea is None:
            return max(blurred, noisy, _times(one.roi_grain, at.noisy_detail))
        return max(blurred, noisy, _below(one.vq, at.poor_vq))
    if kind == "nothing":
        area = _below(one.change_area, at.nothing_area)
        return min(area, _below(one.change_cover, at.nothing_cover))
    good = _good(one, at)
    if kind == "success":
        return max(0.0, good)
    if kind == "wrong_place":
        return min(_above(one.change_spill, at.wrong_spill), max(0.0, -good))
    # Right place, wrong edit: hardly any spill, and clearly not what was asked for.
    spill = 1.0 if one.change_spill is None else _below(one.change_spill, at.wrong_spill)
    return min(spill, max(0.0, -good))


def _good(one: Evidence, at: Thresholds) -> float:
    """By how much the edit is (above 0) or is not (below 0) the one that was asked for."""
    if one.ea is not None:
        least = at.good_ea
        return _above(one.ea, least) if one.ea >= least else -_below(one.ea, least)
    left, most = one.edit_residual, at.good_residual
    if left is None:
        left = one.roi_residual
    if left is None:
        return -1.0
    return _below(left, most) if left <= most else -_above(left, most)


def _above(value: float | None, threshold: float) -> float:
    """Of the way from the threshold to 1."""
    if value is None or value < threshold:
        return 0.0
    return min(1.0, (value - threshold) / (1 - threshold)) if threshold < 1 else 1.0


def _below(value: float | None, threshold: float) -> float:
    """Of the way from the threshold to 0."""
    if value is None or value > threshold:
        return 0.0
    return 1 - value / threshold if threshold > 0 else 1.0


def _times(value: float | None, threshold: float) -> float:
    """On an open scale: 1 at twice the threshold and beyond."""
    if value is None or value < threshold:
        return 0.0
    return min(1.0, value / threshold - 1) if threshold > 0 else 1.0
