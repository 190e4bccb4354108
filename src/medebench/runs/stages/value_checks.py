"""What a metric or a judge of any origin returned or raised, as a value or a reason."""

from __future__ import annotations

import math
from typing import Any

from medebench.errors import one_line
from medebench.metrics import METRICS, MetricInfo, find_learned
from medebench.reason import Reason


def impossible(value: float, low: float, high: float, who: str) -> Reason | None:
    """Why a value cannot be a score: a wrong number is worse than none."""
    slack = 1e-9
    if math.isfinite(value) and low - slack <= value <= high + slack:
        return None
    words = f"failed: the {who} returned {value:g}, outside {low:g} to {high:g}"
    return Reason("impossible", words)


def broke(who: str, error: BaseException) -> Reason:
    words = f"failed: the {who} raised {type(error).__name__}: {error}"
    return Reason("error", one_line(words))


def metric_metadata(info: MetricInfo) -> dict[str, Any]:
    """What the report must know of a metric that it cannot find by its name."""
    known = info.name in METRICS.builtin or find_learned(info.name)
    return {} if known else {"metric": info.told()}
