"""What a metric is: a named pure function of a case and an output, or of two sets of images."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from medebench.cases.case import Case
from medebench.cases.open_case import OpenCase
from medebench.encoders.encoder import Encoder, Features
from medebench.images.picture import Picture
from medebench.models.answers.characters import without_thoughts
from medebench.outputs import Output, Part


@dataclass(frozen=True)
class Measured:
    """A value of a metric, and what stands beside it in the ledger."""

    value: float
    detail: dict[str, Any] = field(default_factory=dict)


#: Given the case and the part of the output that `Metric.of` names.
Function = Callable[[OpenCase, Any], "float | Measured"]
#: What of an output a metric is given: its image, that in the size it came in, its text, that
#: without what a model thought aloud, or all.
Of = Literal["image", "came", "text", "said", "output"]
Better = Literal["higher", "lower", "neither"]
#: The part that must be there for what a metric is given; for all of it, any.
PART_OF: dict[Of, Part | None] = {
    "image": "image",
    "came": "image",
    "text": "text",
    "said": "text",
    "output": None,
}


def part_of(of: Of) -> str:
    """What a metric is about: "image", "text", or "output" for any part."""
    return PART_OF.get(of) or of


class Undefined(Exception):
    """Raised where a score is undefined; the text says why."""


@dataclass(frozen=True)
class MetricInfo:
    """What a reader needs to know about the numbers.

    `needs` names what the case must have ("roi", "reference", "prompt", "description");
    where it is missing the score is a reason.
    """

    name: str
    summary: str
    better: Better
    low: float
    high: float
    needs: tuple[str, ...] = ()
    #: What a table calls it, and which of several of that name it is; without a label, its name.
    label: str = field(default="", kw_only=True)
    sublabel: str = field(default="", kw_only=True)
    #: How many are printed; by default three, and two where values may be above 1.
    decimals: int | None = field(default=None, kw_only=True)
    #: How the numbers come about, for the methods.
    definition: str = field(default="", kw_only=True)
    #: Why nobody should be called the best by it, if so.
    unranked: str = field(default="", kw_only=True)

    def require(self, case: OpenCase) -> None:
        for need in self.needs:
            if not getattr(case.case, need):
                raise Undefined(f"the case has no {'ROI' if need == 'roi' else need}")

    def told(self) -> dict[str, Any]:
        """For the ledger: the metric itself may not be available when the score is shown."""
        shown = {name: getattr(self, name) for name in ("label", "decimals", "definition")}
        shown |= {"needs": [*self.needs], "of": part_of(getattr(self, "of", "image"))}
        usual: tuple[Any, ...] = ("", None, [], "image")
        given = {name: value for name, value in shown.items() if value not in usual}
        return {name: getattr(self, name) for name in ("summary", "better", "low", "high")} | given


@dataclass(frozen=True)
class Metric(MetricInfo):
    """A function. Unless it asks for what came, it is given the image of an output on the grid and
    in the depth of the previous image.
    """

    function: Function = field(kw_only=True)
    #: Which definition, where it has had several: a score of another variant is not this score.
    variant: str | None = field(default=None, kw_only=True)
    of: Of = field(default="image", kw_only=True)

    @property
    def info(self) -> MetricInfo:
        return self

    def __call__(self, case: OpenCase, output: Output | Picture | str) -> float:
        """The score of an output, or of the part that the metric is about."""
        return self.measure(case, output).value

    def measure(self, case: OpenCase, output: Output | Picture | str) -> Measured:
        """The same, with what stands beside the score in the ledger."""
        self.require(case)
        given = self.function(case, self._given(output))
        return given if isinstance(given, Measured) else Measured(float(given))

    def _given(self, output: Output | Picture | str) -> Any:
        if self.of == "said":
            text = output.text if isinstance(output, Output) else output
            return without_thoughts(text) if isinstance(text, str) else text
        whole = isinstance(output, Output) and self.of != "output"
        return getattr(output, self.of) if whole else output


@dataclass(frozen=True)
class Subject:
    """An output and its case, with a memo for what several metrics derive from it."""

    case: OpenCase
    #: The image, for metrics of images.
    output: Picture
    memo: dict[Any, Any] = field(default_factory=dict)
    #: All of it, for metrics of texts or of both.
    whole: Output = field(default_factory=Output)

    @property
    def said(self) -> str:
        """Its text without what a model thought aloud."""
        return without_thoughts(self.whole.text or "")


class BatchMetric(ABC):
    """A metric with a network: prepared on many threads, measured on one, in batches."""

    info: MetricInfo
    #: Which weights: a score of another variant is not this score.
    variant: str
    #: The part of the output it is about; with "output" it looks what there is itself.
    of: Of = "image"

    @property
    def name(self) -> str:
        return self.info.name

    @abstractmethod
    def problem(self) -> str | None:
        """Why it cannot be computed here, and what to do; does not import torch."""

    @abstractmethod
    def prepare(self, subject: Subject) -> Any:
        """What `measure` needs of one output; Undefined where there is no number."""

    @abstractmethod
    def measure(self, prepared: Sequence[Any]) -> list[Measured | Undefined]:
        """One result per item, independent of the rest of the batch."""

    def over(self, cases: Iterable[Case]) -> BatchMetric:
        """The metric for outputs of this set; another one where it depends on all references."""
        return self

    def close(self) -> None:  # noqa: B027 - not every one has a network
        """Release the network."""


@dataclass(frozen=True)
class SetScore:
    """The score of a whole set of outputs, or the reason there is none."""

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
    label: str = "",
    decimals: int | None = None,
    definition: str = "",
    of: Of = "image",
    unranked: str = "",
) -> Callable[[Function], Metric]:
    """Make a metric of a function of an open case and an output.

    Args:
        name: by which its scores are known; `lpips_alex`, not `lpips`.
        summary: what it says, in a line.
        better: "higher", "lower" or "neither".
        low: the least value it can have.
        high: the largest.
        needs: what a case must have: "roi", "reference", "prompt", "description", ...
        variant: changes with the definition: scores of an earlier one are computed anew.
        label: what tables call it.
        decimals: how many are printed.
        definition: how the numbers come about, for the methods of a report.
        of: what of an output the function is given: its "image", the image in the size in which
            it "came", its "text", that without thoughts ("said") or the "output".
        unranked: why nobody should be called the best by it, if so.

    Returns:
        A decorator; what it gives is a `Metric`, which can be called and passed to `score`.

    >>> @mb.metric("mean_grey", "mean grey value", high=255)
    ... def mean_grey(case, image):
    ...     return float(image.mean())
    >>> mean_grey.name
    'mean_grey'
    """

    def wrap(function: Function) -> Metric:
        facts = name, summary, better, low, high, needs
        told: dict[str, Any] = {"label": label, "decimals": decimals, "definition": definition}
        told |= {"unranked": unranked}
        return Metric(*facts, **told, function=function, variant=variant, of=of)

    return wrap
