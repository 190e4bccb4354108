"""Metrics: pure functions, and the registry that finds them by name."""

from __future__ import annotations

from collections.abc import Iterable

from medebench.errors import InputError
from medebench.metrics.base import Metric, Undefined, metric
from medebench.registry import Registry

METRICS = Registry(
    "metric",
    "medebench.metrics",
    {
        "cp_published": "medebench.metrics.context:CP_PUBLISHED",
        "cp": "medebench.metrics.context:CP",
        "ssim": "medebench.metrics.pixel:SSIM",
        "psnr": "medebench.metrics.pixel:PSNR",
        "change_inside": "medebench.metrics.pixel:CHANGE_INSIDE",
        "change_outside": "medebench.metrics.pixel:CHANGE_OUTSIDE",
        "done": "medebench.metrics.intended:DONE",
        "missed": "medebench.metrics.intended:MISSED",
    },
)


def find_metrics(names: Iterable[str] | None = None) -> list[Metric]:
    """The metrics of these names, or all built-in ones; each name once."""
    found: dict[str, Metric] = {}
    for name in METRICS.builtin if names is None else names:
        one = METRICS.find(name)
        if not isinstance(one, Metric):
            raise InputError(f"metric '{name}': is not a Metric; decorate it with medebench.metric")
        if name != one.name and one.name in METRICS.builtin:
            raise InputError(f"metric '{name}': '{one.name}' is a built-in name; choose another")
        found.setdefault(one.name, one)
    return list(found.values())


__all__ = ["METRICS", "Metric", "Undefined", "find_metrics", "metric"]
