"""Grounding: where an editor looked, where its output really changed, and why it failed."""

from __future__ import annotations

from medebench.grounding.change_map import Change, change_map
from medebench.grounding.change_metrics import GROUNDING_METRICS, change_of
from medebench.grounding.failure_types import (
    FAILURE_TYPES,
    Evidence,
    FailureType,
    Finding,
    Thresholds,
    diagnose,
)
from medebench.grounding.overlap import (
    Chance,
    chance,
    energy_inside,
    hot_region,
    iou,
    otsu,
    pointing_hit,
)

__all__ = [
    "FAILURE_TYPES",
    "GROUNDING_METRICS",
    "Chance",
    "Change",
    "Evidence",
    "FailureType",
    "Finding",
    "Thresholds",
    "chance",
    "change_map",
    "change_of",
    "diagnose",
    "energy_inside",
    "hot_region",
    "iou",
    "otsu",
    "pointing_hit",
]
