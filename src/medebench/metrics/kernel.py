"""The SSIM sum, in one pass over two pictures.

All window statistics are sums of integers, hence exact; only the last division is in floating
point. With n = 49 pixels a window, sums a and b, squares s = Σ(p² + q²) and products m = Σpq, the
usual formula with sample covariance is multiplied out by n² and n(n - 1):

    (2ab + n²C1)(2(nm - ab) + n(n-1)C2) / ((a² + b² + n²C1)(ns - a² - b² + n(n-1)C2))

so that identical windows give 1.0 exactly. The small functions work on one row of pixels with the
channels interleaved: so written, each loop becomes vector instructions.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from medebench.images.picture import Picture

WINDOW = 7
_N = WINDOW * WINDOW
_NO_MASK: NDArray[np.bool_] = np.zeros((0, 0), np.bool_)


def window_ssim(
    first: Picture, second: Picture, data_range: int, inside: NDArray[np.bool_] | None = None
) -> tuple[float, int, int]:
    """Sum of SSIM over windows (mean of channels), number of windows used, number of all.

    Windows that touch a pixel where `inside` is True are left out.
    """
    if first.shape != second.shape or first.dtype != second.dtype or first.ndim != 3:
        raise ValueError(f"pictures differ: {first.shape} {first.dtype}, {second.shape}")
    height, width, channels = first.shape
    total = max(height - WINDOW + 1, 0) * max(width - WINDOW + 1, 0)
    if not total:
        return 0.0, 0, 0
    # 32 bits hold the sums of an 8-bit window, 64 bits those of a 16-bit one.
    rows = np.zeros((4, width * channels), np.int32 if first.dtype == np.uint8 else np.int64)
    value, used = _ssim(
        np.ascontiguousarray(first).reshape(height, width * channels),
        np.ascontiguousarray(second).reshape(height, width * channels),
        _NO_MASK if inside is None else np.ascontiguousarray(inside),
        channels,
        _N * _N * (0.01 * data_range) ** 2,
        _N * (_N - 1) * (0.03 * data_range) ** 2,
        rows,
    )
    return float(value) / channels, int(used), total


# Under numba's own error model a division may raise, and a loop that may raise is not vectorized.
_compiled = njit(cache=True, nogil=True, error_model="numpy")


@_compiled
def _ssim(first, second, inside, channels, c1, c2, columns):  # type: ignore[no-untyped-def]
    height, width = first.shape
    count = width - 6 * channels
    ratios = np.empty(count, np.float64)
    marks = np.zeros(width // channels, np.int32)
    value, used = 0.0, 0
    for row in range(height):
        _add(first[row], second[row], columns[0], columns[1], columns[2], columns[3])
        if inside.size:
            marks += inside[row]
        if row < 6:
            continue
        if channels == 3:
            # With a step that the compiler knows, it vectorizes.
            _divide(columns[0], columns[1], columns[2], columns[3], 3, ratios, c1, c2)
        else:
            _divide(columns[0], columns[1], columns[2], columns[3], channels, ratios, c1, c2)
        if inside.size:
            row_value, row_used = _sum_outside(ratios, marks, channels)
            marks -= inside[row - 6]
        else:
            row_value, row_used = _sum(ratios), count // channels
        value += row_value
        used += row_used
        _drop(first[row - 6], second[row - 6], columns[0], columns[1], columns[2], columns[3])
    return value, used


@_compiled
def _add(p, q, a, b, squares, products):  # type: ignore[no-untyped-def]
    integer = a.dtype.type
    for x in range(p.size):
        u, v = integer(p[x]), integer(q[x])
        a[x] = integer(a[x] + u)
        b[x] = integer(b[x] + v)
        squares[x] = integer(squares[x] + integer(integer(u * u) + integer(v * v)))
        products[x] = integer(products[x] + integer(u * v))


@_compiled
def _drop(p, q, a, b, squares, products):  # type: ignore[no-untyped-def]
    integer = a.dtype.type
    for x in range(p.size):
        u, v = integer(p[x]), integer(q[x])
        a[x] = integer(a[x] - u)
        b[x] = integer(b[x] - v)
        squares[x] = integer(squares[x] - integer(integer(u * u) + integer(v * v)))
        products[x] = integer(products[x] - integer(u * v))


@_compiled
def _window(column, x, step):  # type: ignore[no-untyped-def]
    """The sum of the seven columns of the window that begins at x."""
    integer = column.dtype.type
    left = integer(column[x] + column[x + step])
    middle = integer(column[x + 2 * step] + column[x + 3 * step])
    right = integer(column[x + 4 * step] + column[x + 5 * step])
    return integer(integer(left + middle) + integer(right + column[x + 6 * step]))


@_compiled
def _divide(a, b, squares, products, step, ratios, c1, c2):  # type: ignore[no-untyped-def]
    for x in range(ratios.size):
        u, v = np.float64(_window(a, x, step)), np.float64(_window(b, x, step))
        uv, uu = u * v, u * u + v * v
        covariance = 2.0 * (49.0 * np.float64(_window(products, x, step)) - uv) + c2
        variance = (49.0 * np.float64(_window(squares, x, step)) - uu) + c2
        ratios[x] = ((2.0 * uv + c1) * covariance) / ((uu + c1) * variance)


@_compiled
def _sum(ratios):  # type: ignore[no-untyped-def]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = ratios.size // 4 * 4
    for x in range(0, whole, 4):
        s0 += ratios[x]
        s1 += ratios[x + 1]
        s2 += ratios[x + 2]
        s3 += ratios[x + 3]
    for x in range(whole, ratios.size):
        s0 += ratios[x]
    return (s0 + s1) + (s2 + s3)


@_compiled
def _sum_outside(ratios, marks, channels):  # type: ignore[no-untyped-def]
    value, used, touched = 0.0, 0, 0
    for x in range(6):
        touched += marks[x]
    for x in range(ratios.size // channels):
        touched += marks[x + 6]
        if touched == 0:
            used += 1
            for channel in range(channels):
                value += ratios[x * channels + channel]
        touched -= marks[x]
    return value, used


@_compiled
def _blacken(picture, mask, table):  # type: ignore[no-untyped-def]
    height, width, channels = picture.shape
    out = np.zeros_like(picture)
    for y in range(height):
        for x in range(width):
            grey = mask[y, x]
            if grey == 0:
                for channel in range(channels):
                    out[y, x, channel] = picture[y, x, channel]
            elif grey < 255:
                for channel in range(channels):
                    out[y, x, channel] = table[grey, picture[y, x, channel]]
    return out


# What the published script does to a pixel of value v under a mask of grey m, in its arithmetic.
_TABLE: NDArray[np.uint8] = (np.arange(256)[None, :] * (1 - np.arange(256)[:, None] / 255)).astype(
    np.uint8
)


def blacken(picture: NDArray[np.uint8], mask: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Each pixel multiplied by (1 - mask / 255) and cut back to 8 bits."""
    done: NDArray[np.uint8] = _blacken(picture, mask, _TABLE)
    return done
