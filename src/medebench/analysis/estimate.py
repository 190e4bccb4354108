"""A number as every table, figure and sentence takes it."""

from __future__ import annotations

from dataclasses import dataclass, field

from medebench.analysis.clusters import Floats
from medebench.analysis.difference import Statistic
from medebench.analysis.interval import LEVEL, Interval


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval, over how many of how many it was taken, or why there is none.

    >>> Estimate(0.91234, Interval(0.85, 0.97), 12, 13)
    Estimate(0.9123, 0.85 to 0.97, 12 of 13)
    >>> Estimate(reason="no ROI")
    Estimate(none: no ROI)
    """

    value: float | None = None
    interval: Interval | None = None
    n: int = 0
    of: int = 0
    reason: str = ""
    #: What each source adds to the error of `value`, where that is known.
    influence: Floats | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        ends = "" if self.interval is None else f", {self.low:.4g} to {self.high:.4g}"
        value = f"none: {self.reason}" if self.value is None else f"{self.value:.4g}"
        return f"Estimate({value}{ends}{f', {self.n} of {self.of}' if self.of else ''})"

    @property
    def low(self) -> float | None:
        return None if self.interval is None else self.interval.low

    @property
    def high(self) -> float | None:
        return None if self.interval is None else self.interval.high


def estimate(found: Statistic, of: int | None = None, level: float = LEVEL) -> Estimate:
    """A statistic at one level; `of` where some of the cases have no value."""
    ends = found.interval(level)
    every = found.n if of is None else of
    return Estimate(found.value, ends, found.n, every, found.reason, found.influence)
