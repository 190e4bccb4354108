"""Forearm bones on a radiograph: hollow shafts, joint ends, fracture and plate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from medebench.phantoms.drawings.phantom_spec import Params
from medebench.phantoms.drawings.shapes import OUTLINES, rotate
from medebench.phantoms.drawings.stage import Field, Stage

Pt = tuple[float, float]
Part = Callable[[float, float], tuple[list[Pt], tuple[float, ...], tuple[float, ...]]]


def _shaft(st: Stage, path: list[Pt], outer: tuple[float, ...], cortex: tuple[float, ...]) -> Field:
    """A tube: dense cortex, darker marrow canal, faint trabeculae."""
    solid = st.stroke(path, outer)
    canal = st.stroke(path, tuple(max(o - 2 * c, 0.5) for o, c in zip(outer, cortex, strict=True)))
    canal = st.blur(canal, 0.8)
    mesh = 1.0 + 0.08 * st.fractal("trabecula", 2.4, 3)
    return (0.62 * solid - 0.30 * canal * solid) * mesh


def _wrist(st: Stage) -> Field:
    """Carpal bones and the bases of the metacarpals."""
    out = np.zeros_like(st.u)
    carpals = ((106, 238, 10, 7, 0.3), (125, 236, 9, 7, 0.0), (141, 236, 8, 7, -0.2),
               (152, 234, 5, 5, 0), (100, 252, 8, 7, 0.2), (114, 253, 7, 7, 0),
               (129, 252, 8, 9, 0), (145, 252, 8, 8, 0))  # fmt: skip
    for x, y, rx, ry, a in carpals:
        solid = st.ellipse(x, y, rx, ry, a, soft=0.4)
        out = out + 0.40 * solid - 0.12 * st.ellipse(x, y, rx - 2.2, ry - 2.2, a, soft=0.8)
    for x, lean in ((92, -14), (112, -5), (129, 0), (146, 6), (158, 12)):
        out = out + 0.8 * _shaft(st, [(x, 262), (x + lean * 0.5, 280), (x + lean, 300)],
                                 (12.0, 9.0, 9.0), (2.0, 2.5, 2.5))  # fmt: skip
    return out


def _elbow(st: Stage) -> Field:
    """Distal humerus above the forearm."""
    arm = st.poly(OUTLINES["longbone arm"])
    inner = st.poly(OUTLINES["longbone inner"])
    hole = st.gauss(130, 6, 9, 6)
    return 0.50 * arm - 0.12 * st.blur(inner, 1.5) - 0.12 * hole


def forearm(st: Stage, p: Params, broken: bool) -> Field:
    """Tissue density of a forearm; the radius is broken, or reduced and plated."""
    flesh = st.once("flesh", lambda: st.poly(OUTLINES["longbone flesh"]))
    muscle = 1 + 0.05 * st.fractal("muscle", 16, 3, stretch=3.5)
    density: Field = 0.20 * st.inflate(flesh, 13) * muscle
    density = density - 0.010 * st.fractal("fat", 9.0, 3, stretch=2.0) * flesh
    density = density + st.once("wrist", lambda: _wrist(st)) + st.once("elbow", lambda: _elbow(st))

    ulna = [(146, 22), (149, 60), (150, 110), (147, 160), (144, 205), (144, 224)]
    density = density + st.once("ulna", lambda: (
        _shaft(st, [(float(a), float(b)) for a, b in ulna], (27, 19, 15.5, 14, 12, 13),
               (3.0, 4.4, 4.8, 4.4, 3.2, 2.2)) + 0.45 * st.ellipse(134, 16, 15, 12, 0.3, soft=0.8)
    ))  # fmt: skip

    y0 = 32.0 + 200.0 * p["level"]
    marks_y = np.array([30.0, 44.0, 62.0, 110.0, 160.0, 200.0, 228.0])
    marks_x = np.array([105.0, 106.0, 109.0, 101.0, 101.0, 108.0, 110.0])
    wide = np.array([23.0, 15.5, 16.0, 17.0, 17.5, 22.0, 35.0])
    wall = np.array([2.6, 3.4, 4.2, 5.0, 4.6, 3.2, 2.2])

    def part(lo: float, hi: float) -> tuple[list[Pt], tuple[float, ...], tuple[float, ...]]:
        ys = np.linspace(lo, hi, 8)
        path = [(float(np.interp(v, marks_y, marks_x)), float(v)) for v in ys]
        return (path, tuple(float(np.interp(v, marks_y, wide)) for v in ys),
                tuple(float(np.interp(v, marks_y, wall)) for v in ys))  # fmt: skip

    x0 = float(np.interp(y0, marks_y, marks_x))
    # A jagged, slanted line parts the shaft; each fragment is the tube on its side of it.
    teeth = 2.2 * np.sin(st.u * 1.1 + 1.0) + 1.2 * np.sin(st.u * 2.3)
    line = st.v - y0 - p["slant"] * (st.u - x0) - teeth
    if not broken:
        radius = _shaft(st, *part(30, 228))
        seam = np.exp(-((line / 1.1) ** 2)) * st.ellipse(x0, y0, 12, 14, soft=1)
        density = density + radius * (1 - 0.22 * seam) + 0.20 * st.ellipse(105, 32, 12, 6, soft=0.6)
        density += _plate(st, p, part, y0)
        return density
    upper = _shaft(st, *part(30, y0 + 14)) * np.clip(0.5 - line * st.zoom, 0, 1)
    path, w, c = part(y0 - 14, 228)
    about = (x0, 228.0)  # the wrist end stays in its joint
    lean = p["angle"]
    moved = rotate(path, about, lean)
    back_x = about[0] + (st.u - about[0]) * np.cos(lean) + (st.v - about[1]) * np.sin(lean)
    back_y = about[1] - (st.u - about[0]) * np.sin(lean) + (st.v - about[1]) * np.cos(lean)
    teeth2 = 2.2 * np.sin(back_x * 1.1 + 1.0) + 1.2 * np.sin(back_x * 2.3)
    line2 = back_y - (y0 - 3.0) - p["slant"] * (back_x - x0) - teeth2
    lower = _shaft(st, moved, w, c) * np.clip(0.5 + line2 * st.zoom, 0, 1)
    swell = st.gauss(x0, y0, 20, 24)
    chip = st.poly([(x0 + 13, y0 - 3), (x0 + 17, y0 + 2), (x0 + 14, y0 + 8), (x0 + 11.5, y0 + 3)])
    density = density + upper + lower + 0.05 * swell + 0.32 * st.blur(chip, 0.5)
    density += 0.20 * st.ellipse(105, 32, 12, 6, soft=0.6)
    return density


def _plate(st: Stage, p: Params, part: Part, y0: float) -> Field:
    """Metal plate on the outer side of the radius with screws across both cortices."""
    n = p["screws"]
    half = 7.6 * n
    path, w, _ = part(y0 - half, y0 + half)
    edge = [(x - wi * 0.30, y) for (x, y), wi in zip(path, w, strict=True)]
    bar = st.stroke(edge, 8.5)
    ends = np.maximum(st.ellipse(*edge[0], 4.25, 4.25), st.ellipse(*edge[-1], 4.25, 4.25))
    metal = 1.55 * np.maximum(bar, ends)
    at = np.concatenate([np.linspace(0.06, 0.42, n // 2), np.linspace(0.58, 0.94, n // 2)])
    ys = np.array([y for _, y in edge])
    xs = np.array([x for x, _ in edge])
    wide = np.array(w)
    paths, widths = [], []
    for f in at:
        y = float(ys[0] + f * (ys[-1] - ys[0]))
        x = float(np.interp(y, ys, xs))
        reach = float(np.interp(y, ys, wide)) * 0.92
        q = np.linspace(0, 1, 25)
        paths.append(np.stack([x - 1 + (reach + 2) * q, np.full(25, y)], axis=-1))
        thread = 2.5 + 0.7 * np.sin(q * 2 * np.pi * 7)
        widths.append(np.where(q > 0.94, 1.2, thread))
        ring = st.ellipse(x, y, 2.6, 2.6) - st.ellipse(x, y, 1.7, 1.7)
        metal = metal - 0.85 * np.clip(ring, 0, 1)
    return metal + 1.3 * st.strokes(np.array(paths), np.array(widths))
