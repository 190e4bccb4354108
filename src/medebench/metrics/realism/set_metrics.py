"""FID and KID as metrics of a run: outputs against references, as one encoder sees them."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from medebench.encoders.encoder import Encoder, Features
from medebench.encoders.inception import InceptionEncoder
from medebench.errors import InputError
from medebench.metrics.metric import MetricInfo, SetMetric, SetScore, Undefined
from medebench.metrics.realism.fid import fid_floor, fid_with_error
from medebench.metrics.realism.kid import kid_of
from medebench.metrics.realism.paired_sets import Pair, interval, pair

#: With fewer pictures than this, the length of Inception's vectors, covariances are singular and
#: FID is mostly bias; KID has none.
KID_BELOW = 2048
#: Source images below which there is no score at all.
LEAST = 10
#: Rounds of chance for the floor, few where pictures are many and the floor is low.
_ROUNDS, _FEW_ROUNDS = 10, 3


def _fid_info(encoder: str) -> MetricInfo:
    return MetricInfo(
        f"fid_{encoder}",
        f"Fréchet distance of outputs and references, {encoder} features; biased for small sets",
        "lower",
        0.0,
        float("inf"),
        ("reference",),
        label="FID",
        decimals=2,
        definition="Fréchet distance of two normal distributions fitted to the Inception vectors "
        "of the outputs and of the references. The fewer the images, the more it is "
        "overestimated. The interval is Student’s, with a standard error from the jackknife over "
        "source images.",
    )


def _kid_info(encoder: str) -> MetricInfo:
    return MetricInfo(
        f"kid_{encoder}",
        f"kernel distance (unbiased MMD²) of outputs and references, {encoder} features",
        "lower",
        -float("inf"),
        float("inf"),
        ("reference",),
        label="KID",
        decimals=4,
        definition="Squared maximum mean discrepancy, with a cubic kernel, of the Inception "
        "vectors of the outputs and of the references, over pairs of pictures from different "
        "source images. It is right on average at any size, and may come out below 0 where "
        "both sets are alike. The interval is Student’s, with a standard error from the jackknife "
        "over source images.",
    )


class _Distance(SetMetric):
    #: Changes when the same features would give another number.
    algorithm: ClassVar[str]
    least = LEAST

    def __init__(self, encoder: Encoder) -> None:
        self.encoder, self.info = encoder, self.about(encoder.name)

    @cached_property
    def variant(self) -> str:  # type: ignore[override]
        return f"{self.algorithm} {self.encoder.identity}"

    def measure(
        self,
        outputs: Features,
        references: Features,
        groups: NDArray[np.int64],
        reference_groups: NDArray[np.int64],
    ) -> SetScore:
        detail: dict[str, Any] = {
            "n": len(outputs),
            "references": len(references),
            "sources": len(np.unique(groups)),
        }
        for count, what in (
            (len(outputs), "output{}"),
            (len(references), "reference{}"),
            (detail["sources"], "source image{}"),
        ):
            if count < self.least:
                found = f"{count} {what.format('' if count == 1 else 's')}"
                return SetScore(None, f"too few: {found}, {self.least} are needed", detail=detail)
        try:
            return self._score(pair(outputs, references, groups, reference_groups), detail)
        except Undefined as reason:
            return SetScore(None, str(reason), detail=detail)

    @staticmethod
    @abstractmethod
    def about(encoder: str) -> MetricInfo:
        """What the numbers mean over the vectors of an encoder of this name."""

    @abstractmethod
    def _score(self, both: Pair, detail: dict[str, Any]) -> SetScore:
        """Of sets that are large enough."""


class FID(_Distance):
    algorithm = "fid-1"
    about = staticmethod(_fid_info)

    def _score(self, both: Pair, detail: dict[str, Any]) -> SetScore:
        value, error = fid_with_error(both)
        low, high = interval(value, error, both.count)
        smaller, larger = sorted((len(both.outputs), len(both.references)))
        detail["se"] = error
        detail["floor"] = fid_floor(both, _ROUNDS if larger <= KID_BELOW else _FEW_ROUNDS)
        if smaller < KID_BELOW:
            detail["note"] = (
                f"biased upwards: {smaller} images are fewer than {KID_BELOW}; compare only at "
                f"equal sizes, next to the floor, and prefer kid_{self.encoder.name}"
            )
        return SetScore(value, None, (max(0.0, low), high), detail)


class KID(_Distance):
    algorithm = "kid-1"
    about = staticmethod(_kid_info)

    def _score(self, both: Pair, detail: dict[str, Any]) -> SetScore:
        found = kid_of(both)
        detail["se"] = found.se
        if found.value < 0:
            detail["note"] = "unbiased, so slightly below 0 where the sets are alike"
        return SetScore(found.value, None, found.interval, detail)


INFOS = {one.name: one for one in (FID.about("inception"), KID.about("inception"))}
#: Over the vectors of any encoder.
fid_metric, kid_metric = FID, KID


def info(name: str, which: str | None = None) -> MetricInfo:
    """What the numbers mean; needs no weights."""
    if name not in INFOS:
        raise InputError(f"metric '{name}': is not FID or KID; expected {' or '.join(INFOS)}")
    return INFOS[name]


def make(
    name: str, which: str | None = None, device: str = "auto", batch: int | None = None
) -> SetMetric:
    """The metric of this name; `which` is a weights file, looked up by default."""
    kind = FID if info(name).name.startswith("fid_") else KID
    return kind(InceptionEncoder(which, device=device, batch=batch))
