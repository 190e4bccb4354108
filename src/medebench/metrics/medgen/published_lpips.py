"""LPIPS of MedGEN-Bench: AlexNet, both images squeezed to 256 x 256, fed 0 to 1."""

from __future__ import annotations

import numpy as np
from PIL import Image

from medebench.cases.open_case import OpenCase, once
from medebench.encoders.feature_store import picture_key
from medebench.files import sha256
from medebench.images.picture import Picture
from medebench.metrics.medgen import UNRANKED
from medebench.metrics.medgen.original_images import pair_as_published, reference_as_published
from medebench.metrics.metric import MetricInfo, Subject
from medebench.metrics.perceptual.lpips_metrics import Lpips, LpipsPair

SIDE = 256
NAME = "lpips_medgen"
INFO = MetricInfo(
    NAME,
    "LPIPS as MedGEN-Bench computes it, fed 0 to 1 at 256 pixels (honest: lpips_alex)",
    "lower",
    0.0,
    float("inf"),
    ("reference",),
    label="LPIPS",
    sublabel="MedGEN",
    decimals=3,
    unranked=UNRANKED,
    definition="AlexNet, LPIPS v0.1. The output is stretched to the size of the reference "
    "(Lanczos), both are squeezed to 256 x 256 (bilinear, antialiased) and fed 0 to 1 where the "
    "network was trained on -1 to 1.",
)


class PublishedLpips(Lpips):
    """The same network and the same memory as `lpips_alex`, other pictures."""

    def prepare(self, subject: Subject) -> LpipsPair:
        case = subject.case
        self.info.require(case)
        _, made = pair_as_published(case, subject.whole.came)
        output = _squeezed(made)
        reference = once(case.memo, "reference at 256", lambda: _reference(case))
        reference_key, output_key = (picture_key(one, 255) for one in (reference, output))
        key = sha256("\n".join((NAME, reference_key, output_key)).encode())
        return LpipsPair(reference, output, None, 255, reference_key, "", key)


def _reference(case: OpenCase) -> Picture:
    return _squeezed(reference_as_published(case))


def _squeezed(image: Image.Image) -> Picture:
    # What torchvision's Resize does to an image of Pillow's, as opposed to a tensor.
    return np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BILINEAR))


def info(name: str, which: str | None = None) -> MetricInfo:
    """For the list of learned metrics."""
    return INFO


def make(
    name: str, which: str | None = None, device: str = "auto", batch: int | None = None
) -> PublishedLpips:
    """The metric, made without torch and without reading weights."""
    return PublishedLpips(INFO, which, device, batch, net="alex", published=True)
