"""What NIQE and BRISQUE look at: how neighbouring pixels vary once local contrast is divided out.

In an undistorted photograph these coefficients follow a generalised Gaussian, and the products of
neighbours an asymmetric one; blur, noise and compression bend both in ways of their own.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from medebench.encoders.encoder import scaled
from medebench.images.picture import Picture

Plane = NDArray[np.float64]

_RADIUS, _SIGMA = 3, 7 / 6
#: What rounding leaves of a flat place; a step of one grey value is a million times that.
_NOTHING = 1e-7
#: The least and the greatest shape, and the steps of the table between them.
_SHAPES = (0.2, 10.0, 0.001)


class Fit(NamedTuple):
    """An asymmetric generalised Gaussian: its shape, and the deviation on either side of zero."""

    shape: float
    left: float
    right: float

    @property
    def ratio(self) -> float:
        """From deviation to scale: sqrt(Γ(1/a) / Γ(3/a))."""
        from scipy.special import gamma

        return float(np.sqrt(gamma(1 / self.shape) / gamma(3 / self.shape)))

    @property
    def mean(self) -> float:
        """(scale on the right - scale on the left) Γ(2/a) / Γ(1/a)."""
        from scipy.special import gamma

        spread = float(gamma(2 / self.shape) / gamma(1 / self.shape))
        return (self.right - self.left) * self.ratio * spread


def grey(picture: Picture, data_range: int = 255) -> Plane:
    """Brightness (Rec. 601) in whole steps of 0 to 255, as the authors' own programs see it."""
    import cv2

    pixels = scaled(picture, data_range)
    if pixels.ndim == 3:
        pixels = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY))
    return pixels.astype(np.float64)


def mscn(plane: Plane, *, repeat: bool) -> Plane:
    """(pixel - local mean) / (local deviation + 1), in 7 x 7 Gaussian windows.

    Beyond the rim the outermost pixels repeat, or there is black. Exactly 0 where a place is flat:
    the side of zero that rounding falls on would else count.
    """
    import cv2

    weights = np.exp(-0.5 * (np.arange(-_RADIUS, _RADIUS + 1) / _SIGMA) ** 2)
    weights /= weights.sum()
    border = cv2.BORDER_REPLICATE if repeat else cv2.BORDER_CONSTANT
    mean = cv2.sepFilter2D(plane, cv2.CV_64F, weights, weights, borderType=border)
    square = cv2.sepFilter2D(plane * plane, cv2.CV_64F, weights, weights, borderType=border)
    coefficients: Plane = (plane - mean) / (np.sqrt(np.abs(square - mean * mean)) + 1)
    coefficients[np.abs(coefficients) < _NOTHING] = 0.0
    return coefficients


def neighbours(coefficients: Plane, *, around: bool) -> list[Plane]:
    """Products with the neighbour beside, below, and along both diagonals.

    With `around` the last row and column meet the first; without it they have no neighbour.
    """
    c = coefficients
    if around:
        up = np.roll(c, 1, axis=0)
        others = (np.roll(c, 1, axis=1), up, np.roll(up, 1, axis=1), np.roll(up, -1, axis=1))
        return [c * other for other in others]
    return [
        c[:, :-1] * c[:, 1:],
        c[:-1] * c[1:],
        c[:-1, :-1] * c[1:, 1:],
        c[1:, :-1] * c[:-1, 1:],
    ]


def fit(values: Plane, *, stepped: bool = False) -> Fit | None:
    """The asymmetric generalised Gaussian with the moments of `values`; None if all are 0.

    Zeros are on neither side, as in the authors' own programs. With `stepped` the shape is the
    nearest multiple of 0.001, as in them as well.
    """
    squares = values * values
    below, above = values < 0, values > 0
    total, under = float(squares.sum()), float(squares[below].sum())
    if total <= 0:
        return None
    left, right = _root(under, below), _root(total - under, above)
    spread = float(np.abs(values).mean()) ** 2 / (total / values.size)
    lean = (left**3 + right**3) * (left + right) / (left**2 + right**2) ** 2
    shapes, ratios = _table()
    place = float(np.interp(spread * lean, ratios, np.arange(len(shapes))))
    place = round(place) if stepped else place
    low, _, step = _SHAPES
    return Fit(low + step * place, left, right)


def _root(squares: float, where: NDArray[np.bool_]) -> float:
    return float((squares / count) ** 0.5) if (count := np.count_nonzero(where)) else 0.0


@cache
def _table() -> tuple[Plane, Plane]:
    """Shapes, and the ratio Γ(2/a)² / (Γ(1/a) Γ(3/a)) that tells them; it rises with the shape."""
    from scipy.special import gammaln

    low, high, step = _SHAPES
    shapes = np.linspace(low, high, round((high - low) / step) + 1)
    logs = 2 * gammaln(2 / shapes) - gammaln(1 / shapes) - gammaln(3 / shapes)
    return shapes, np.exp(logs)
