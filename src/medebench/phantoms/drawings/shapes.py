"""Anti-aliased shapes: splines, exact polygon coverage, tapered strokes, strand splatting.

`outlines.json` has the corner points of larger fixed shapes, by drawing and part.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Field = NDArray[np.float64]
Points = NDArray[np.float64]
PointsLike = Sequence[Sequence[float]] | Points

_READ = json.loads(Path(__file__).with_name("outlines.json").read_text("utf-8"))
OUTLINES: dict[str, list[tuple[float, float]]]
OUTLINES = {name: [(x, y) for x, y in points] for name, points in _READ.items()}

_SUB = 4  # sub-scanlines per pixel row; coverage along x is exact


def rotate(
    points: Sequence[tuple[float, float]], about: tuple[float, float], angle: float
) -> list[tuple[float, float]]:
    c, s = float(np.cos(angle)), float(np.sin(angle))
    x0, y0 = about
    return [(x0 + (x - x0) * c - (y - y0) * s, y0 + (x - x0) * s + (y - y0) * c) for x, y in points]


def spline(points: PointsLike, closed: bool = False, steps: int = 10) -> Points:
    """Catmull-Rom curve through the points."""
    p = np.asarray(points, dtype=np.float64)
    if closed:
        p = np.concatenate([p[-1:], p, p[:2]])
    else:
        p = np.concatenate([2 * p[:1] - p[1:2], p, 2 * p[-1:] - p[-2:-1]])
    t = (np.arange(steps) / steps)[None, :, None]
    a, b, c, d = (p[k : len(p) - 3 + k][:, None, :] for k in range(4))
    curve = 0.5 * (
        2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3
    )
    out: Points = curve.reshape(-1, p.shape[1])
    return out if closed else np.concatenate([out, p[-2:-1]])


def coverage(points: Points, shape: tuple[int, int]) -> Field:
    """Fraction of every pixel covered by closed polygons (non-zero winding).

    ``points`` is one outline (n, 2) or many outlines of equal length (m, n, 2), which must
    then all turn the same way, as :func:`ribbon` outlines do.
    """
    out = np.zeros(shape)
    low, high = points.reshape(-1, 2).min(axis=0), points.reshape(-1, 2).max(axis=0)
    left, top = (max(int(np.floor(v)), 0) for v in low)
    right, bottom = min(int(np.ceil(high[0])), shape[1]), min(int(np.ceil(high[1])), shape[0])
    if bottom <= top or right <= left:
        return out
    width = right - left
    a = points.reshape(-1, 2)
    b = np.roll(points, -1, axis=-2).reshape(-1, 2)
    scan = top + (np.arange((bottom - top) * _SUB) + 0.5) / _SUB
    upper = np.minimum(a[:, 1], b[:, 1])
    lower = np.maximum(a[:, 1], b[:, 1])
    # Sub-scanlines crossed by each edge, listed edge after edge.
    first = np.searchsorted(scan, upper, side="left")
    count = np.searchsorted(scan, lower, side="left") - first
    edges = np.repeat(np.arange(len(a)), count)
    rows = np.arange(len(edges)) - np.repeat(np.cumsum(count) - count, count) + first[edges]
    dy = b[edges, 1] - a[edges, 1]
    x = a[edges, 0] + (scan[rows] - a[edges, 1]) * (b[edges, 0] - a[edges, 0]) / dy
    x = np.clip(x - left, 0.0, float(width))
    sign = np.where(dy > 0, 1.0, -1.0)
    cell = np.floor(x).astype(np.int64)
    inside = 1.0 - (x - cell)  # share of its own pixel that lies right of the crossing
    at = rows * (width + 2) + cell
    size = (bottom - top) * _SUB * (width + 2)
    delta = np.bincount(at, sign * inside, size)
    delta += np.bincount(at + 1, sign * (1.0 - inside), size)
    winding = np.cumsum(delta.reshape(-1, width + 2), axis=1)[:, :width]
    filled = np.minimum(np.abs(winding), 1.0)
    out[top:bottom, left:right] = filled.reshape(bottom - top, _SUB, width).sum(axis=1) / _SUB
    return out


def ribbon(path: Points, widths: Field) -> Points:
    """Outlines of one path (k, 2) or many (m, k, 2) with a full width at each point."""
    tangent = np.gradient(path, axis=-2)
    length = np.sqrt((tangent**2).sum(axis=-1, keepdims=True)) + 1e-9
    normal = np.stack([-tangent[..., 1], tangent[..., 0]], axis=-1) / length
    side = normal * (widths[..., None] / 2)
    return np.concatenate([path + side, (path - side)[..., ::-1, :]], axis=-2)


def walk(x: Field, y: Field, bend: Field, step: Field | float) -> Points:
    """Paths that start at (x, y) and turn: steps in the directions `bend`, one row a path."""
    across, down = np.cumsum(np.cos(bend) * step, 1), np.cumsum(np.sin(bend) * step, 1)
    return np.stack([x[:, None] + across, y[:, None] + down], axis=-1)


def ellipse_sdf(x: Field, y: Field, rx: float, ry: float) -> Field:
    """First-order signed distance to an axis-aligned ellipse (negative inside)."""
    k = np.sqrt((x / rx) ** 2 + (y / ry) ** 2)
    g = np.sqrt((x / rx**2) ** 2 + (y / ry**2) ** 2) + 1e-9
    return k * (k - 1.0) / g


def splat(points: Points, weights: Field, shape: tuple[int, int]) -> list[Field]:
    """Deposit several sets of weights (first axis) at sub-pixel positions, shared bilinearly."""
    height, width = shape
    x, y = points[..., 0].ravel() - 0.5, points[..., 1].ravel() - 0.5
    keep = (x > -1) & (y > -1) & (x < width) & (y < height)
    x, y = x[keep], y[keep]
    ix, iy = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
    fx, fy = x - ix, y - iy
    pitch = width + 2
    at = (iy + 1) * pitch + ix + 1
    size = (height + 2) * pitch
    out = []
    for each in weights:
        w = each.ravel()[keep]
        right = w * fx
        left = w - right
        total: Field = np.bincount(at, left * (1 - fy), size).astype(np.float64)
        total += np.bincount(at + 1, right * (1 - fy), size)
        total += np.bincount(at + pitch, left * fy, size)
        total += np.bincount(at + pitch + 1, right * fy, size)
        out.append(total.reshape(height + 2, pitch)[1:-1, 1:-1])
    return out


def extent(active: NDArray[np.bool_], margin: int = 0) -> tuple[slice, slice] | None:
    """Smallest window around the active pixels, widened by a margin."""
    rows, cols = np.flatnonzero(active.any(axis=1)), np.flatnonzero(active.any(axis=0))
    if not len(rows):
        return None
    return (
        slice(max(int(rows[0]) - margin, 0), int(rows[-1]) + margin + 1),
        slice(max(int(cols[0]) - margin, 0), int(cols[-1]) + margin + 1),
    )


def blur(field: Field, sigma: float) -> Field:
    """Gaussian-like blur; large radii use three running means, whose cost is constant."""
    if sigma <= 0.05:
        return field
    size = max(int(sigma * 2.0 + 0.5) | 1, 3)
    window = extent(field != 0.0, 2 * size + 2)  # most fields are local; the rest stays zero
    if window is None:
        return field
    part = field[window]
    if sigma < 2.0:
        part = ndimage.gaussian_filter(part, sigma, mode="nearest", truncate=3.0)
    else:
        for _ in range(3):
            part = ndimage.uniform_filter(part, size, mode="nearest")
    out = np.zeros_like(field)
    out[window] = part
    return out


def smoothstep(low: float, high: float, x: Field) -> Field:
    """Cubic ramp from 0 at ``low`` to 1 at ``high`` (also falling, when low > high)."""
    t = np.clip((x - low) / (high - low), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)
