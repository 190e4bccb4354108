"""LPIPS of two pictures, as a function."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from medebench.device import TORCH, missing_releases
from medebench.errors import InputError, NotReadyError
from medebench.metrics.metric import Undefined
from medebench.metrics.perceptual.backbones import BACKBONES, Backbone
from medebench.metrics.perceptual.lpips_comparer import Comparer, Comparison
from medebench.weights import need_weights


def lpips(
    first: ArrayLike,
    second: ArrayLike,
    net: str = "alex",
    data_range: float = 255,
    weights: str | None = None,
    *,
    roi: ArrayLike | None = None,
    published: bool = False,
) -> float:
    """LPIPS v0.1: how differently a network trained on photographs sees two images.

        LPIPS = Σ_l mean over cells x of Σ_c h_lc (a_lc(x)/|a_l(x)| - b_lc(x)/|b_l(x)|)²

    a and b are what the five stages l of AlexNet ("alex") or VGG16 ("vgg") make of the pictures,
    h the heads, trained on what people find alike. 0 for equal pictures, seldom above 1.

    Both pictures are (height, width, 3), with values from 0 to `data_range`, at least 31 x 31
    pixels for "alex" and 16 x 16 for "vgg". `weights` is a file of weights, else they are looked
    for under their names, lpips-alex and lpips-vgg.

    With `roi` (height, width), `second` is replaced by `first` outside of it, and the mean weighs
    each cell by the share of its area that lies inside. `published` feeds the network 0 ... 1 in
    place of -1 ... 1, as the published script of MedEBench did.

    >>> import numpy as np
    >>> grey = np.full((64, 64, 3), 128, np.uint8)
    >>> lpips(grey, grey)  # doctest: +SKIP
    0.0
    """
    one, other = np.asarray(first), np.asarray(second)
    if net not in BACKBONES:
        raise InputError(f"lpips: net='{net}' is not known; expected alex or vgg")
    if one.ndim != 3 or one.shape[2] != 3 or one.shape != other.shape:
        raise InputError(
            f"lpips: expected two pictures of one size (height, width, 3), "
            f"found {one.shape} and {other.shape}"
        )
    if not data_range > 0:
        raise InputError(f"lpips: data_range={data_range} must be above 0")
    inside = None if roi is None else check_roi(np.asarray(roi, bool), one)
    check_size(BACKBONES[net], one)
    if all(each.dtype.kind == "f" and each.max() <= 1 < data_range for each in (one, other)):
        raise InputError("lpips: pictures of 0 to 1 need data_range=1")
    comparer = _comparer(net, weights)
    asked = Comparison(one, [other], data_range, low_for(published), inside)
    return number(float(comparer.compare(asked)[0]))


def low_for(published: bool) -> float:
    """What black becomes for the network."""
    return 0.0 if published else -1.0


def number(value: float) -> float:
    if not np.isfinite(value):
        raise Undefined("LPIPS is not a finite number")
    return max(0.0, value)


def check_size(backbone: Backbone, picture: NDArray[Any]) -> None:
    height, width = picture.shape[:2]
    if min(height, width) < backbone.smallest:
        raise Undefined(
            f"{width} x {height} pixels is too small for LPIPS ({backbone.name}): it needs "
            f"{backbone.smallest} x {backbone.smallest}"
        )


def check_roi(roi: NDArray[np.bool_], picture: NDArray[Any]) -> NDArray[np.bool_]:
    if roi.shape != picture.shape[:2]:
        raise InputError(f"lpips: the ROI is {roi.shape}, the pictures are {picture.shape[:2]}")
    if not roi.any():
        raise Undefined("the ROI is empty")
    return roi


@lru_cache(maxsize=2)
def _comparer(net: str, weights: str | None) -> Comparer:
    if lacking := missing_releases(TORCH, "metrics"):
        raise NotReadyError(f"lpips: {lacking}")
    return Comparer(net, need_weights(weights or f"lpips-{net}", "lpips"))
