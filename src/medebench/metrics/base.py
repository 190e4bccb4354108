"""What a metric is: a named, pure function of a case and an output, or of two sets of pictures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from medebench.cases.image import Picture
from medebench.cases.opened import OpenCase
from medebench.encoders.base import Encoder, Features

Function = Callable[[OpenCase, Picture], float]
Better = Literal["higher", "lower", "neither"]


class Undefined(Exception):
    """Raised instead of returning a number where there is none; the text says why."""


@dataclass(frozen=True)
class MetricInfo:
    """What a reader must know about the numbers.

    `needs` names what the case must have ("roi", "reference", "prompt", "description");
    where it is missing the score is a reason.
    """

    name: str
    summary: str
    better: Better
    low: float
    high: float
    needs: tuple[str, ...] = ()

    def require(self, case: OpenCase) -> None:
        for need in self.needs:
            if not getattr(case.case, need):
                raise Undefined(f"the case has no {'ROI' if need == 'roi' else need}")

    def told(self) -> dict[str, Any]:
        """For the ledger, where the metric itself may not be at hand when the score is shown."""
        return {name: getattr(self, name) for name in ("summary", "better", "low", "high")}


@dataclass(frozen=True)
class Metric(MetricInfo):
    """A function. The output is always given on the grid and in the depth of the previous image."""

    function: Function = field(kw_only=True)
    #: Which definition, where it has had several: a score of another variant is not this score.
    variant: str | None = field(default=None, kw_only=True)

    @property
    def info(self) -> MetricInfo:
        return self

    def __call__(self, case: OpenCase, output: Picture) -> float:
        self.require(case)
        return self.function(case, output)


@dataclass(frozen=True)
class Subject:
    """An output beside its case, with a memo for what several metrics derive from it."""

    case: OpenCase
    output: Picture
    memo: dict[Any, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    value: float
    detail: dict[str, Any] = field(default_factory=dict)


class BatchMetric(ABC):
    """A metric that owns a network: prepared on many threads, measured on one, many at a time."""

    info: MetricInfo
    #: Which weights: a score of another variant is not this score.
    variant: str

    @property
    def name(self) -> str:
        return self.info.name

    @abstractmethod
    def problem(self) -> str | None:
        """Why it cannot be computed here, and what to do; no torch is imported to tell."""

    @abstractmethod
    def prepare(self, subject: Subject) -> Any:
        """What `measure` needs of one output; Undefined where there is no number."""

    @abstractmethod
    def measure(self, prepared: Sequence[Any]) -> list[Measured | Undefined]:
        """One for each, whatever else is in the batch."""

    def close(self) -> None:  # noqa: B027 - not every one has a network
        """Let go of the network."""


@dataclass(frozen=True)
class SetScore:
    """A score of a whole set of outputs, or the reason why there is none."""

    value: float | None
    reason: str | None = None
    #: 95 % interval, where there is one.
    interval: tuple[float, float] | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


class SetMetric(ABC):
    """A metric of two sets of pictures, given as the vectors of one encoder."""

    info: MetricInfo
    encoder: Encoder
    #: Which weights and which algorithm.
    variant: str
    #: Below this many outputs there is no score.
    least: int

    @property
    def name(self) -> str:
        return self.info.name

    def problem(self) -> str | None:
        """Why it cannot be computed here, and what to do."""
        return self.encoder.problem()

    @abstractmethod
    def measure(
        self,
        outputs: Features,
        references: Features,
        groups: NDArray[np.int64],
        reference_groups: NDArray[np.int64],
    ) -> SetScore:
        """The score; `groups` are equal where pictures belong to the same source image."""


AnyMetric: TypeAlias = Metric | BatchMetric | SetMetric


def metric(
    name: str,
    summary: str,
    *,
    better: Better = "higher",
    low: float = 0.0,
    high: float = 1.0,
    needs: tuple[str, ...] = (),
    variant: str | None = None,
) -> Callable[[Function], Metric]:
    """Make a Metric of a function: `@metric("mine", "what it says")`."""

    def wrap(function: Function) -> Metric:
        return Metric(name, summary, better, low, high, needs, function=function, variant=variant)

    return wrap
