"""Marks on skin that several organs share: moles, scars, spots."""

from __future__ import annotations

import numpy as np

from medebench.phantoms.drawings import shapes
from medebench.phantoms.drawings.stage import Field, PointsLike, Stage


def ragged_disc(st: Stage, cx: float, cy: float, r: float, name: str, rough: float = 0.14) -> Field:
    """Coverage of a disc with an irregular outline."""
    x, y = st.local(cx, cy)
    radius = np.sqrt(x * x + y * y)
    edge = r * (1.0 + rough * st.fractal(name, max(r * 0.9, 1.5), 3))
    half = 0.6 / st.zoom + 0.09 * r
    return shapes.smoothstep(half, -half, radius - edge)


def mole_fields(st: Stage, moles: list[list[float]], deep: float) -> tuple[Field, Field, Field]:
    """Blood, melanin and relief of raised moles, each x, y and radius."""
    melanin, blood, relief = np.zeros((3, *st.shape))
    for i, (x, y, r) in enumerate(moles):
        disc = ragged_disc(st, x, y, r, f"mole{i}", 0.16)
        core = st.gauss(x + 0.1 * r, y - 0.08 * r, 0.5 * r)
        speck = 1.0 + 0.13 * st.fractal(f"speck{i}", 0.22 * r, 3)
        melanin = melanin + disc * (deep * (0.62 + 0.55 * core) * speck)
        blood = blood + 0.25 * disc + 0.14 * st.gauss(x, y, 1.25 * r)
        bump = st.dome(x, y, r * 1.08, r * 1.02) ** 1.2
        relief = relief + bump * r * 0.42 * (1 + 0.08 * st.fractal(f"wart{i}", 0.3 * r, 2))
    return blood, melanin, relief


def scar_fields(
    st: Stage, path: PointsLike, width: float, stitches: int
) -> tuple[Field, Field, Field]:
    """Blood, melanin and relief of a raised scar with suture marks across it."""
    curve = shapes.spline(path, steps=12)
    core = st.stroke(curve[::4], (width * 0.35, width, width * 1.1, width * 0.9, width * 0.3),
                     soft=0.12 * width)  # fmt: skip
    halo = st.blur(core, width * 0.8)
    lump = 0.75 + 0.25 * st.fractal("scar-lump", width * 1.6, 2)
    at = np.linspace(0.08, 0.92, stitches) * (len(curve) - 1)
    i = np.clip(at.astype(np.int64), 1, len(curve) - 2)
    tangent = curve[i + 1] - curve[i - 1]
    normal = np.stack([-tangent[:, 1], tangent[:, 0]], axis=1)
    normal = normal / np.sqrt((normal**2).sum(axis=1, keepdims=True))
    reach = width * 1.9
    t = np.linspace(-1.0, 1.0, 5)[None, :, None]
    rng = st.rng("scar-stitch")
    skew = (rng.random((stitches, 1, 1)) - 0.5) * 0.3
    lean = tangent / np.sqrt((tangent**2).sum(axis=1, keepdims=True))
    cross = curve[i][:, None, :] + reach * t * (normal[:, None, :] + skew * lean[:, None, :])
    marks = st.strokes(cross, np.full((stitches, 5), width * 0.42))
    dots = np.zeros_like(core)
    for end in (0, -1):
        for x, y in cross[:, end]:
            dots = np.maximum(dots, st.gauss(float(x), float(y), width * 0.28))
    marks = st.blur(marks, width * 0.06)
    blood = (0.85 * core + 0.30 * halo) * lump + 0.42 * marks * (1 - core) + 0.45 * dots
    melanin = 0.10 * core + 0.16 * marks + 0.22 * dots
    relief = width * (0.34 * st.blur(core, width * 0.22) * lump + 0.10 * marks) - 0.15 * dots
    return blood, melanin, relief


def spots(
    st: Stage, centres: PointsLike, radii: list[float], strength: float = 1.0
) -> tuple[Field, Field, Field]:
    """Blood, pus (0..1) and relief of inflamed pimples."""
    blood, pus, relief = np.zeros((3, *st.shape))
    for (x, y), r in zip(np.asarray(centres), radii, strict=True):
        red = 0.75 * st.gauss(x, y, r * 0.62) + 0.35 * st.gauss(x, y, r * 1.2)
        blood = blood + strength * red
        pus = pus + st.gauss(x, y, r * 0.24)
        relief = relief + r * 0.40 * st.gauss(x, y, r * 0.55)
    return blood, np.clip(pus, 0, 1), relief
