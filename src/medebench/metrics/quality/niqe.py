"""NIQE (Mittal, Soundararajan, Bovik 2013): the distance of a picture from natural ones.

Features of 96 x 96 patches at two sizes give a mean m and a covariance S; the parameters m0 and S0
are those of good photographs:

    niqe = sqrt((m - m0)ᵀ ((S + S0) / 2)⁻¹ (m - m0))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medebench.errors import InputError, one_line
from medebench.images.picture import Picture
from medebench.metrics.metric import Undefined
from medebench.metrics.quality.natural_statistics import Plane, fit, grey, mscn, neighbours
from medebench.weights import need_weights

PATCH = 96
#: Two patches each way: a covariance of fewer says nothing.
LEAST = 2 * PATCH
_COUNT = 36
#: What mean and covariance are called in BasicSR's file, and in the authors' own.
_NAMES = (("mu_pris_param", "cov_pris_param"), ("mu_prisparam", "cov_prisparam"))


@dataclass(frozen=True)
class NiqeParameters:
    """What good photographs look like: the mean of 36 features and their covariance."""

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]


def read_niqe(path: Path) -> NiqeParameters:
    """The authors' parameters: `modelparameters.mat`, or the same as BasicSR's `.npz`."""
    try:
        if path.suffix == ".mat":
            from scipy.io import loadmat

            read = dict(loadmat(path))
        else:
            with np.load(path, allow_pickle=False) as file:
                read = dict(file)
    except Exception as error:
        # The readers raise whatever a damaged file makes them stumble over.
        raise _unfit(path, f"{type(error).__name__}: {error}") from error
    names = next((pair for pair in _NAMES if set(pair) <= set(read)), None)
    if names is None:
        raise _unfit(path, f"it holds {', '.join(sorted(read)) or 'nothing'}")
    mean, covariance = (np.asarray(read[name], np.float64) for name in names)
    if mean.size != _COUNT or covariance.shape != (_COUNT, _COUNT):
        raise _unfit(path, f"they are not {_COUNT} features")
    finite = np.isfinite(mean).all() and np.isfinite(covariance).all()
    if not finite or np.linalg.eigvalsh(covariance)[0] <= 0:
        raise _unfit(path, "the covariance matrix is invalid")
    return NiqeParameters(mean.ravel(), covariance)


def niqe(
    picture: Picture, data_range: int = 255, parameters: NiqeParameters | None = None
) -> float:
    """The distance; Undefined where there are too few patches or too little in them.

    Without `parameters` the weights called "niqe" are read, every time.
    """
    p = read_niqe(need_weights("niqe").path) if parameters is None else parameters
    features = patch_features(grey(picture, data_range))
    if len(features) < 2:
        raise Undefined("the picture is flat: fewer than two patches of it vary")
    away = features.mean(axis=0) - p.mean
    covariance = (np.cov(features, rowvar=False) + p.covariance) / 2
    return float(np.sqrt(away @ np.linalg.solve(covariance, away)))


def patch_features(plane: Plane) -> Plane:
    """A row of 36 features for every whole patch in which something varies."""
    height, width = plane.shape
    if min(height, width) < LEAST:
        raise Undefined(f"{width} x {height} pixels are too few; NIQE needs {LEAST} x {LEAST}")
    whole = plane[: height // PATCH * PATCH, : width // PATCH * PATCH]
    sizes = [
        _patches(mscn(whole, repeat=True), PATCH),
        _patches(mscn(halve(whole), repeat=True), PATCH // 2),
    ]
    rows = []
    for patches in zip(*sizes, strict=True):
        first, second = (_features(patch) for patch in patches)
        if first is not None and second is not None:
            rows.append(first + second)
    return np.array(rows, np.float64).reshape(len(rows), _COUNT)


def halve(plane: Plane) -> Plane:
    """Half as wide and high: bicubic over four pixels to either side, mirrored at the rim."""
    import cv2

    # Keys' cubic (a = -1/2), stretched by two, at the distances of the eight pixels.
    x = np.abs(np.arange(-3.5, 4.0)) / 2
    near = 1.5 * x**3 - 2.5 * x**2 + 1
    far = -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    taps = np.where(x <= 1, near, far)
    taps /= taps.sum()
    smooth = cv2.sepFilter2D(
        plane, cv2.CV_64F, taps, taps, anchor=(3, 3), borderType=cv2.BORDER_REFLECT
    )
    return np.ascontiguousarray(smooth[::2, ::2])


def _patches(plane: Plane, side: int) -> Iterator[Plane]:
    for top in range(0, plane.shape[0], side):
        for start in range(0, plane.shape[1], side):
            yield plane[top : top + side, start : start + side]


def _features(patch: Plane) -> list[float] | None:
    """Shape and mean scale of the coefficients; shape, mean and scales of each product."""
    whole = fit(patch, stepped=True)
    if whole is None:
        return None
    values = [whole.shape, whole.ratio * (whole.left + whole.right) / 2]
    for product in neighbours(patch, around=True):
        one = fit(product, stepped=True)
        if one is None:
            return None
        values += [one.shape, one.mean, one.ratio * one.left, one.ratio * one.right]
    return values


def _unfit(path: Path, why: str) -> InputError:
    return InputError(f"{path}: not the parameters of NIQE ({one_line(why, 120)}); download again")
