"""Line drawings used as tattoos: outline, shaded fill and coloured accent."""

from __future__ import annotations

import math

import numpy as np

from medebench.phantoms.drawings.shapes import OUTLINES
from medebench.phantoms.drawings.stage import Field, PointsLike, Stage

DESIGNS = ("anchor", "star", "heart", "rose", "moon", "butterfly")


def _ring(cx: float, cy: float, r: float, n: int = 12) -> list[tuple[float, float]]:
    a = np.linspace(0, 2 * np.pi, n + 1)
    return [(cx + r * float(np.cos(t)), cy + r * float(np.sin(t))) for t in a]


def tattoo(st: Stage, design: int, size: float) -> tuple[Field, Field, Field]:
    """Lines, fill and accent of a design centred in the frame."""
    name = DESIGNS[design]
    zero = np.zeros_like(st.u)

    def at(points: PointsLike) -> Field:
        return np.asarray(points, dtype=np.float64) * size + 128.0

    def line(points: PointsLike, w: float = 0.085) -> Field:
        return st.stroke(at(points), w * size)

    def area(points: PointsLike, smooth: bool = True) -> Field:
        return st.poly(at(points), smooth=smooth)

    if name == "anchor":
        lines = np.maximum.reduce([
            line([(0, -0.62), (0, 0.0), (0, 0.88)], 0.15), line(_ring(0, -0.80, 0.17)),
            line([(-0.42, -0.38), (0.42, -0.38)], 0.13),
            line([(-0.78, 0.30), (-0.62, 0.68), (0, 0.92), (0.62, 0.68), (0.78, 0.30)], 0.14),
            area([(-0.95, 0.42), (-0.80, 0.14), (-0.58, 0.40)], False),
            area([(0.95, 0.42), (0.80, 0.14), (0.58, 0.40)], False),
        ])  # fmt: skip
        rope = line([(-0.5, -0.1), (-0.1, 0.0), (0.32, 0.22), (0.2, 0.45), (-0.35, 0.5)], 0.07)
        return lines, zero, rope
    if name == "star":
        a = np.arange(10) * np.pi / 5 - np.pi / 2
        r = np.where(np.arange(10) % 2 == 0, 1.0, 0.42)
        tips = np.stack([r * np.cos(a), r * np.sin(a)], axis=1)
        lines = st.strokes(
            np.stack([at(np.linspace(tips[i], tips[(i + 1) % 10], 4)) for i in range(10)]
                     + [at(np.linspace((0.0, 0.0), tips[i], 4)) for i in range(10)]),
            np.full((20, 4), 0.055 * size))  # fmt: skip
        fill = zero
        for i in range(0, 10, 2):
            fill = np.maximum(fill, area([(0, 0), tips[i], tips[i + 1]], False))
        return lines, fill * 1.8, zero
    if name == "heart":
        heart = OUTLINES["tattoo heart"]
        arrow = np.maximum(line([(-1.25, 0.62), (0, 0.0), (1.2, -0.60)], 0.06),
                           area([(1.42, -0.72), (1.08, -0.70), (1.22, -0.44)], False))  # fmt: skip
        return np.maximum(line(heart, 0.09), arrow), zero, area(heart[:-1])
    if name == "rose":
        lines = zero
        for k in range(4):
            size_k = 0.16 + 0.15 * k
            turns = (np.linspace(0, 1.65 * np.pi, 12) + 1.3 * k).tolist()
            curl = [(size_k * math.cos(w) * (1 + 0.1 * math.sin(3 * w)),
                     -0.35 + size_k * math.sin(w) * 0.9) for w in turns]  # fmt: skip
            lines = np.maximum(lines, line(curl, 0.06))
        lines = np.maximum(lines, line([(0, 0.22), (0.06, 0.6), (-0.04, 1.1)], 0.08))
        leaves = np.maximum(area([(0.06, 0.6), (0.36, 0.36), (0.72, 0.42), (0.42, 0.66)]),
                            area([(0.0, 0.8), (-0.32, 0.54), (-0.70, 0.62),
                                  (-0.38, 0.86)]))  # fmt: skip
        return lines, leaves * 1.5, st.ellipse(128, 128 - 0.35 * size, 0.62 * size, 0.56 * size)
    if name == "moon":
        x, y = st.local(128, 128)
        disc = st.ellipse(128, 128, 0.95 * size, 0.95 * size)
        bite = st.ellipse(128 + 0.42 * size, 128 - 0.18 * size, 0.78 * size, 0.78 * size)
        crescent = disc * (1 - bite)
        inner = st.ellipse(128, 128, 0.86 * size, 0.86 * size) * (
            1 - st.ellipse(128 + 0.42 * size, 128 - 0.18 * size, 0.87 * size, 0.87 * size)
        )
        stars = zero
        for sx, sy, arm in ((0.35, -0.2, 0.2), (0.7, 0.25, 0.13), (0.62, -0.6, 0.11)):
            d = np.abs(x / size - sx) ** 0.55 + np.abs(y / size - sy) ** 0.55
            stars = np.maximum(stars, np.clip((arm**0.55 * 1.5 - d) * 12, 0, 1))
        return np.maximum(np.clip(crescent - inner, 0, 1), stars), inner, zero
    wing = OUTLINES["tattoo wing"]
    lines, spots = line([(0, -0.35), (0, 0.1), (0, 0.6)], 0.16), zero
    fill = zero
    for s in (-1.0, 1.0):
        pts = [(s * x, y) for x, y in wing]
        lines = np.maximum.reduce([
            lines, line([*pts, pts[0]], 0.065),
            line([(0, -0.35), (s * 0.2, -0.75), (s * 0.3, -0.85)], 0.04),
            line([(s * 0.08, -0.1), (s * 0.5, -0.4), (s * 0.9, -0.7)], 0.035),
            line([(s * 0.08, 0.1), (s * 0.4, 0.3), (s * 0.62, 0.65)], 0.035),
        ])  # fmt: skip
        fill = np.maximum(fill, area(pts))
        spots = np.maximum(spots, area([(s * 0.55, -0.55), (s * 0.82, -0.62), (s * 0.8, -0.36)]))
    return lines, 0.7 * fill, spots
