"""How alike an encoder of medical images finds output and reference.

raddino_cosine, medimageinsight_cosine   the whole image, and only modalities the encoder knows
raddino_medgen, mii_medgen               as MedGEN-Bench: what the model's own preparation
                                         leaves, of every image whatever it shows
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from PIL import Image

from medebench.cases.case import Case
from medebench.encoders.encoder import Encoder, Features
from medebench.encoders.encoder_lookup import ENCODERS, find_encoder
from medebench.encoders.extractor import Extractor, Shown, shared_extractor
from medebench.encoders.image_framing import Framing
from medebench.errors import ImageError, NotReadyError
from medebench.images.picture import Picture
from medebench.metrics.medgen import UNRANKED
from medebench.metrics.medgen.original_images import output_as_published, reference_as_published
from medebench.metrics.metric import BatchMetric, Measured, MetricInfo, Subject, Undefined
from medebench.metrics.semantic import cosine
from medebench.reason import Reason

_CHEST = frozenset(("chest", "heart", "lung", "lungs", "mediastinum", "pleura", "ribs", "thorax"))
_INSIGHT = "medimageinsight"
_NO_INSIGHT = (
    "MedImageInsight is not here: it is published as code of its own with weights; register it as "
    "encoder 'medimageinsight' (entry point medebench.encoders), or name another encoder: {}:FOLDER"
)


@dataclass(frozen=True)
class Scope:
    """What an encoder was trained on."""

    encoder: str
    modalities: frozenset[str]
    #: Where cases say what they show: the parts of the body it knows; none: all.
    organs: frozenset[str] = frozenset()

    def refusal(self, case: Case) -> str | None:
        """Why the encoder has no say about a case."""
        if not case.modality:
            return f"the case names no modality, and {self.encoder} does not know all"
        if case.modality.casefold() not in self.modalities:
            return f"{self.encoder} was not trained on {case.modality}"
        if self.organs and case.organ and case.organ.casefold() not in self.organs:
            return f"{self.encoder} was not trained on {case.modality} of {case.organ}"
        return None


CHEST_XRAYS = Scope("Rad-DINO", frozenset(("x-ray",)), _CHEST)
CLINICAL = Scope(
    "MedImageInsight",
    frozenset(("ct", "mri", "ultrasound", "x-ray", "pathology", "clinical photography")),
)


@dataclass(frozen=True)
class _Kind:
    info: MetricInfo
    #: The encoder where none is named.
    encoder: str
    #: Only within it is there a number; without one, everywhere.
    scope: Scope | None

    @property
    def framing(self) -> Framing:
        return "own" if self.scope is None else "whole"


def _kind(name: str, encoder: str, scope: Scope | None, summary: str, label: str) -> _Kind:
    seen = (
        "the image as it came, cut as the model’s own files say"
        if scope is None
        else (f"the whole image; undefined outside of what {scope.encoder} was trained on")
    )
    text = f"Cosine of the encoder’s vectors of output and reference: {seen}."
    info = MetricInfo(
        name,
        summary,
        "higher",
        -1.0,
        1.0,
        ("reference",),
        label=label,
        sublabel="MedGEN" if scope is None else "within its scope",
        definition=text,
        unranked=UNRANKED if scope is None else "",
    )
    return _Kind(info, encoder, scope)


KINDS: dict[str, _Kind] = {
    one.info.name: one
    for one in (
        _kind(
            "raddino_medgen",
            "rad-dino",
            None,
            "Rad-DINO’s cosine for every modality, as MedGEN-Bench (honest: raddino_cosine)",
            "Rad-DINO",
        ),
        _kind(
            "mii_medgen",
            _INSIGHT,
            None,
            "MedImageInsight’s cosine as MedGEN-Bench (honest: medimageinsight_cosine)",
            "MedImageInsight",
        ),
        _kind(
            "raddino_cosine",
            "rad-dino",
            CHEST_XRAYS,
            "output and reference to Rad-DINO, X-rays only (of the chest, where an organ is named)",
            "Rad-DINO",
        ),
        _kind(
            "medimageinsight_cosine",
            _INSIGHT,
            CLINICAL,
            "output and reference to MedImageInsight, modalities it knows only",
            "MedImageInsight",
        ),
    )
}


class ImageCosine(BatchMetric):
    def __init__(self, kind: _Kind, encoder: Encoder) -> None:
        self.info = kind.info
        self.kind = kind
        self.encoder = encoder
        self.variant = ""
        if encoder.problem() is None:
            self.variant = encoder.identified(kind.framing)

    def problem(self) -> str | None:
        return self.encoder.problem()

    @cached_property
    def extractor(self) -> Extractor:
        return shared_extractor(self.encoder, self.kind.framing)

    def prepare(self, subject: Subject) -> tuple[Shown, Shown]:
        case = subject.case
        self.info.require(case)
        if self.kind.scope and (refusal := self.kind.scope.refusal(case.case)):
            raise Undefined(Reason("not-applicable", refusal))
        try:
            if self.kind.scope:
                pair = [(one, case.data_range) for one in (subject.output, case.reference)]
            else:
                images = output_as_published(subject.whole.came), reference_as_published(case)
                pair = [(_pixels(one), 255) for one in images]
            output, reference = (self.extractor.show(*one) for one in pair)
        except ImageError as error:
            raise Undefined(str(error)) from error
        return output, reference

    def measure(self, prepared: Sequence[tuple[Shown, Shown]]) -> list[Measured | Undefined]:
        rows = iter(self.extractor.features([one for pair in prepared for one in pair]))
        return [_measured(*pair) for pair in zip(rows, rows, strict=True)]

    def close(self) -> None:
        if extractor := self.__dict__.pop("extractor", None):
            extractor.close()


def _measured(output: Features, reference: Features) -> Measured | Undefined:
    try:
        return Measured(cosine(output, reference))
    except Undefined as reason:
        return reason


def _pixels(image: Image.Image) -> Picture:
    return np.asarray(image)


def info(name: str, which: str | None = None) -> MetricInfo:
    """For the list of learned metrics."""
    return KINDS[name].info


def make(
    name: str, which: str | None = None, device: str = "auto", batch: int | None = None
) -> ImageCosine:
    """The metric on its encoder, or on `which`: a known name, a hub id or a folder."""
    kind = KINDS[name]
    if which is None and kind.encoder == _INSIGHT and _INSIGHT not in ENCODERS:
        raise NotReadyError(_NO_INSIGHT.format(name))
    return ImageCosine(kind, find_encoder(which or kind.encoder, device, batch))
