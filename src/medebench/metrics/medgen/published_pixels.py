"""PSNR and SSIM of MedGEN-Bench, with its sentinel and its grey."""

from __future__ import annotations

from functools import partial

import numpy as np
from PIL import Image

from medebench.cases.open_case import OpenCase
from medebench.images.picture import Picture
from medebench.metrics.medgen import UNRANKED
from medebench.metrics.medgen.original_images import pair_as_published
from medebench.metrics.metric import metric
from medebench.metrics.pixel import ssim

#: What equal images get: less than what images get that differ in one pixel of many.
EQUAL = 100.0


def published_psnr(reference: Image.Image, output: Image.Image) -> float:
    """20 log10(255 / root of the mean squared error), the mean in single precision.

    >>> grey = Image.new("RGB", (8, 8), "grey")
    >>> published_psnr(grey, grey)
    100.0
    """
    one, other = (np.asarray(image, np.float32) for image in (reference, output))
    error = float(np.mean((other - one) ** 2))
    return float(20 * np.log10(255 / np.sqrt(error))) if error else EQUAL


def published_ssim(reference: Image.Image, output: Image.Image) -> float:
    """SSIM of scikit-image's defaults over the two images in grey."""
    return ssim(np.asarray(reference.convert("L")), np.asarray(output.convert("L")), 255)


_of_reference = partial(metric, needs=("reference",), of="came", unranked=UNRANKED)


@_of_reference(
    "psnr_medgen",
    "PSNR as MedGEN-Bench computes it, 100 for equal images (honest: psnr, output_aspect_ratio)",
    high=float("inf"),
    label="PSNR (dB), MedGEN",
    definition="The output in 8 bits is stretched to the size of the reference (Lanczos); peak "
    "255; equal images get the constant 100.",
)
def PSNR_MEDGEN(case: OpenCase, came: Picture) -> float:
    return published_psnr(*pair_as_published(case, came))


@_of_reference(
    "ssim_medgen",
    "SSIM as MedGEN-Bench computes it, in grey (honest: ssim, output_aspect_ratio)",
    low=-1.0,
    label="SSIM, MedGEN",
    definition="The output in 8 bits is stretched to the size of the reference (Lanczos); both "
    "in grey, 7 x 7 uniform windows, sample covariance, range 255.",
)
def SSIM_MEDGEN(case: OpenCase, came: Picture) -> float:
    return published_ssim(*pair_as_published(case, came))
