"""The difference of two numbers that come from the same sources."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from medebench.analysis.clusters import Floats
from medebench.analysis.interval import ALL_THE_SAME, LEVEL, Interval, students

#: With fewer sources that differ from the rest, what two numbers have in common cannot be told.
LEAST_EXCEPTIONS = 2
# Below this, what two numbers have in common is everything.
_SAME = 1e-12
# The smallest p looked for; far below what any number of sources here can show.
_LEAST_P = 1e-9


class Statistic(Protocol):
    """A number with its interval at any level, and what each source adds to its error."""

    @property
    def value(self) -> float: ...
    @property
    def influence(self) -> Floats: ...
    @property
    def sources(self) -> int: ...
    @property
    def exceptions(self) -> int: ...
    @property
    def n(self) -> int: ...
    @property
    def reason(self) -> str: ...
    def interval(self, level: float = LEVEL) -> Interval | None: ...


@dataclass(frozen=True)
class Difference:
    """`first` less `second`, with an interval that knows that both come from the same sources.

    The distances from each number to the ends of its own interval are put together as standard
    errors would be (Newcombe 1998; Zou and Donner 2008, "MOVER"), so that the difference inherits
    the honesty of the two intervals at the ends of a scale, where a bootstrap of 100 % less 0 %
    would be sure of 100 points. Let r be the correlation of what each source adds to either error,
    x and X how far `first` may lie below and above its value, y and Y the same for `second`. Of
    what they share, both go down or both go up; the rest goes its own way:

        low = d - sqrt(r m² + (1 - r)(x² + Y²)),    m = max(x - y, Y - X, k),

    and `high` likewise with x, X and y, Y exchanged. Arms that lean to different sides can look
    alike on one side though the scores vary very differently. So k is how much longer the arms of
    the one would be than those of the other in Student's intervals, times thrice the difference of
    their leans (X - x) / (X + x) and (Y - y) / (Y + y), but at most once. For equal arms that is
    the standard error of a paired difference, x² + y² - 2 r x y; it also is for r below 0, where
    (x + Y)² stands for m².
    The plain form would pair the long arm of the one with the short arm of the other also where
    both move together, and be several times too wide for two editors near the top of a scale.

    No interval where both vary, but by the same in every source: nothing then tells how far the
    difference may be another one elsewhere.
    """

    first: Statistic
    second: Statistic

    @property
    def value(self) -> float:
        return self.first.value - self.second.value

    @property
    def influence(self) -> Floats:
        return self.first.influence - self.second.influence

    @property
    def sources(self) -> int:
        return min(self.first.sources, self.second.sources)

    @property
    def exceptions(self) -> int:
        return max(self.first.exceptions, self.second.exceptions)

    @property
    def n(self) -> int:
        return self.second.n

    @property
    def reason(self) -> str:
        few = self.first.reason or self.second.reason
        return few or (ALL_THE_SAME if self._always else "")

    @property
    def correlation(self) -> float:
        """Of what each source adds to the two errors; 0 where a single source would decide it."""
        if min(self.first.exceptions, self.second.exceptions) < LEAST_EXCEPTIONS:
            return 0.0
        one, other = self.first.influence, self.second.influence
        sizes = float((one**2).sum() * (other**2).sum())
        return max(-1.0, min(1.0, float(one @ other) / math.sqrt(sizes))) if sizes > 0 else 0.0

    def interval(self, level: float = LEVEL) -> Interval | None:
        first, second = self.first.interval(level), self.second.interval(level)
        if first is None or second is None or self._always:
            return None
        alike = self.correlation, self._unlike(level)
        return ends_between(self.first.value, first, self.second.value, second, *alike)

    def p(self) -> float | None:
        """The least level of significance at which the interval leaves out 0."""
        if self.interval() is None:
            return None
        if self.value == 0:
            return 1.0
        low, high = math.log(_LEAST_P), 0.0
        for _ in range(40):
            middle = (low + high) / 2
            ends = self.interval(1 - math.exp(middle))
            if ends is None or ends.low <= 0 <= ends.high:
                low = middle
            else:
                high = middle
        return math.exp(high)

    def _unlike(self, level: float) -> float:
        """How much longer Student's interval of the one would reach than that of the other."""
        one, other = (math.sqrt(float((of.influence**2).sum())) for of in (self.first, self.second))
        few = max(2, self.sources)
        return students(level, few - 1) * math.sqrt(few / (few - 1)) * abs(one - other)

    @property
    def _always(self) -> bool:
        """Whether both vary, and by the same in every source."""
        size = float((self.first.influence**2).sum())
        return size > 0 and float((self.influence**2).sum()) <= _SAME * size


def ends_between(
    value: float,
    ends: Interval,
    other: float,
    other_ends: Interval,
    correlation: float = 0.0,
    unlike: float = 0.0,
) -> Interval:
    """Ends of `value` less `other`, from those of both: see `Difference`."""
    below, above = value - ends.low, ends.high - value
    under, over = other - other_ends.low, other_ends.high - other
    both_down, both_up = below - under, over - above
    least = unlike * min(1.0, 3 * abs(_lean(below, above) - _lean(under, over)))
    return Interval(
        value - other - _reach(below, over, max(both_down, both_up, least), correlation),
        value - other + _reach(above, under, max(-both_down, -both_up, least), correlation),
    )


def _lean(below: float, above: float) -> float:
    return (above - below) / (above + below) if above + below > 0 else 0.0


def _reach(own: float, other: float, shared: float, r: float) -> float:
    together = shared**2 if r > 0 else (own + other) ** 2
    return math.sqrt(abs(r) * together + (1 - abs(r)) * (own**2 + other**2))
