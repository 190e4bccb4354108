"""`niqe` and `brisque` as metrics. No network: all is done where outputs are prepared."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from medebench.errors import MedebenchError, NotReadyError
from medebench.files import sha256
from medebench.images.picture import Picture
from medebench.metrics.metric import BatchMetric, Measured, MetricInfo, Subject, Undefined
from medebench.metrics.quality.brisque import brisque, find_brisque, read_brisque
from medebench.metrics.quality.niqe import niqe, read_niqe
from medebench.weights import need_weights

#: A picture and its data range -> the score.
Score = Callable[[Picture, int], float]

_PHOTOGRAPHS = "made for photographs, not for radiographs"

#: Measured on the 63 outputs of the excerpt, docs/metrics.md.
_BLIND = (
    "no best is marked: on real outputs it does not follow the judge’s VQ (ρ {}); compare with "
    "the value of the inputs"
)

INFOS = {
    "niqe": MetricInfo(
        "niqe",
        f"distance of the output from natural pictures (NIQE; {_PHOTOGRAPHS})",
        better="lower",
        low=0.0,
        high=math.inf,
        label="NIQE",
        decimals=2,
        definition="Distance of the local contrast statistics of the output from those of sharp "
        "everyday photographs; no reference is used.",
        unranked=_BLIND.format("−0.02"),
    ),
    "brisque": MetricInfo(
        "brisque",
        f"visible distortion of the output, about 0 to 100 (BRISQUE; {_PHOTOGRAPHS})",
        better="lower",
        low=-math.inf,
        high=math.inf,
        label="BRISQUE",
        decimals=1,
        definition="Prediction of a regression on local contrast statistics, fitted to people’s "
        "ratings of distorted photographs; no reference is used.",
        unranked=_BLIND.format("−0.10"),
    ),
}


class QualityMetric(BatchMetric):
    """Reads its parameters at once: they are small, and what is wrong with them is known then."""

    def __init__(self, name: str, which: str | None = None) -> None:
        self.info = INFOS[name]
        self._problem: str | None = None
        self._score: Score | None = None
        try:
            self._score, known_by = _MAKERS[name](which)
        except MedebenchError as error:
            self._problem, known_by = str(error), "absent"
        self.variant = f"{name}-1 {known_by}"

    def problem(self) -> str | None:
        return self._problem

    def prepare(self, subject: Subject) -> Measured:
        if self._score is None:
            raise NotReadyError(f"metric '{self.name}': {self._problem}")
        self.info.require(subject.case)
        value = self._score(subject.output, subject.case.data_range)
        if not math.isfinite(value):
            raise Undefined("the picture's statistics give no finite number")
        return Measured(value)

    def measure(self, prepared: Sequence[Measured]) -> list[Measured | Undefined]:
        return list(prepared)


def _make_niqe(which: str | None) -> tuple[Score, str]:
    found = need_weights(which or "niqe")
    parameters = read_niqe(found.path)
    return lambda picture, data_range: niqe(picture, data_range, parameters), found.identity


def _make_brisque(which: str | None) -> tuple[Score, str]:
    found, ranges = find_brisque(which)
    parameters = read_brisque(found.path, ranges)
    known_by = f"{found.identity} ranges {sha256(ranges.read_bytes())[:8]}"
    return lambda picture, data_range: brisque(picture, data_range, parameters), known_by


_MAKERS: dict[str, Callable[[str | None], tuple[Score, str]]] = {
    "niqe": _make_niqe,
    "brisque": _make_brisque,
}


def info(name: str, which: str | None = None) -> MetricInfo:
    return INFOS[name]


def make(
    name: str, which: str | None = None, device: str = "auto", batch: int | None = None
) -> QualityMetric:
    """`which` is a file of parameters; device and batch are for metrics with a network."""
    return QualityMetric(name, which)
