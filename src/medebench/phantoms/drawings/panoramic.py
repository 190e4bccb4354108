"""Panoramic dental radiograph: jaws, sinuses and teeth with roots, pulp and enamel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from medebench.phantoms.drawings import shapes
from medebench.phantoms.drawings.phantom_spec import Params
from medebench.phantoms.drawings.stage import Field, Points, Stage

# Widths and lengths from the midline outwards: incisors, canine, premolars, molars.
_WIDTH = {"upper": (10.5, 8.6, 9.6, 9.2, 9.0, 13.6, 13.0, 12.4),
          "lower": (7.4, 7.8, 9.0, 9.2, 9.4, 15.0, 14.4, 13.8)}  # fmt: skip
_LENGTH = {"upper": (35, 33, 39, 34, 33, 31, 30, 27), "lower": (31, 32, 38, 35, 35, 33, 32, 28)}

_SINGLE = np.array(shapes.OUTLINES["panoramic single"])
_MOLAR = np.array(shapes.OUTLINES["panoramic molar"])


@dataclass(frozen=True)
class Tooth:
    """One tooth: crown centre, axis angle (0 = upright), half width, length and shape."""

    x: float
    y: float
    angle: float
    half: float
    length: float
    up: bool
    molar: bool

    def put(self, points: Points) -> Points:
        """Local (width, depth from the biting edge) to design coordinates, one orientation."""
        a = points[:, 0] * self.half
        b = points[:, 1] * self.length * (-1.0 if self.up else 1.0)
        c, s = float(np.cos(self.angle)), float(np.sin(self.angle))
        out = np.stack([self.x + a * c - b * s, self.y + a * s + b * c], axis=1)
        return out[::-1] if self.up else out


def _bite(x: float) -> float:
    """The smile-shaped biting line."""
    return 146.0 - 25.0 * ((x - 128.0) / 92.0) ** 2


def dentition(p: Params) -> list[tuple[Tooth, int]]:
    """All teeth with their position 0..7 from the midline; third molars may be tilted."""
    out = []
    tilt = iter(p["tilts"])
    for jaw in ("upper", "lower"):
        up = jaw == "upper"
        for s in (-1, 1):
            x = 128.0
            for k, (w, length) in enumerate(zip(_WIDTH[jaw], _LENGTH[jaw], strict=True)):
                mid = x + s * w / 2
                fan = s * (mid - 128.0) * s / 92.0
                angle = (-0.20 if up else 0.17) * fan * (1.0 if k < 6 else 0.6)
                y = _bite(mid) + (-1.6 if up else 1.6)
                if k == 7:
                    lean = next(tilt)
                    angle += (s * lean) if not up else -s * lean * 0.55
                    y += (-3.0 - 5.0 * lean) if up else (2.0 + 9.0 * lean)
                    mid += s * (1.0 + 5.0 * lean)
                out.append((Tooth(mid, y, angle, w / 2 * 0.99, float(length), up, k >= 5), k))
                x += s * (w + 0.15)
    return out


def _stack(st: Stage, outlines: list[Points]) -> Field:
    placed = np.array([shapes.spline(st.place(o), closed=True, steps=4) for o in outlines])
    return shapes.coverage(placed, st.shape)


def _teeth(st: Stage, teeth: list[Tooth]) -> Field:
    """Density of a set of teeth: dentine, enamel cap, pulp, ligament and lamina dura."""
    shape = {True: _MOLAR, False: _SINGLE}
    body = _stack(st, [t.put(shape[t.molar]) for t in teeth])
    grown = st.blur(body, 1.0)
    gap = np.clip(grown - body, 0, 1)
    cap_shape = np.array(shapes.OUTLINES["panoramic cap"])
    cap = _stack(st, [t.put(cap_shape) for t in teeth]) * body
    pulps, widths = [], []
    for t in teeth:
        for off in (-0.42, 0.42) if t.molar else (0.0,):
            q = np.linspace(0.30 if t.molar else 0.26, 0.88, 9)
            way = off * (0.35 + 1.0 * (q - 0.3)) if t.molar else np.zeros(9)
            path = t.put(np.stack([way, q], axis=1))
            pulps.append(path if not t.up else path[::-1])
            widths.append(t.half * (0.50 - 0.42 * (q - 0.26) / 0.62) * (0.8 if t.molar else 0.85))
    pulp = st.blur(st.strokes(np.array(pulps), np.array(widths)), 0.6)
    ripple = 1.0 + 0.04 * st.fractal("dentine", 3.0, 2)
    return (0.50 * body + 0.42 * cap - 0.22 * pulp * body) * ripple - 0.30 * gap + 0.10 * np.clip(
        st.blur(body, 2.0) - grown, 0, 1)  # fmt: skip


def _mandible(st: Stage) -> Field:
    body = st.poly(shapes.OUTLINES["panoramic body"])
    lower = shapes.OUTLINES["panoramic lower"]
    rim = st.stroke(lower, 5.5, soft=0.7)
    canal = np.zeros_like(st.u)
    for s in (-1, 1):
        path = [(128 + s * 88, 118), (128 + s * 80, 156), (128 + s * 60, 192), (128 + s * 34, 206)]
        canal = canal + st.stroke(path, 3.6, soft=0.8)
    mesh = 1.0 + 0.14 * st.fractal("trabecula", 3.2, 3)
    return (0.36 * st.blur(body, 1.0) - 0.08 * canal * body) * mesh + 0.26 * rim


def jaws(st: Stage) -> Field:
    """Everything but the teeth."""
    g = st.gauss
    density = 0.26 + 0.05 * st.fractal("soft", 50, 3) - 0.10 * ((st.u - 128) / 128) ** 2
    density = density + _mandible(st)
    maxilla = st.poly(shapes.OUTLINES["panoramic maxilla"])
    mesh = 1.0 + 0.12 * st.fractal("trabecula", 3.2, 3)
    density = density + 0.24 * st.blur(maxilla, 1.5) * mesh
    roof = [(52, 80), (90, 86), (128, 84), (166, 86), (204, 80)]
    palate = st.stroke(roof, (3, 6, 7, 6, 3), soft=1.6)
    density = density + 0.16 * palate
    for s in (-1, 1):
        sinus = st.poly([(128 + s * a, b) for a, b in shapes.OUTLINES["panoramic sinus"]])
        wall = np.clip(st.blur(sinus, 1.4) - st.blur(sinus, 0.3) * 0.9, 0, 1)
        density = density - 0.24 * st.blur(sinus, 1.6) + 0.22 * wall
        nasal = st.ellipse(128 + s * 9, 58, 7, 22, -s * 0.12, soft=1.5)
        density = density - 0.20 * nasal
        bow = [(128 + s * 62, 40), (128 + s * 92, 34), (128 + s * 122, 44)]
        arch = st.stroke(bow, 6.0, soft=1.5)
        density = density + 0.16 * arch
        orbit = st.ellipse(128 + s * 48, 8, 30, 22, soft=1.5)
        brow = st.stroke([(128 + s * a, b) for a, b in ((18, 12), (34, 30), (60, 32), (80, 16))],
                         3.5, soft=1.0)  # fmt: skip
        density = density - 0.10 * orbit + 0.18 * brow
        spine = g(128 + s * 124, 200, 12, 70)
        density = density + 0.14 * spine
    septum = st.stroke([(128, 22), (128.6, 50), (127.6, 82)], 2.6, soft=0.7)
    return density + 0.20 * septum + 0.10 * g(128, 200, 14, 44)


def panoramic(st: Stage, p: Params, wisdom: bool) -> Field:
    """Density of the whole radiograph with or without the listed third molars."""
    every = dentition(p)
    fixed = [t for t, k in every if k < 7]
    third = [t for t, k in every if k == 7]
    density = st.once("jaws", lambda: jaws(st)) + st.once("teeth", lambda: _teeth(st, fixed))
    crown_air = st.once("bite", lambda: _bite_gap(st))
    density = density - 0.16 * crown_air
    chosen = [third[i] for i in p["wisdom"]]
    if wisdom and chosen:
        density = density + _teeth(st, chosen)
    return density


def _bite_gap(st: Stage) -> Field:
    path = [(x, _bite(x)) for x in (46.0, 70.0, 100.0, 128.0, 156.0, 186.0, 210.0)]
    return st.stroke(path, 1.6, soft=0.6)
