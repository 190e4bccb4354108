"""Contextual preservation: did what lies outside the ROI stay as it was?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from medebench.cases.image import Mask, Picture
from medebench.cases.opened import OpenCase
from medebench.metrics.base import Undefined, metric
from medebench.metrics.kernel import WINDOW, blacken, window_ssim

#: `cp` is undefined where fewer than this share of all windows lies wholly outside the ROI.
MIN_WINDOW_SHARE = 0.05


def cp_published(previous: Picture, output: Picture, mask: Mask) -> float:
    """The paper's masked SSIM: black out the ROI in both pictures, then compare the whole frame.

    It flatters large ROIs, because the blacked-out part is equal in both and counts as perfect.
    """
    _check_depth(previous)
    return _masked_ssim(blacken(previous, mask), output, mask)


def _masked_ssim(blackened: Picture, output: Picture, mask: Mask) -> float:
    value, used, _ = window_ssim(blackened, blacken(output, mask), 255)
    if not used:
        raise Undefined(f"the picture is smaller than one {WINDOW} x {WINDOW} window")
    return value / used


def _check_depth(picture: Picture) -> None:
    if picture.dtype != np.uint8:
        raise Undefined("the published procedure is defined for 8-bit pictures only")


def cp(previous: Picture, output: Picture, roi: NDArray[np.bool_], data_range: int = 255) -> float:
    """Mean SSIM over the 7 x 7 windows that lie wholly outside the ROI; nothing inside counts."""
    value, used, total = window_ssim(previous, output, data_range, roi)
    if not total:
        raise Undefined(f"the picture is smaller than one {WINDOW} x {WINDOW} window")
    if used < MIN_WINDOW_SHARE * total:
        raise Undefined(
            f"the ROI leaves {used / total:.1%} of the windows, {MIN_WINDOW_SHARE:.0%} are needed"
        )
    return value / used


@metric(
    "cp_published",
    "the paper's masked SSIM, previous against output; flatters large ROIs",
    low=-1.0,
    needs=("roi",),
)
def CP_PUBLISHED(case: OpenCase, output: Picture) -> float:
    _check_depth(output)
    # The previous image is blacked out once for all outputs of the case.
    blackened = case.memo.get("blackened")
    if blackened is None:
        blackened = case.memo["blackened"] = blacken(case.previous, case.mask)
    return _masked_ssim(blackened, output, case.mask)


@metric(
    "cp",
    "SSIM of previous and output over windows wholly outside the ROI",
    low=-1.0,
    needs=("roi",),
)
def CP(case: OpenCase, output: Picture) -> float:
    return cp(case.previous, output, case.roi, case.data_range)
