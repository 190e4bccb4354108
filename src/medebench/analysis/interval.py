"""What an interval is, and when there are too few sources to give one."""

from __future__ import annotations

import math
from typing import NamedTuple

#: With fewer sources no interval is given: too little is known of how sources differ.
LEAST_SOURCES = 4
LEVEL = 0.95


class Interval(NamedTuple):
    """A confidence interval, both ends included."""

    low: float
    high: float


class Bounds(NamedTuple):
    """The least and the most that a score can be; infinite where it has no end."""

    low: float = -math.inf
    high: float = math.inf

    @property
    def finite(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)


ALL_THE_SAME = "no interval: all source images say the same"
UNBOUNDED = Bounds()
#: Shares, and most scores.
UNIT = Bounds(0.0, 1.0)


def few_sources(count: int) -> str:
    """Why there is no interval, where that is for want of sources; else nothing.

    >>> few_sources(1), few_sources(9)
    ('no interval: 1 source image', '')
    """
    if count >= LEAST_SOURCES:
        return ""
    return f"no interval: {count} source image{'s' * (count != 1)}"


def students(level: float, freedom: float) -> float:
    """Student's quantile of a two-sided interval of this level."""
    from scipy.special import stdtrit

    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    return float(stdtrit(freedom, (1 + level) / 2))


def unvaried(value: float, t: float, sources: float, bounds: Bounds) -> Interval | None:
    """Interval of what all sources agree on: see `Mean.interval`. None for a score without ends.

    >>> [round(end, 3) for end in unvaried(1.0, students(0.95, 59), 60, UNIT)]
    [0.937, 1.0]
    """
    if not bounds.finite:
        return None
    other = t * t / (sources + t * t)
    return Interval(value - other * (value - bounds.low), value + other * (bounds.high - value))
