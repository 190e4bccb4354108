"""CIE Lab as pixels are compared in it: small, and softened where photographs never match.

`docs/metrics.md` ("The intended change") has every step, so that the numbers can be rebuilt.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from medebench.images.picture import Picture

#: Width to which pictures are reduced for the comparison of colours.
COMPARED_WIDTH = 256
#: Blur before comparing, as a share of the width: before/after photographs never match exactly.
TOLERANCE = 0.02

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

#: Linear sRGB to XYZ over the white of D65 (2 degrees), so that white is (1, 1, 1).
_XYZ = np.array(
    [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]]
) / np.array([[0.95047], [1.0], [1.08883]])
_LAB = np.array([[0.0, 116.0, 0.0], [500.0, -500.0, 0.0], [0.0, 200.0, -200.0]])

_ROWS = 16_384


def to_lab(rgb: NDArray[Any]) -> NDArray[Any]:
    """CIE Lab (D65) of sRGB values in 0 to 1."""
    linear = np.where(rgb > 0.04045, ((np.maximum(rgb, 0) + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    xyz = _transform(linear, _XYZ)
    bent = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    lab = _transform(bent, _LAB)
    lab[..., 0] -= 16
    return np.asarray(lab, rgb.dtype)


def _transform(colours: NDArray[Any], matrix: Doubles) -> NDArray[Any]:
    """Every colour times the matrix, in pieces too small for BLAS to start threads of its own.

    Cases are scored on all cores already; threads that wait for each other took twice the time.
    """
    rows, turned = colours.reshape(-1, 3), matrix.T.astype(colours.dtype)
    product = np.empty_like(rows)
    for start in range(0, len(rows), _ROWS):
        np.matmul(rows[start : start + _ROWS], turned, out=product[start : start + _ROWS])
    return product.reshape(colours.shape)


def small_size(height: int, width: int, most: int = COMPARED_WIDTH) -> tuple[int, int]:
    """Height and width of the grid on which pictures are compared."""
    if width <= most:
        return height, width
    return max(1, round(height * most / width)), most


def small_lab(picture: Picture, data_range: int) -> Floats:
    """CIE Lab, at most `COMPARED_WIDTH` pixels wide; a distance of 1 is about the least visible."""
    height, width = small_size(*picture.shape[:2])
    scaled: NDArray[Any] = picture.astype(np.float32) / data_range
    if width < picture.shape[1]:
        scaled = cv2.resize(scaled, (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(to_lab(scaled), np.float32)


def soft_lab(picture: Picture, data_range: int) -> Floats:
    """`small_lab`, blurred by `TOLERANCE` of the width."""
    lab = small_lab(picture, data_range)
    return np.asarray(cv2.GaussianBlur(lab, (0, 0), TOLERANCE * lab.shape[1]), np.float32)


class MaskedView:
    """Pictures as seen through a mask: no pixel outside it has a say, not even by a blur.

    Cells of the small grid count by the share of them that the mask covers, so no rule is needed
    for a cell that is covered in part.
    """

    def __init__(self, mask: NDArray[np.bool_], most: int = COMPARED_WIDTH) -> None:
        height, self.width = small_size(mask.shape[0], mask.shape[1], most)
        down, right = _shares(mask.shape[0], height), _shares(mask.shape[1], self.width)
        every = _reduce(mask.astype(np.float64), down, right)
        # Elsewhere there is nothing to see, and nothing is computed.
        box = _span(every.sum(axis=1) > 0), _span(every.sum(axis=0) > 0)
        rows, columns = (_touched(one) for one in (down[box[0]], right[box[1]]))
        self._down, self._right = down[box[0], rows], right[box[1], columns]
        self._pixels = rows, columns
        self._mask = mask[self._pixels][..., None]
        #: The cells about the mask, each with the share of it that the mask covers.
        self.cover: Doubles = np.ascontiguousarray(every[box])
        self._seen = self.cover > 0
        #: The cells that the mask touches, one after the other.
        self.weights: Doubles = self.cover[self._seen]

    def lab(self, picture: Picture, data_range: int) -> Doubles:
        """The Lab colour of the masked pixels of every cell of `cover`; 0 where there are none."""
        inside = np.where(self._mask, picture[self._pixels], 0) / data_range
        total = _reduce(inside, self._down, self._right)
        colours = np.zeros_like(total)
        colours[self._seen] = to_lab(total[self._seen] / self.weights[:, None])
        return colours

    def soft_lab(self, picture: Picture, data_range: int) -> Doubles:
        """The softened Lab colour of every cell that the mask touches: rows of three."""
        soft = soft_within(self.lab(picture, data_range), self.cover, TOLERANCE * self.width)
        return np.asarray(soft[self._seen], np.float64)

    def dot(self, first: Doubles, second: Doubles) -> float:
        return float(self.weights @ (first * second).sum(axis=1))

    def mean(self, values: Doubles) -> float:
        """Weighted mean of one value a cell; 0 where the mask is empty."""
        return float(self.weights @ values / self.weights.sum()) if self.weights.size else 0.0


def soft_within(plane: Doubles, cover: Doubles, sigma: float) -> Doubles:
    """Blurred by a Gaussian, cell by cell from covered cells alone; 0 where there are none."""
    if not plane.size:
        return plane
    kernel, border = _bell(sigma), cv2.BORDER_CONSTANT
    deep = cover if plane.ndim == 2 else cover[..., None]
    top, bottom = (
        cv2.sepFilter2D(one, -1, kernel, kernel, borderType=border) for one in (plane * deep, cover)
    )
    bottom = bottom if plane.ndim == 2 else bottom[..., None]
    return np.asarray(np.where(deep > 0, top / np.where(deep > 0, bottom, 1), 0), np.float64)


def _touched(shares: Any) -> slice:
    """The pixels from the first to the last that have a share in one of these cells."""
    return _span(np.diff(shares.tocsc().indptr) > 0)


def _span(there: NDArray[np.bool_]) -> slice:
    where = np.flatnonzero(there)
    return slice(int(where[0]), int(where[-1]) + 1) if where.size else slice(0, 0)


def _shares(length: int, cells: int) -> Any:
    """cells x length, sparse: the share of every pixel in every cell; rows add up to 1."""
    step = length / cells
    low, high = np.arange(cells) * step, np.arange(1, cells + 1) * step
    pixels = low.astype(np.intp)[:, None] + np.arange(int(np.ceil(step)) + 1)
    share = np.minimum(high[:, None], pixels + 1) - np.maximum(low[:, None], pixels)
    cell, place = np.nonzero((share > 0) & (pixels < length))
    parts = share[cell, place] / step, (cell, pixels[cell, place])
    return sparse.csr_matrix(parts, (cells, length))


def _reduce(plane: Doubles, down: Any, right: Any) -> Doubles:
    """Means over the cells of the small grid."""
    rows, columns, depth = plane.shape if plane.ndim == 3 else (*plane.shape, 1)
    narrow = (down @ plane.reshape(rows, columns * depth)).reshape(down.shape[0], columns, depth)
    turned = narrow.transpose(1, 0, 2).reshape(columns, down.shape[0] * depth)
    cells = (right @ turned).reshape(right.shape[0], down.shape[0], depth).transpose(1, 0, 2)
    return np.ascontiguousarray(cells if plane.ndim == 3 else cells[..., 0])


def _bell(sigma: float) -> Doubles:
    """A Gaussian, cut at four standard deviations."""
    reach = int(4 * sigma + 0.5)
    bell = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    return np.asarray(bell / bell.sum(), np.float64)


def lengths(rows: NDArray[Any]) -> NDArray[Any]:
    """The length of every row of three: a colour difference (CIE76)."""
    return np.asarray(np.sqrt(squares(rows)), rows.dtype)


def squares(rows: NDArray[Any]) -> NDArray[Any]:
    first, second, third = rows[..., 0], rows[..., 1], rows[..., 2]
    return np.asarray(first * first + second * second + third * third, rows.dtype)
