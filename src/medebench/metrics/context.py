"""Contextual preservation: did what lies outside the ROI stay as it was?"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.cases.open_case import OpenCase, once
from medebench.images.picture import Mask, Picture
from medebench.images.picture import data_range as full_range
from medebench.metrics.arrays import as_mask, as_pictures, as_region
from medebench.metrics.kernel import WINDOW, blacken, window_ssim
from medebench.metrics.metric import Undefined, metric

#: `cp` is undefined where fewer than this share of all windows lies wholly outside the ROI.
MIN_WINDOW_SHARE = 0.05


def cp_published(previous: Picture, output: Picture, roi: NDArray[Any]) -> float:
    """The MedEBench paper's contextual preservation: black out the ROI in both, then SSIM.

    It flatters large ROIs, because the blacked-out part is equal in both and counts as perfect.

    Args:
        previous: the image before the edit, (height, width) or (height, width, 3), uint8.
        output: the edited image, of the same shape.
        roi: the region of interest, True (or bright) inside; greys of a uint8 mask count in part.

    Returns:
        The mean SSIM of the whole frame, -1 to 1. Raises `Undefined` where there is none.

    >>> import numpy as np
    >>> image = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> mb.cp_published(image, 255 - image, np.ones((64, 64), bool))
    1.0
    """
    previous, output = as_pictures(previous, output)
    _check_depth(previous)
    mask = as_mask(roi, previous)
    return _masked_ssim(blacken(previous, mask), output, mask)


def _masked_ssim(blackened: Picture, output: Picture, mask: Mask) -> float:
    value, used, _ = window_ssim(blackened, blacken(output, mask), 255)
    if not used:
        raise Undefined(f"the picture is smaller than one {WINDOW} x {WINDOW} window")
    return value / used


def _check_depth(picture: Picture) -> None:
    if picture.dtype != np.uint8:
        raise Undefined("the published procedure is defined for 8-bit pictures only")


def cp(
    previous: Picture, output: Picture, roi: NDArray[Any], data_range: int | None = None
) -> float:
    """Contextual preservation: mean SSIM over the 7 x 7 windows wholly outside the ROI.

    Args:
        previous: the image before the edit, (height, width) or (height, width, 3), uint8 or uint16.
        output: the edited image, of the same shape and depth.
        roi: the region of interest, True (or bright) inside; nothing in it counts.
        data_range: the largest value a pixel can take; by default 255 or 65535.

    Returns:
        -1 to 1; 1 where nothing outside changed. Raises `Undefined` where the ROI leaves less than
        5 % of the windows.

    >>> import numpy as np
    >>> image = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> roi = np.zeros((64, 64), bool)
    >>> roi[20:40, 20:40] = True
    >>> mb.cp(image, np.where(roi, 0, image), roi)
    1.0
    """
    previous, output = as_pictures(previous, output)
    value, used, total = window_ssim(
        previous, output, data_range or full_range(previous), as_region(roi, previous)
    )
    if not total:
        raise Undefined(f"the picture is smaller than one {WINDOW} x {WINDOW} window")
    if used < MIN_WINDOW_SHARE * total:
        raise Undefined(
            f"the ROI leaves {used / total:.1%} of the windows, {MIN_WINDOW_SHARE:.0%} are needed"
        )
    return value / used


_metric = partial(metric, low=-1.0, needs=("roi",))


@_metric(
    "cp_published",
    "the paper's masked SSIM, previous against output; flatters large ROIs",
    label="CP published",
)
def CP_PUBLISHED(case: OpenCase, output: Picture) -> float:
    _check_depth(output)
    # The previous image is blacked out once for all outputs of the case.
    blackened = once(case.memo, "blackened", lambda: blacken(case.previous, case.mask))
    return _masked_ssim(blackened, output, case.mask)


@_metric("cp", "SSIM of previous and output over windows wholly outside the ROI", label="CP")
def CP(case: OpenCase, output: Picture) -> float:
    return cp(case.previous, output, case.roi, case.data_range)
