"""What a metric is: a named, pure function of a case and an output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from medebench.cases.image import Picture
from medebench.cases.opened import OpenCase

Function = Callable[[OpenCase, Picture], float]


class Undefined(Exception):
    """Raised instead of returning a number where there is none; the text says why."""


@dataclass(frozen=True)
class Metric:
    """A function with what a reader must know about its numbers.

    `needs` names what the case must have ("roi", "reference"); where it is missing the score is a
    reason. The output is always given on the grid and in the depth of the previous image.
    """

    name: str
    summary: str
    better: Literal["higher", "lower", "neither"]
    low: float
    high: float
    needs: tuple[str, ...]
    function: Function

    def __call__(self, case: OpenCase, output: Picture) -> float:
        for need in self.needs:
            if getattr(case.case, need) is None:
                raise Undefined(f"the case has no {'ROI' if need == 'roi' else need}")
        return self.function(case, output)


def metric(
    name: str,
    summary: str,
    *,
    better: Literal["higher", "lower", "neither"] = "higher",
    low: float = 0.0,
    high: float = 1.0,
    needs: tuple[str, ...] = (),
) -> Callable[[Function], Metric]:
    """Make a Metric of a function: `@metric("mine", "what it says")`."""

    def wrap(function: Function) -> Metric:
        return Metric(name, summary, better, low, high, needs, function)

    return wrap
