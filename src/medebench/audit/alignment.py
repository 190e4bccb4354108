"""How well two views of a pair agree in place, and where they would agree best.

Two views of a pair are compared on a 64 x 64 grid: their detail (coarse light taken away, for the
light differs between two photographs) and their edges. The better of the two correlations counts.
In the MedEBench excerpt unrelated pictures stay below 0.35 in 19 of 20 pairings, and so does a
fifth of the true pairs; well aligned ones reach 0.9.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import fft

from medebench.audit.file_facts import VIEW

#: Below this a pair is no more alike than two unrelated pictures.
UNRELATED = 0.35
#: A pair is displaced if a shift of at least `SHIFT` cells (8 % of a side) makes it fit, ...
SHIFT = 5
FITS = 0.80
#: ... and fit this much better than it does in place.
GAIN = 0.30
#: Shifts that are tried, and the share of the surroundings that must still overlap.
REACH = VIEW // 4
OVERLAP = 0.5
#: Less than this share of the picture outside the region, or less contrast, decides nothing.
ENOUGH = 0.10
CONTRAST = 1.5

Field = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Alignment:
    """Correlation in place, and the best one elsewhere (offset in shares of width and height)."""

    here: float
    best: float
    shift: tuple[float, float]

    @property
    def displaced(self) -> bool:
        far = max(map(abs, self.shift)) >= SHIFT / VIEW
        return far and self.best >= FITS and self.best - self.here >= GAIN


def compare(
    previous: NDArray[np.uint8],
    reference: NDArray[np.uint8],
    outside: NDArray[np.bool_] | None,
    search: bool = False,
) -> Alignment | None:
    """How well two views agree where `outside` is set; None if too little is there to tell.

    Other places are tried where this one does not fit, or always with `search`.
    """
    free = np.ones_like(previous, np.bool_) if outside is None else outside
    if free.mean() < ENOUGH:
        return None
    pairs = [(_detail(previous), _detail(reference)), (_edges(previous), _edges(reference))]
    if max(field[free].std() for field in pairs[0]) < CONTRAST:
        return None
    here = max(_correlation(first[free], second[free]) for first, second in pairs)
    if here > 1 - GAIN and not search:
        return Alignment(here, here, (0.0, 0.0))
    weight = free.astype(np.float32)
    maps = np.maximum(*(_shifted_correlations(first, second, weight) for first, second in pairs))
    row, column = np.unravel_index(int(maps.argmax()), maps.shape)
    shift = ((int(column) - REACH) / VIEW, (int(row) - REACH) / VIEW)
    return Alignment(here, float(maps[row, column]), shift)


def _detail(view: NDArray[np.uint8]) -> Field:
    grey = view.astype(np.float32)
    fine, coarse = cv2.GaussianBlur(grey, (0, 0), 1.5), cv2.GaussianBlur(grey, (0, 0), 8)
    return np.asarray(fine - coarse, dtype=np.float32)


def _edges(view: NDArray[np.uint8]) -> Field:
    smooth = cv2.GaussianBlur(view.astype(np.float32), (0, 0), 1)
    x, y = (cv2.Sobel(smooth, cv2.CV_32F, *axis) for axis in ((1, 0), (0, 1)))
    return np.asarray(cv2.GaussianBlur(np.hypot(x, y), (0, 0), 1.5), dtype=np.float32)


def _correlation(first: Field, second: Field) -> float:
    first, second = first - first.mean(), second - second.mean()
    power = float((first**2).sum() * (second**2).sum())
    return float((first * second).sum()) / np.sqrt(power) if power > 0 else 0.0


def _shifted_correlations(first: Field, second: Field, outside: Field) -> Field:
    """The masked correlation for every shift up to `REACH`, by FFT; -1 where too little overlaps.

    All sums over the overlap of two shifted masks are cross-correlations (Padfield 2012).
    """
    size = (2 * VIEW, 2 * VIEW)
    first, second = first - first.mean(), second - second.mean()

    def spectrum(field: Field) -> NDArray[np.complexfloating]:
        transformed: NDArray[np.complexfloating] = fft.rfft2(field * outside, size)
        return transformed

    def crossed(left: NDArray[np.complexfloating], right: NDArray[np.complexfloating]) -> Field:
        every = np.fft.fftshift(fft.irfft2(np.conj(left) * right, size))
        near: Field = every[VIEW - REACH : VIEW + REACH + 1, VIEW - REACH : VIEW + REACH + 1]
        return near

    mask = spectrum(np.ones_like(outside))
    left, right = spectrum(first), spectrum(second)
    count = np.maximum(crossed(mask, mask), 1.0)
    left_sum, right_sum = crossed(left, mask), crossed(mask, right)
    product = crossed(left, right) - left_sum * right_sum / count
    left_power = crossed(spectrum(first**2), mask) - left_sum**2 / count
    right_power = crossed(mask, spectrum(second**2)) - right_sum**2 / count
    power = np.maximum(left_power, 0) * np.maximum(right_power, 0)
    # Rounding of the FFT is all that is left of a flat overlap.
    valid = (count >= OVERLAP * outside.sum()) & (power > (0.1 * count) ** 2)
    return np.where(valid, product / np.sqrt(np.maximum(power, 1e-9)), -1.0)
