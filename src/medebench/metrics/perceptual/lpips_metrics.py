"""LPIPS as metrics of a run: many outputs against few references, each pair computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from medebench.cases.open_case import once
from medebench.device import TORCH, missing_releases, no_device
from medebench.encoders.feature_store import FeatureStore, picture_key
from medebench.errors import InputError, MedebenchError
from medebench.files import sha256
from medebench.images.picture import Picture
from medebench.metrics.metric import BatchMetric, Measured, MetricInfo, Subject, Undefined
from medebench.metrics.perceptual.backbones import BACKBONES
from medebench.metrics.perceptual.lpips_comparer import Comparer, Comparison, shared_comparer
from medebench.metrics.perceptual.lpips_distance import (
    check_roi,
    check_size,
    low_for,
    number,
)
from medebench.metrics.perceptual.lpips_weights import read_weights
from medebench.weights import Absent, Found, find_weights, need_weights
from medebench.weights.local_weights import GIVEN

#: Changes when the same weights would give other numbers.
ALGORITHM = "lpips-1"


_DEFINITION = (
    "Output and reference go through a network trained on photographs; the squared "
    "differences of their features, weighted by what people call similar, are averaged over the "
    "places that count and added up over five layers."
)


def _info(name: str, sublabel: str, summary: str, *needs: str) -> MetricInfo:
    return MetricInfo(
        name,
        summary,
        "lower",
        0.0,
        float("inf"),
        ("reference", *needs),
        label="LPIPS",
        sublabel=sublabel,
        decimals=3,
        definition=_DEFINITION,
    )


_LOOKS = "LPIPS v0.1 of output and reference"
INFOS: dict[str, MetricInfo] = {
    one.name: one
    for one in (
        _info("lpips_alex", "Alex", f"{_LOOKS}, AlexNet, whole frame"),
        _info("lpips_vgg", "VGG", f"{_LOOKS}, VGG16, whole frame"),
        _info(
            "lpips_alex_published",
            "Alex published",
            f"{_LOOKS}, AlexNet fed 0 to 1 as in the published script",
        ),
        _info("lpips_alex_roi", "Alex in ROI", f"{_LOOKS}, AlexNet, inside the ROI only", "roi"),
        _info("lpips_vgg_roi", "VGG in ROI", f"{_LOOKS}, VGG16, inside the ROI only", "roi"),
    )
}


@dataclass(frozen=True)
class LpipsPair:
    reference: Picture
    output: Picture
    roi: NDArray[np.bool_] | None
    data_range: int
    #: What the reference, the ROI and the whole pair are known by.
    reference_key: str
    roi_key: str
    key: str


class Lpips(BatchMetric):
    def __init__(
        self,
        info: MetricInfo,
        weights: str | None = None,
        device: str = "auto",
        batch: int | None = None,
        *,
        net: str | None = None,
        published: bool | None = None,
    ) -> None:
        self.info = info
        self.net = net or info.name.split("_")[1]
        self.backbone = BACKBONES[self.net]
        self.device = device
        self.batch = batch
        #: Pictures that went through the network for this metric.
        self.passes = 0
        if published is None:
            published = info.name.endswith("_published")
        self._low = low_for(published)
        self._weights = weights or f"lpips-{self.net}"

    @cached_property
    def variant(self) -> str:  # type: ignore[override]
        return f"{ALGORITHM} {self._found.identity}"

    def problem(self) -> str | None:
        if lacking := missing_releases(TORCH, "metrics"):
            return lacking
        found = find_weights(self._weights)
        if isinstance(found, Absent):
            return found.problem
        if found.origin == GIVEN:
            # Known files have a checksum; this one is the user's, and is better read now than late.
            try:
                read_weights(found.path, self.backbone)
            except MedebenchError as error:
                return str(error)
        return no_device(self.device)

    def prepare(self, subject: Subject) -> LpipsPair:
        case = subject.case
        self.info.require(case)
        check_size(self.backbone, case.reference)
        roi, roi_key = None, ""
        if "roi" in self.info.needs:
            roi = check_roi(case.roi, case.reference)
            roi_key = once(case.memo, "roi key", lambda: _region_key(case.roi))
        top, made = case.data_range, subject.output
        reference_key = once(case.memo, "reference key", lambda: picture_key(case.reference, top))
        output_key = once(subject.memo, "output key", lambda: picture_key(made, top))
        key = sha256("\n".join((self.name, reference_key, output_key, roi_key)).encode())
        return LpipsPair(case.reference, made, roi, top, reference_key, roi_key, key)

    def measure(self, prepared: Sequence[LpipsPair]) -> list[Measured | Undefined]:
        kept = self._store.get(one.key for one in prepared)
        found: dict[str, float | Undefined] = {
            key: float(one[0])
            for key, one in kept.items()
            if one.size == 1 and 0 <= one[0] < np.inf
        }
        groups: dict[tuple[str, str], dict[str, LpipsPair]] = {}
        for one in prepared:
            if one.key not in found:
                groups.setdefault((one.reference_key, one.roi_key), {})[one.key] = one
        # What is still known of the references is used before it makes room for the next.
        for group in sorted(groups.values(), key=self._must_look):
            computed = self._compute(group)
            known = {key: one for key, one in computed.items() if isinstance(one, float)}
            self._store.put({key: np.array([one], np.float32) for key, one in known.items()})
            found |= computed
        results = [found[one.key] for one in prepared]
        return [Measured(one) if isinstance(one, float) else one for one in results]

    def _must_look(self, group: dict[str, LpipsPair]) -> bool:
        return not self._comparer.knows(_first(group).reference_key, self._low)

    def _compute(self, group: dict[str, LpipsPair]) -> dict[str, float | Undefined]:
        """The outputs of one case."""
        comparer = self._comparer
        case = _first(group)
        asked = Comparison(
            case.reference,
            [one.output for one in group.values()],
            case.data_range,
            self._low,
            case.roi,
            case.reference_key,
            self.batch,
        )
        before = comparer.passes
        try:
            distances = comparer.compare(asked)
        except Undefined as reason:
            return dict.fromkeys(group, reason)
        finally:
            self.passes += comparer.passes - before
        values: dict[str, float | Undefined] = {}
        for key, distance in zip(group, distances, strict=True):
            try:
                # Kept in 32 bits, so that the second time says the same as the first.
                values[key] = number(float(np.float32(distance)))
            except Undefined as reason:
                values[key] = reason
        return values

    def close(self) -> None:
        self.__dict__.pop("_comparer", None)
        if store := self.__dict__.pop("_store", None):
            store.close()

    @cached_property
    def _store(self) -> FeatureStore:
        return FeatureStore(f"lpips-{self.net}", self.variant)

    @cached_property
    def _comparer(self) -> Comparer:
        return shared_comparer(self.net, self._found, self.device)

    @cached_property
    def _found(self) -> Found:
        return need_weights(self._weights, self.name)


def _first(group: dict[str, LpipsPair]) -> LpipsPair:
    return next(iter(group.values()))


def _region_key(roi: NDArray[np.bool_]) -> str:
    return sha256(f"{roi.shape}\n".encode() + np.packbits(roi).tobytes())


def lpips_metric(
    name: str, weights: str | None = None, device: str = "auto", batch: int | None = None
) -> BatchMetric:
    """The metric of this name, created without torch and without reading weights.

    `weights` is a file, else they are found under their name; `batch` is how many pictures go
    through the network at once, if not as many as there is room for.
    """
    if name not in INFOS:
        raise InputError(f"metric '{name}': is not LPIPS; expected one of {', '.join(INFOS)}")
    if batch is not None and batch < 1:
        raise InputError(f"metric '{name}': batch={batch} must be at least 1")
    return Lpips(INFOS[name], weights, device, batch)


def info(name: str, which: str | None = None) -> MetricInfo:
    """For the list of learned metrics: what the numbers under this name mean."""
    return INFOS[name]


make = lpips_metric
